import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { writeFileDurably } from "../../engine/index.ts";

interface Piece {
  text: string;
  /** It stands for everything before it too. */
  isWhole: boolean;
  done: () => void;
  failed: (error: unknown) => void;
}

/** A file of lines that only grows until it is replaced. What is said at the same time shares one write. */
export class LineFile {
  readonly #path: string;
  /** Bytes that are known to be good; what follows is the rest of a write that was cut off. Undefined: no such file. */
  #length: number | undefined;
  #file: FileHandle | undefined;
  #pieces: Piece[] = [];
  #isWriting = false;

  private constructor(path: string, length: number | undefined) {
    this.#path = path;
    this.#length = length;
  }

  /** Opens a file, or begins without one, and gives its whole lines. A last line that was cut off is left out. */
  static read(path: string): { file: LineFile; lines: string[] } {
    let bytes: Buffer;
    try {
      bytes = readFileSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return { file: new LineFile(path, undefined), lines: [] };
    }
    const length = bytes.lastIndexOf("\n") + 1;
    const lines = bytes.toString("utf8", 0, length).split("\n").slice(0, -1);
    return { file: new LineFile(path, length), lines };
  }

  /** Adds a line. Resolves when it would survive a power cut. */
  append(line: object): Promise<void> {
    return this.#say(`${JSON.stringify(line)}\n`, false);
  }

  /** Puts other lines in the place of all that were said so far. Without lines, a power cut may bring the old ones back. */
  replace(lines: readonly object[]): Promise<void> {
    return this.#say(lines.map((line) => `${JSON.stringify(line)}\n`).join(""), true);
  }

  #say(text: string, isWhole: boolean): Promise<void> {
    return new Promise((done, failed) => {
      this.#pieces.push({ text, isWhole, done, failed });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#pieces.length > 0) {
      const pieces = this.#pieces.splice(0);
      try {
        await this.#write(pieces);
        for (const { done } of pieces) done();
      } catch (error) {
        await this.#letGo();
        for (const { failed } of pieces) failed(error);
      }
    }
    // Nobody ends this object: while nothing is said, nothing is open.
    await this.#letGo();
    this.#isWriting = false;
    if (this.#pieces.length > 0) void this.#writeAll();
  }

  async #write(pieces: readonly Piece[]): Promise<void> {
    const whole = pieces.findLastIndex(({ isWhole }) => isWhole);
    const text = pieces
      .slice(Math.max(0, whole))
      .map((piece) => piece.text)
      .join("");
    if (whole >= 0 && text !== "") {
      await this.#letGo();
      await writeFileDurably(this.#path, text);
      this.#length = Buffer.byteLength(text);
      return;
    }
    const file = (this.#file ??= await this.#open());
    if (whole >= 0) {
      await file.truncate(0);
      this.#length = 0;
      return;
    }
    await file.appendFile(text);
    await file.datasync();
    this.#length = (this.#length ?? 0) + Buffer.byteLength(text);
  }

  async #open(): Promise<FileHandle> {
    if (this.#length === undefined) await writeFileDurably(this.#path, "");
    const file = await open(this.#path, "a", 0o600);
    await file.truncate((this.#length ??= 0));
    return file;
  }

  async #letGo(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }
}
