import { BoundedThread, type CallLimits } from "../../../system/bounded-thread.ts";
import { entryPoint } from "../../../system/entry-point.ts";
import type { Decoded, ToDecode } from "./decode.ts";
import { type Answer, bytesIn, isKept, type Question, SharedMemory } from "./messages.ts";

/** The thread that decodes bodies. A body that takes more than its time or memory ends it, and is refused. */
export class DecodingThread {
  readonly #thread: BoundedThread<Question, Answer>;
  readonly #bodies = new SharedMemory();
  /** Where the rows are. A new thread names its own with its first ones. */
  #rows = new SharedArrayBuffer(0);

  constructor(limits: CallLimits) {
    this.#thread = new BoundedThread(entryPoint("otlp"), limits);
  }

  /** Decodes a body. Calls must not overlap. Rejects where the thread fails. */
  async decode({ body, ...request }: ToDecode): Promise<Decoded> {
    this.#bodies.take(body.length).set(body);
    const answer = await this.#thread.call({ ...request, body: this.#bodies.share(body.length) });
    if (answer === "exhausted") return exhausted;
    return answer.kind === "rows" ? this.#decoded(answer) : answer;
  }

  /** Ends it; a body under way is refused. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  #decoded({ rows, ends, receivedAt, signal }: Extract<Answer, { kind: "rows" }>): Decoded {
    const { memory = this.#rows, length } = rows;
    this.#rows = isKept(memory) ? memory : new SharedArrayBuffer(0);
    const bytes = Buffer.from(bytesIn({ memory, length }));
    return { kind: "rows", push: { bytes, ends: Array.from(ends), receivedAt, signal } };
  }
}

const exhausted: Decoded = {
  kind: "never_fits",
  message: "this request takes more time or memory than one may: send fewer records in a request",
};
