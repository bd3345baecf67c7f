import { copyFile, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { EmbeddedReader } from "../../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../../engine/streams/embedded/embedded-stream.ts";
import { systemDisk } from "../../../engine/system/disk.ts";
import { pushOf, textsOf, unlimited } from "../../conformance/stream-scene.ts";

/** An embedded stream in a folder of its own, and the files that it lies in. */
export class SegmentFolder {
  readonly folder: string;
  #stream: EmbeddedStream | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<SegmentFolder> {
    return new SegmentFolder(await mkdtemp(join(tmpdir(), "sluice-segments-")));
  }

  /** A stream in a folder that is made when it is opened. */
  static at(folder: string): SegmentFolder {
    return new SegmentFolder(folder);
  }

  async open(trimmed = 0, limits = unlimited): Promise<EmbeddedStream> {
    await this.close();
    this.#stream = await EmbeddedStream.open(systemDisk, this.folder, { limits, trimmed, onAppended: () => undefined });
    return this.#stream;
  }

  async close(): Promise<void> {
    await this.#stream?.close();
    this.#stream = undefined;
  }

  async clean(): Promise<void> {
    await this.close();
    await rm(this.folder, { recursive: true });
  }

  get stream(): EmbeddedStream {
    if (this.#stream === undefined) throw new Error("the stream is not open");
    return this.#stream;
  }

  push(texts: readonly string[], receivedAt = 0): Promise<number> {
    return this.stream.append(pushOf(texts, receivedAt));
  }

  reader(end = this.stream.state.last): EmbeddedReader {
    return new EmbeddedReader(systemDisk, this.folder, end);
  }

  /** `sequence:text` of the events from `position` on. */
  async texts(position = 1, limit = 1_000): Promise<string[]> {
    const reader = this.reader();
    try {
      return await textsOf(reader, position, limit);
    } finally {
      await reader.close();
    }
  }

  /** The paths of its segments, ascending. */
  async paths(): Promise<string[]> {
    const names = await readdir(this.folder);
    const segments = names.filter((name) => name.endsWith(".segment"));
    return segments.toSorted().map((name) => join(this.folder, name));
  }

  async newest(): Promise<string> {
    return (await this.paths()).at(-1)!;
  }

  /** As a crash leaves it that came before the newest push was answered: nothing is known as answered. */
  async forgetAnswered(): Promise<void> {
    await rm(join(this.folder, "answered"), { force: true });
  }

  /** Bytes on disk. */
  async size(): Promise<number> {
    let size = 0;
    for (const path of await this.paths()) size += (await stat(path)).size;
    return size;
  }

  async copyTo(other: SegmentFolder): Promise<void> {
    for (const name of await readdir(other.folder)) await rm(join(other.folder, name));
    for (const name of await readdir(this.folder)) await copyFile(join(this.folder, name), join(other.folder, name));
  }

  /** Writes a segment as the first version did: one event a frame. */
  async writeOld(first: number, texts: readonly string[], receivedAt = 0): Promise<void> {
    const frames = texts.map((text) => {
      const event = Buffer.from(text);
      const frame = Buffer.concat([Buffer.alloc(16), event]);
      frame.writeUInt32LE(event.length, 0);
      frame.writeDoubleLE(receivedAt, 8);
      frame.writeUInt32LE(crc32(frame.subarray(8)), 4);
      return frame;
    });
    const header = Buffer.from("SLUICE\u0000\u0001", "latin1");
    await writeFile(
      join(this.folder, `${String(first).padStart(16, "0")}.segment`),
      Buffer.concat([header, ...frames]),
    );
  }

  /** Changes one byte of a file. */
  async damage(path: string, at: number): Promise<void> {
    const bytes = await readFile(path);
    bytes[at] = bytes[at]! ^ 0x40;
    await writeFile(path, bytes);
  }
}
