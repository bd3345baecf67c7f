import { isUtf8 } from "node:buffer";
import { CompileBudget } from "../../engine/language.ts";
import { maxFileBytes } from "./limits.ts";
import { problem, type Place, type Problem } from "./problem.ts";

/** A file below the watched path, as it was read. Messages name it by `path`. */
export interface SourceFile {
  path: string;
  bytes: Uint8Array;
}

/**
 * The text with line feeds where lines end in a carriage return alone, which are lines of YAML: the library that keeps
 * comments takes them for none.
 */
export function withLineFeeds(text: string): string {
  return text.replaceAll(/\r(?!\n)/g, "\n");
}

/** The text of a file, with the place of every offset. */
export class SourceText {
  readonly file: string;
  readonly text: string;
  /** What compiling the expressions of this file may still cost. */
  readonly compileBudget = new CompileBudget();
  readonly #lineStarts: number[] = [0];

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
    for (const { index, 0: end } of text.matchAll(/\r\n|\n|\r/g)) this.#lineStarts.push(index + end.length);
  }

  place(offset: number): Place {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { file: this.file, line: low + 1, column: offset - (this.#lineStarts[low] ?? 0) + 1 };
  }

  /** The text of the line that holds `offset`, up to `offset`. */
  before(offset: number): string {
    return this.text.slice(offset - this.place(offset).column + 1, offset);
  }
}

/** Decodes a file. A UTF-8 byte order mark at the start is dropped, as YAML allows; every other encoding is refused. */
export function decode({ path, bytes }: SourceFile): SourceText | Problem {
  const start = { file: path, line: 1, column: 1 };
  if (bytes.length > maxFileBytes) {
    const found = bytes.length === maxFileBytes + 1 ? "more" : `${bytes.length} bytes`;
    return problem("FILE_TOO_LARGE", start, {
      subject: "file",
      expected: `at most ${maxFileBytes} bytes (1 MiB)`,
      found,
    });
  }
  if (hasWideMark(bytes)) {
    const suggestion = "save the file as UTF-8";
    return problem("ENCODING", start, {
      subject: "file",
      expected: "UTF-8 text",
      found: "UTF-16 or UTF-32 text",
      suggestion,
    });
  }
  if (!isUtf8(bytes)) return invalidByte(path, bytes);
  const text = new SourceText(path, new TextDecoder("utf-8").decode(bytes));
  const nul = text.text.indexOf("\0");
  if (nul < 0) return text;
  return problem("NUL_BYTE", text.place(nul), { subject: "file", expected: "text", found: "a NUL byte" });
}

function hasWideMark(bytes: Uint8Array): boolean {
  const [a, b, c, d] = bytes;
  return (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff) || (a === 0 && b === 0 && c === 0xfe && d === 0xff);
}

function invalidByte(path: string, bytes: Uint8Array): Problem {
  let low = 0;
  let high = bytes.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (beginsAsUtf8(bytes.subarray(0, middle))) low = middle;
    else high = middle - 1;
  }
  const before = new TextDecoder("utf-8").decode(bytes.subarray(0, low), { stream: true });
  // In Latin-1 a letter such as é looks like the first byte of a character: that byte is wrong, not the one after it.
  const byte = (bytes[beginOfCut(bytes, low)] ?? 0).toString(16).padStart(2, "0");
  const place = new SourceText(path, before).place(before.length);
  const found = low === bytes.length ? "an end in the middle of a character" : `the byte 0x${byte}, which is not UTF-8`;
  return problem("ENCODING", place, {
    subject: "file",
    expected: "UTF-8 text",
    found,
    suggestion: "save the file as UTF-8",
  });
}

/** Whether further bytes could make the bytes valid. */
function beginsAsUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Where the character begins that breaks off before `end`; `end` where none does. */
function beginOfCut(bytes: Uint8Array, end: number): number {
  for (let at = end - 1; at >= Math.max(0, end - 3); at -= 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) return end;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
    if (length > 0) return at + length > end ? at : end;
  }
  return end;
}
