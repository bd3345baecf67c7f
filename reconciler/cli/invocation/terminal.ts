import type { Writable } from "node:stream";

/** Where commands print. Results go to `out`, everything about the command itself to `err`. */
export interface Terminal {
  /** Prints `text` and a line end. */
  out(text: string): void;
  err(text: string): void;
  /** Whether a person sees `out`; it may be a pipe or a file otherwise. */
  isInteractive?: boolean;
}

/** A terminal on two streams. A reader that closes the pipe, such as `head`, is not an error. */
export function streamTerminal(out: Writable & { isTTY?: boolean }, err: Writable): Terminal {
  for (const stream of [out, err]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
  return {
    out: (text) => void out.write(`${text}\n`),
    err: (text) => void err.write(`${text}\n`),
    isInteractive: out.isTTY === true,
  };
}

/** Whether what a terminal shows is coloured: not where NO_COLOR is set (https://no-color.org). */
export function hasColours(
  isTerminal: boolean | undefined,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTerminal === true && !env["NO_COLOR"];
}

/**
 * Characters that control a terminal or change the shown text: control characters, direction marks, line and paragraph
 * separators.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** `text` on one line, with control characters escaped: dead letters and errors hold text from events. */
export function printable(text: string): string {
  return text.replace(unsafe, visible);
}

/** The same for a text of several lines, which stay. */
export function printableLines(text: string): string {
  return text.replace(unsafe, (character) => (character === "\n" ? character : visible(character)));
}

function visible(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  // In the spelling of JSON, which has four digits for each unit of UTF-16.
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }).join("");
}

/** Rows under a heading, in plain columns as wide as their widest cell. Cells are made printable. */
export function columns(heading: string[], rows: string[][]): string {
  const table = [heading, ...rows.map((row) => row.map(printable))];
  const widths = heading.map((_, column) => Math.max(...table.map((row) => (row[column] ?? "").length)));
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** One line for each fact: its name, then its value. Facts without a value are left out. */
export function facts(entries: [string, string | number | null | undefined][]): string {
  const given = entries.filter(([, value]) => value !== undefined && value !== null && value !== "");
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${`${name}:`.padEnd(width + 2)}${printable(String(value))}`).join("\n");
}
