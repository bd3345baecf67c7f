import { BoundedThread, type CallLimits } from "../../../system/bounded-thread.ts";
import { entryPoint } from "../../../system/entry-point.ts";
import type { Decoded, ToDecode } from "./decode.ts";
import { type Answer, type Question, ReadMemories, WrittenMemories } from "./messages.ts";

/** What is shared with one thread. */
interface Shared {
  bodies: WrittenMemories;
  rows: ReadMemories;
  /** Rows that were stored since the last question, by their memories. */
  stored: number[];
}

/** What became of a body. `release` is called when its rows are stored: their memory is written again then. */
export interface Lent {
  decoded: Decoded;
  release: () => void;
}

/** The thread that decodes bodies. A body that takes more than its time or memory ends it, and is refused. */
export class DecodingThread {
  readonly #thread: BoundedThread<Question, Answer>;
  /** Of the thread that runs: the next one knows nothing of it. */
  #shared = newlyShared();

  constructor(limits: CallLimits) {
    this.#thread = new BoundedThread(entryPoint("otlp"), limits, () => (this.#shared = newlyShared()));
  }

  /** Decodes a body. Calls must not overlap. Rejects where the thread fails. */
  async decode({ body, ...request }: ToDecode): Promise<Lent> {
    const { bodies, rows, stored } = this.#shared;
    bodies.take(body.length).set(body);
    const sent = bodies.send(body.length);
    try {
      const answer = await this.#thread.call({ ...request, body: sent, stored: stored.splice(0) });
      if (answer === "exhausted") return { decoded: exhausted, release: nothing };
      if (answer.kind !== "rows") return { decoded: answer, release: nothing };
      const { kind: _rows, ends, rows: written, ...about } = answer;
      const { id } = written;
      const push = { ...about, bytes: rows.read(written), ends: Array.from(ends) };
      // Of a thread that was replaced meanwhile, nobody asks.
      return { decoded: { kind: "rows", push }, release: id === undefined ? nothing : () => void stored.push(id) };
    } finally {
      if (sent.id !== undefined) bodies.release([sent.id]);
    }
  }

  /** Ends it; a body under way is refused. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

function newlyShared(): Shared {
  return { bodies: new WrittenMemories(), rows: new ReadMemories(), stored: [] };
}

function nothing(): void {}

const exhausted: Decoded = {
  kind: "never_fits",
  message: "this request takes more time or memory than one may: send fewer records in a request",
};
