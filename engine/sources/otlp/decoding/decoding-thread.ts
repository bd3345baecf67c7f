import { BoundedThread, type CallLimits } from "../../../system/bounded-thread.ts";
import { entryPoint } from "../../../system/entry-point.ts";
import type { Decoded, ToDecode } from "./decode.ts";
import { type Answer, movable, type Question } from "./messages.ts";

/** The thread that decodes bodies. A body that takes more than its time or memory ends it, and is refused. */
export class DecodingThread {
  readonly #thread: BoundedThread<Question, Answer>;

  constructor(limits: CallLimits) {
    this.#thread = new BoundedThread(entryPoint("otlp"), limits);
  }

  /** Decodes a body, whose memory may move to the thread. Calls must not overlap. Rejects where the thread fails. */
  async decode({ body, ...request }: ToDecode): Promise<Decoded> {
    const bytes = movable(body);
    const answer = await this.#thread.call({ ...request, body: bytes }, { transfer: [bytes.buffer] });
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

function rowsIn({ bytes, ends, receivedAt, signal }: Extract<Answer, { kind: "rows" }>): Decoded {
  const rows = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return { kind: "rows", push: { bytes: rows, ends: Array.from(ends), receivedAt, signal } };
}
