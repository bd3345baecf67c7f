import type { Writable } from "node:stream";
import { styleText } from "node:util";

/** Where commands print. Results go to `out`, everything about the command itself to `err`. */
export interface Terminal {
  /** Prints `text` and a line end. */
  out(text: string): void;
  err(text: string): void;
  /** Whether a person sees `out`; it may be a pipe or a file otherwise. */
  isInteractive?: boolean;
  /** The characters of a line of `out`; absent where no person sees it, or nobody knows them. */
  width?: number;
  /** Shows a line on `err` in place of the one before; an empty one removes it. Absent where no person sees `err`. */
  progress?: (line: string) => void;
}

/** A terminal on two streams. A reader that closes the pipe, such as `head`, is not an error. */
export function streamTerminal(out: Tty, err: Tty): Terminal {
  for (const stream of [out, err]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
  const seen = {
    isInteractive: out.isTTY === true,
    ...(out.isTTY === true && out.columns ? { width: out.columns } : {}),
  };
  if (err.isTTY !== true) return { ...printing(out, err), ...seen };
  let shown = "";
  const progress = (line: string): void => {
    if (line === shown) return;
    shown = printable(line).slice(0, (err.columns ?? 80) - 1);
    err.write(`${startOfLine}${shown}`);
  };
  const printed = printing(out, err);
  const above = (print: (text: string) => void) => (text: string) => {
    progress("");
    print(text);
  };
  return { out: above(printed.out), err: above(printed.err), ...seen, progress };
}

type Tty = Writable & { isTTY?: boolean; columns?: number };

/** Goes to the start of the line and clears it. */
const startOfLine = "\r\u001b[K";

function printing(out: Tty, err: Tty): Pick<Terminal, "out" | "err"> {
  return { out: (text) => void out.write(`${text}\n`), err: (text) => void err.write(`${text}\n`) };
}

/**
 * Whether text is coloured. The first of these decides: NO_COLOR (https://no-color.org) turns colours off; FORCE_COLOR
 * (https://force-color.org) and CLICOLOR_FORCE turn them on, in a pipe as well; without a terminal, with `CLICOLOR=0` and
 * on a terminal that is `dumb` there are none.
 */
export function hasColours(
  isTerminal: boolean | undefined,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"]) return !/^(?:0|false)$/.test(env["FORCE_COLOR"]);
  if (env["CLICOLOR_FORCE"] && env["CLICOLOR_FORCE"] !== "0") return true;
  return isTerminal === true && env["CLICOLOR"] !== "0" && env["TERM"] !== "dumb";
}

type Colour = "bold" | "green" | "red" | "yellow";

/** Lines of a report, printable, each in the colour of its tone where a person sees colours. */
export function paintedLines<Tone extends string>(
  lines: readonly { text: string; tone?: Tone }[],
  colours: Readonly<Record<Tone, Colour>>,
  { terminal, env }: { terminal: Terminal; env: Readonly<Record<string, string | undefined>> },
): string {
  const isColoured = hasColours(terminal.isInteractive, env);
  const painted = lines.map(({ text, tone }) => {
    const shown = printable(text);
    return isColoured && tone !== undefined ? styleText(colours[tone], shown, { validateStream: false }) : shown;
  });
  return painted.join("\n");
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

/** Characters that a column of a table keeps where the table is too wide. */
const narrowest = 16;
const between = "  ";

/**
 * Rows under a heading, in plain columns as wide as their widest cell. Cells are made printable. With a width of the lines the
 * widest columns are made narrower, and what is cut ends with `…`; a pipe gets all.
 */
export function columns(
  heading: string[],
  rows: string[][],
  { width = Infinity }: Pick<Terminal, "width"> = {},
): string {
  const table = [heading, ...rows.map((row) => row.map(printable))];
  const widths = heading.map((_, column) =>
    Math.min(Math.max(width, narrowest), Math.max(...table.map((row) => (row[column] ?? "").length))),
  );
  const all = (): number => widths.reduce((sum, one) => sum + one, between.length * (widths.length - 1));
  for (let excess = all() - width; excess > 0; excess -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= narrowest) break;
    widths[widest]! -= 1;
  }
  return table
    .map((row) =>
      row
        .map((cell, column) => cut(cell, widths[column]!).padEnd(widths[column]!))
        .join(between)
        .trimEnd(),
    )
    .join("\n");
}

function cut(cell: string, most: number): string {
  return cell.length > most ? `${cell.slice(0, most - 1)}…` : cell;
}

/** One line for each fact: its name, then its value. Facts without a value are left out. */
export function facts(entries: [string, string | number | null | undefined][]): string {
  const given = entries.filter(([, value]) => value !== undefined && value !== null && value !== "");
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${`${name}:`.padEnd(width + 2)}${printable(String(value))}`).join("\n");
}
