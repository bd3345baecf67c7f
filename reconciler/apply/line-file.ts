import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { writeFileDurably } from "../../engine/index.ts";
import { type Group, GroupCommit } from "../../engine/language.ts";

interface Piece {
  /** The JSON of each line. */
  lines: readonly string[];
  /** It replaces all lines before it. */
  isWhole: boolean;
}

/**
 * A file of lines to which lines are appended, until all are replaced. Concurrent lines share one write and become one
 * line of the file: a power cut during a write may leave any part of it, with zeros between, so that only the last line
 * can be damaged.
 */
export class LineFile {
  readonly #path: string;
  /** Bytes that this process knows to be durable; what follows is the rest of a write that failed. */
  #length: number | undefined;
  /** The text that the file perhaps holds, because a replacement failed and may have been made. */
  #replacement: string | undefined;
  #file: FileHandle | undefined;
  readonly #pieces = new GroupCommit<Piece>({
    write: (group) => this.#writeGroup(group),
    // A later line may depend on one that could not be written, so none is written after it.
    follows: ({ isWhole }) => !isWhole,
    // Nothing closes this object: the file is open only while there is something to write.
    idle: () => this.#letGo(),
  });

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * Opens a file, or begins without one, and gives its lines. The rest of a last write that a power cut interrupted is
   * dropped.
   */
  static read(path: string): { file: LineFile; lines: string[] } {
    const lines = goodText(path).split("\n").slice(0, -1);
    return { file: new LineFile(path), lines: lines.flatMap(linesOf) };
  }

  /** Adds a line. Resolves when it is durable. */
  append(line: object): Promise<void> {
    return this.#pieces.add({ lines: [JSON.stringify(line)], isWhole: false });
  }

  /** Replaces all lines. Without new lines, the old ones may be back after a power cut. */
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
      // The next write opens the file again, which syncs that it is empty.
      await this.#letGo();
      return;
    }
    const text = lines.length === 1 ? `${lines[0]}\n` : `[${lines.join(",")}]\n`;
    await file.appendFile(text);
    await file.datasync();
    this.#length! += Buffer.byteLength(text);
  }

  /**
   * Opens the file at the end of its durable part. The lines of an earlier process are written again, because they may
   * be readable and not synced. The truncation is synced before anything is added: otherwise a power cut could keep the
   * new lines and bring back the truncated bytes after them.
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

  /** Replaces the file with a text; returns its bytes. */
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

/**
 * The text without the rest of an interrupted write: the bytes after the last line end, and the last line if it is
 * damaged.
 */
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

/** The lines that one line of the file holds. A damaged one is returned as it is: the caller decides. */
function linesOf(text: string): string[] {
  if (!text.startsWith("[") || !isJson(text)) return [text];
  return (JSON.parse(text) as unknown[]).map((line) => JSON.stringify(line));
}
