import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { writeFileDurably } from "../../engine/index.ts";
import { type Group, GroupCommit } from "../../engine/language.ts";

interface Piece {
  /** The JSON of each line. */
  lines: readonly string[];
  /** It stands for everything before it too. */
  isWhole: boolean;
}

/**
 * A file of lines that only grows until it is replaced. What is said at the same time shares one write, and is one line
 * of the file: a power cut within a write may leave any part of it, with zeros between, and then that line alone is
 * damaged, which is the last one.
 */
export class LineFile {
  readonly #path: string;
  /** Bytes that this process knows to be durable; what follows is the rest of a write that failed. */
  #length: number | undefined;
  /** What is perhaps in the place of the file, as a replacement failed that may have been made. */
  #replacement: string | undefined;
  #file: FileHandle | undefined;
  readonly #pieces = new GroupCommit<Piece>({
    write: (group) => this.#writeGroup(group),
    // Without what could not be written, what follows from it must not be there either.
    follows: ({ isWhole }) => !isWhole,
    // Nothing closes this object: the file is open only while there is something to write.
    idle: () => this.#letGo(),
  });

  private constructor(path: string) {
    this.#path = path;
  }

  /** Opens a file, or begins without one, and gives its lines. What a power cut left of a last write is left out. */
  static read(path: string): { file: LineFile; lines: string[] } {
    const lines = goodText(path).split("\n").slice(0, -1);
    return { file: new LineFile(path), lines: lines.flatMap(linesOf) };
  }

  /** Adds a line. Resolves when it would survive a power cut. */
  append(line: object): Promise<void> {
    return this.#pieces.add({ lines: [JSON.stringify(line)], isWhole: false });
  }

  /** Puts other lines in the place of all that were said so far. Without lines, a power cut may bring the old ones back. */
  replace(lines: readonly object[]): Promise<void> {
    return this.#pieces.add({ lines: lines.map((line) => JSON.stringify(line)), isWhole: true });
  }

  async #writeGroup(group: Group<Piece>): Promise<void> {
    try {
      await this.#write(group.items);
    } catch (error) {
      await this.#letGo();
      throw error;
    }
    group.resolve(() => undefined);
  }

  async #write(pieces: readonly Piece[]): Promise<void> {
    const whole = pieces.findLastIndex(({ isWhole }) => isWhole);
    const lines = pieces.slice(Math.max(0, whole)).flatMap((piece) => piece.lines);
    if (whole >= 0 && lines.length > 0) {
      const text = lines.map((line) => `${line}\n`).join("");
      await this.#letGo();
      await this.#begin(text);
      return;
    }
    const file = (this.#file ??= await this.#open());
    if (whole >= 0) {
      await file.truncate(0);
      this.#length = 0;
      // What follows is written to a file that is opened anew, and so synced, empty.
      await this.#letGo();
      return;
    }
    const text = lines.length === 1 ? `${lines[0]}\n` : `[${lines.join(",")}]\n`;
    await file.appendFile(text);
    await file.datasync();
    this.#length! += Buffer.byteLength(text);
  }

  /**
   * Opens the file at the end of what is durable. What an earlier process has left is written anew: it may be readable
   * and not on the disk, or end here and not there. What was cut off is synced to be gone before anything is added: a
   * power cut could else keep what was added, and bring back the rest of what was cut off behind it.
   */
  async #open(): Promise<FileHandle> {
    const length = await this.#durableLength();
    const file = await open(this.#path, "a", 0o600);
    try {
      const { size } = await file.stat();
      // It was emptied by a call that reported an error.
      if (size < length) this.#length = 0;
      if (size > length) await file.truncate(length);
      await file.datasync();
      return file;
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  async #durableLength(): Promise<number> {
    const replacement = this.#replacement;
    if (replacement !== undefined && readText(this.#path) === replacement) return this.#begin(replacement);
    return this.#length ?? this.#begin(goodText(this.#path));
  }

  /** Puts a whole text in the place of the file; returns its bytes. */
  async #begin(text: string): Promise<number> {
    this.#replacement = text;
    await writeFileDurably(this.#path, text);
    this.#replacement = undefined;
    return (this.#length = Buffer.byteLength(text));
  }

  async #letGo(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }
}

/** What a file holds; nothing where there is none. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return "";
  }
}

/** Without what a write that was cut off has left: what follows the last line, and that line where it is damaged. */
function goodText(path: string): string {
  const text = readText(path);
  const end = text.lastIndexOf("\n") + 1;
  if (end === 0) return "";
  const begin = text.lastIndexOf("\n", end - 2) + 1;
  return text.slice(0, isJson(text.slice(begin, end)) ? end : begin);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What was said in one line of the file. One that is damaged is given as it is: whoever reads it decides. */
function linesOf(text: string): string[] {
  if (!text.startsWith("[") || !isJson(text)) return [text];
  return (JSON.parse(text) as unknown[]).map((line) => JSON.stringify(line));
}
