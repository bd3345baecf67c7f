import type { EngineError } from "../../core/errors.ts";
import type { Push } from "../../core/push.ts";
import { frameSize } from "./frame.ts";

/** One write and one sync carry at most this much, or one push. */
const groupBytes = 4 * 1024 * 1024;

/** A push that was not answered yet. */
export interface Waiting {
  push: Push;
  resolve: (position: number) => void;
  reject: (error: unknown) => void;
}

/** Pushes that wait to be written, in the order in which they came. */
export class PushQueue {
  #waiting: Waiting[] = [];
  /** What is not durable yet, groups that are being written included. */
  readonly unwritten = { messages: 0, bytes: 0 };

  /** Resolves with the sequence of the push's last event. */
  add(push: Push): Promise<number> {
    this.#count(push, 1);
    return new Promise((resolve, reject) => this.#waiting.push({ push, resolve, reject }));
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Takes out what one write and one sync are to carry; `written` is to be called with it when they are over. */
  takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && (count === 0 || bytes < groupBytes)) {
      bytes += frameSize(this.#waiting[count]!.push);
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  written(group: readonly Waiting[]): void {
    for (const { push } of group) this.#count(push, -1);
  }

  #count(push: Push, sign: 1 | -1): void {
    this.unwritten.messages += sign * push.ends.length;
    this.unwritten.bytes += sign * frameSize(push);
  }
}

/** Answers pushes that are durable, of which the last event has the sequence `last`. */
export function accept(group: readonly Waiting[], last: number): void {
  let position = last - group.reduce((sum, { push }) => sum + push.ends.length, 0);
  for (const { push, resolve } of group) resolve((position += push.ends.length));
}

/** Answers pushes of which nothing is stored. */
export function refuse(group: readonly Waiting[], error: EngineError): void {
  for (const { reject } of group) reject(error);
}
