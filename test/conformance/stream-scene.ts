import type { Push, Signal } from "../../engine/core/push.ts";
import type { Stream, StreamLimits, StreamReader } from "../../engine/core/stream.ts";

/** How a suite reaches one kind of stream. */
export interface StreamUnderTest {
  /** Opens the same stream each time it is called; events up to `trimmed` are settled. */
  open(limits: StreamLimits, trimmed: number): Promise<Stream>;
  /** A reader that knows of events up to `end`. */
  reader(end: number): StreamReader;
  /** Removes what the stream kept. */
  clean(): Promise<void>;
}

export type MakeStream = () => Promise<StreamUnderTest>;

export const unlimited: StreamLimits = { max_bytes: Infinity, max_msgs: Infinity };

/** A push of events with these texts. */
export function pushOf(texts: readonly string[], receivedAt = 1_000, signal?: Signal): Push {
  const ends: number[] = [];
  let end = 0;
  for (const text of texts) ends.push((end += Buffer.byteLength(text)));
  return { bytes: Buffer.from(texts.join("")), ends, receivedAt, ...(signal === undefined ? {} : { signal }) };
}

/** A stream, and what tests do with it all the time. */
export class StreamScene {
  stream: Stream;
  readonly #made: StreamUnderTest;

  private constructor(made: StreamUnderTest, stream: Stream) {
    this.#made = made;
    this.stream = stream;
  }

  static async make(make: MakeStream): Promise<StreamScene> {
    const made = await make();
    return new StreamScene(made, await made.open(unlimited, 0));
  }

  async clean(): Promise<void> {
    await this.stream.close();
    await this.#made.clean();
  }

  /** Appends a push of one event for each text, all at once. */
  append(...texts: string[]): Promise<number[]> {
    return Promise.all(texts.map((text) => this.stream.append(pushOf([text]))));
  }

  /** Appends one push. */
  push(texts: readonly string[], receivedAt?: number, signal?: Signal): Promise<number> {
    return this.stream.append(pushOf(texts, receivedAt, signal));
  }

  async reopen(trimmed: number, limits = unlimited): Promise<void> {
    await this.stream.close();
    this.stream = await this.#made.open(limits, trimmed);
  }

  reader(end = this.stream.state.last): StreamReader {
    return this.#made.reader(end);
  }

  /** What a new reader reads: `sequence:text` of each event. */
  async texts(position: number, limit = 100, maxBytes = 1 << 30): Promise<string[]> {
    const reader = this.reader();
    try {
      return await textsOf(reader, position, limit, maxBytes);
    } finally {
      await reader.close();
    }
  }
}

/** What one read brings: `sequence:text` of each event. */
export async function textsOf(
  reader: StreamReader,
  position: number,
  limit = 100,
  maxBytes = 1 << 30,
): Promise<string[]> {
  const runs = await reader.read(position, limit, maxBytes);
  return runs.flatMap(({ events }) => events.map((event) => `${event.position}:${event.text}`));
}
