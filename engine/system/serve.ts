import type { Transferable } from "node:worker_threads";
import type { FromThread } from "./bounded-thread.ts";

/** An answer with what of it is handed over and not copied. */
export interface Served<Answer> {
  answer: Answer;
  transfer?: readonly Transferable[];
}

export type Answering<Question, Answer> = (question: Question) => Served<Answer>;

/** The channel of a thread to its process. */
export interface Port<Question> {
  on(event: "message", listener: (question: Question) => void): unknown;
  postMessage(message: unknown, transfer: readonly Transferable[]): void;
}

/** Answers the calls of a BoundedThread. The thread can be ended at any moment. */
export function serve<Question, Answer>(port: Port<Question>, answerTo: Answering<Question, Answer>): void {
  const post = (message: FromThread<Answer>, transfer: readonly Transferable[] = []): void =>
    port.postMessage(message, transfer);
  port.on("message", (question: Question) => {
    try {
      const { answer, transfer } = answerTo(question);
      post({ type: "answer", answer }, transfer);
    } catch (error) {
      post(isStackOverflow(error) ? { type: "exhausted" } : { type: "failed", error: textOf(error) });
    }
  });
  post({ type: "ready" });
}

function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
