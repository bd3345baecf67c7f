import { parentPort } from "node:worker_threads";
import { ThreadHost } from "./host.ts";

/** The entry point of a thread that runs pipelines. Its port is the channel to its process. */
export const host = new ThreadHost(parentPort!);
