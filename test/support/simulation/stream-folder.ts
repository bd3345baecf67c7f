import type { StreamLimits } from "../../../engine/core/stream.ts";
import { EmbeddedReader } from "../../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../../engine/streams/embedded/embedded-stream.ts";
import { pushOf, textsOf, unlimited } from "../../conformance/stream-scene.ts";
import { Random } from "../random.ts";
import { SimulatedDisk } from "./disk.ts";

/** An embedded stream on a simulated disk. */
export class SimulatedStreamFolder {
  readonly path = "/data/stream";
  readonly disk: SimulatedDisk;
  stream!: EmbeddedStream;
  /** How often it could not take a failed write back. */
  stuck = 0;

  private constructor(seed: number) {
    const random = new Random(seed);
    this.disk = new SimulatedDisk((n) => random.below(n));
  }

  static async make(seed = 1): Promise<SimulatedStreamFolder> {
    const made = new SimulatedStreamFolder(seed);
    await made.disk.boot().mkdir("/data");
    await made.disk.boot().syncFolder("/");
    await made.open();
    return made;
  }

  async open(trimmed = 0, limits: StreamLimits = unlimited): Promise<EmbeddedStream> {
    const options = { limits, trimmed, onAppended: () => undefined, onStuck: () => void (this.stuck += 1) };
    this.stream = await EmbeddedStream.open(this.disk.boot(), this.path, options);
    return this.stream;
  }

  async reopen(trimmed = 0, limits: StreamLimits = unlimited): Promise<EmbeddedStream> {
    await this.stream.close();
    return this.open(trimmed, limits);
  }

  async crash(trimmed = 0): Promise<EmbeddedStream> {
    this.disk.crash();
    return this.open(trimmed);
  }

  push(...texts: string[]): Promise<number> {
    return this.stream.append(pushOf(texts));
  }

  /** `sequence:text` of the events from `position` on, with texts cut to 10 letters. */
  async texts(position = 1): Promise<string[]> {
    const reader = new EmbeddedReader(this.disk.boot(), this.path, this.stream.state.last);
    try {
      return (await textsOf(reader, position, 10_000)).map((text) => text.slice(0, 10));
    } finally {
      await reader.close();
    }
  }

  /** The names of its segments, ascending. */
  async names(): Promise<string[]> {
    const names = await this.disk.boot().readdir(this.path);
    return names.filter((name) => name.endsWith(".segment")).toSorted();
  }
}

/** Resolves when so many microtasks have passed: more than any call of a simulated disk takes. */
export async function quiet(turns = 2_000): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
}
