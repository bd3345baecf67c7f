import { parentPort } from "node:worker_threads";
import { ThreadHost } from "./host.ts";

/** The entry of a thread that runs pipelines: it hears its process by the port that it was started with. */
export const host = new ThreadHost(parentPort!);
