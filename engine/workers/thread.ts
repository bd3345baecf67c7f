import { parentPort, workerData } from "node:worker_threads";
import { ThreadHold } from "../flow/thread-hold.ts";
import { shareRoom } from "../peers/answer-room.ts";
import { ThreadHost } from "./host.ts";

const { hold, room } = (workerData ?? {}) as { hold?: SharedArrayBuffer; room?: SharedArrayBuffer };
if (room !== undefined) shareRoom(room);

/** The entry point of a thread that runs pipelines. Its port is the channel to its process. */
export const host = new ThreadHost(parentPort!, undefined, hold && new ThreadHold(hold));

// An exception that nothing caught, or a rejection that nothing awaited: the thread ends after this.
process.on("uncaughtExceptionMonitor", (error) => host.dies(error));
