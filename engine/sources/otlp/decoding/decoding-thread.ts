import { BoundedThread, type CallLimits } from "../../../system/bounded-thread.ts";
import { entryPoint } from "../../../system/entry-point.ts";
import type { Decoded, ToDecode } from "./decode.ts";
import { type Answer, bytesIn, type Question, SharedMemory } from "./messages.ts";

/** The thread that decodes bodies. A body that takes more than its time or memory ends it, and is refused. */
export class DecodingThread {
  readonly #thread: BoundedThread<Question, Answer>;
  readonly #bodies = new SharedMemory();

  constructor(limits: CallLimits) {
    this.#thread = new BoundedThread(entryPoint("otlp"), limits);
  }

  /** Decodes a body. Calls must not overlap. Rejects where the thread fails. */
  async decode({ body, ...request }: ToDecode): Promise<Decoded> {
    this.#bodies.take(body.length).set(body);
    const answer = await this.#thread.call({ ...request, body: this.#bodies.share(body.length) });
    if (answer === "exhausted") return exhausted;
    return answer.kind === "rows" ? rowsIn(answer) : answer;
  }

  /** Ends it; a body under way is refused. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

const exhausted: Decoded = {
  kind: "never_fits",
  message: "this request takes more time or memory than one may: send fewer records in a request",
};

function rowsIn({ rows, ends, receivedAt, signal }: Extract<Answer, { kind: "rows" }>): Decoded {
  return { kind: "rows", push: { bytes: Buffer.from(bytesIn(rows)), ends: Array.from(ends), receivedAt, signal } };
}
