import { parentPort } from "node:worker_threads";
import { answerPurely } from "./pure-call.ts";
import type { FromPure, ToPure } from "./pure-calls.ts";

/** The entry of the thread that answers pure calls, one at a time. It holds nothing and can be ended at any moment. */
const port = parentPort!;

function post(message: FromPure): void {
  port.postMessage(message);
}

port.on("message", ({ path, bytes }: ToPure) => {
  try {
    post({ type: "answer", answer: answerPurely(path, Buffer.from(bytes)) });
  } catch (error) {
    post({ type: "failed", error: error instanceof Error ? error.message : String(error) });
  }
});

post({ type: "ready" });
