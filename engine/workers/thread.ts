import { parentPort } from "node:worker_threads";
import { ThreadHost } from "./host.ts";

/** The entry point of a thread that runs pipelines. Its port is the channel to its process. */
export const host = new ThreadHost(parentPort!);

// An exception that nothing caught, or a rejection that nothing awaited: the thread ends after this.
process.on("uncaughtExceptionMonitor", (error) => host.dies(error));
