import { fieldNames, isSecret, typesAt, type Path } from "../../schemas/index.ts";
import { grouped } from "./grouped.ts";
import type { Token } from "./node.ts";
import { parse } from "./parse.ts";
import { printable, type Problem } from "./problem.ts";
import type { SourceFile } from "./source-text.ts";

/** A line of a file as it may be shown. */
export interface Excerpt {
  /** Counts from 1. */
  line: number;
  text: string;
  /** Characters of the text before the place. */
  before: number;
}

/** Files with excerpts at most: each is parsed again. Those with errors come first. */
const mostFiles = 200;

/**
 * The lines that problems point at, without what may be a secret: values are shown only where the format knows their
 * field and it is no secret, and comments never. In a file that cannot be parsed only the format's own keys are shown.
 * Problems without an entry point at a line of which nothing can be shown, or are beyond the first files.
 */
export function excerptsOf(files: readonly SourceFile[], problems: readonly Problem[]): ReadonlyMap<Problem, Excerpt> {
  const excerpts = new Map<Problem, Excerpt>();
  const byPath = filesByPath(files);
  for (const [path, own] of byFile(problems).slice(0, mostFiles)) {
    const file = byPath.get(path);
    if (file === undefined) continue;
    const lines = new FileLines(file);
    for (const one of own) {
      const found = lines.shown(one.line - 1, one.column - 1);
      if (found !== undefined) excerpts.set(one, { line: one.line, ...windowOf(found) });
    }
  }
  return excerpts;
}

function hasError(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** Two files may be shown by one path, and then neither is known by it. */
function filesByPath(files: readonly SourceFile[]): Map<string, SourceFile | undefined> {
  const byPath = new Map<string, SourceFile | undefined>();
  for (const file of files) byPath.set(file.path, byPath.has(file.path) ? undefined : file);
  return byPath;
}

function byFile(problems: readonly Problem[]): [string, Problem[]][] {
  const groups = grouped(problems, ({ file }) => file);
  return [...groups].toSorted(([, a], [, b]) => Number(hasError(b)) - Number(hasError(a)));
}

/** Characters of a line that is looked at, at most. */
const longestLine = 10_000;

type Shown = Omit<Excerpt, "line">;

/** The lines of one file. */
class FileLines {
  readonly #lines: string[];
  readonly #starts: number[] = [];
  /** The keys and scalars by the line on which they begin; undefined for a file that cannot be parsed. */
  readonly #tokens: Map<number, Token[]> | undefined;
  readonly #parts = new Map<number, readonly Part[]>();

  constructor(file: SourceFile) {
    const { documents, text = "" } = parse(file);
    const lines = text.split(/(?<=\r\n|\n|\r(?!\n))/);
    let at = 0;
    for (const line of lines) {
      this.#starts.push(at);
      at += line.length;
    }
    this.#lines = lines.map((line) => line.replace(/[\r\n]+$/, ""));
    if (documents.length === 0) return;
    const tokens = documents.flatMap((document) =>
      document.tokens().map((token) => ({ ...token, line: document.placeOf(token).line - 1 })),
    );
    this.#tokens = grouped(tokens, ({ line }) => line);
  }

  /** The line and the column in what is shown of it, both from 0; undefined where nothing on it may be shown. */
  shown(index: number, column: number): Shown | undefined {
    const line = this.#lines[index];
    if (line === undefined) return undefined;
    if (this.#tokens === undefined) return keyAlone(line.slice(0, longestLine), column);
    return line.length > longestLine ? undefined : tokensOf(line, column, this.#partsOf(index, this.#tokens));
  }

  /** Merged once: a line with an anchor has a token for each alias, and any number of problems. */
  #partsOf(index: number, tokens: ReadonlyMap<number, Token[]>): readonly Part[] {
    const known = this.#parts.get(index);
    if (known !== undefined) return known;
    const parts = mergedByOffset(tokens.get(index) ?? [], this.#starts[index] ?? 0);
    this.#parts.set(index, parts);
    return parts;
  }
}

/** A part of a line, by its offset in it. */
interface Part {
  at: number;
  key?: string;
  isVisible: boolean;
}

/** The tokens of a line in order. What an alias repeats has several paths, and is shown if all of them may be. */
function mergedByOffset(tokens: readonly Token[], start: number): Part[] {
  const parts = new Map<number, Part>();
  for (const { at, key, path } of tokens) {
    const known = parts.get(at - start);
    if (known?.isVisible === false) continue;
    const isVisible = key !== undefined || isShown(path);
    parts.set(at - start, { at: at - start, isVisible, ...(key !== undefined && { key }) });
  }
  return [...parts.values()].toSorted((a, b) => a.at - b.at);
}

/** Whether the format has a field there that holds a text, a number or a switch, and no secret. */
function isShown(path: Path): boolean {
  return !isSecret(path) && [...typesAt(path)].some((type) => type !== "object" && type !== "array");
}

const cut = "…";
/** What may stand before the first token of a line: indentation, dashes, brackets, a quote. */
const structure = /^[\s\-[{,]*$/;

function tokensOf(line: string, column: number, parts: readonly Part[]): Shown | undefined {
  const [first] = parts;
  const lead = first === undefined ? undefined : line.slice(0, first.at);
  if (lead === undefined || !structure.test(lead)) return undefined;
  let text = lead;
  let before = Math.min(column, lead.length);
  for (const [index, part] of parts.entries()) {
    const end = parts[index + 1]?.at ?? line.length;
    const shown = shownPart(line.slice(part.at, end), part, index === parts.length - 1);
    if (column >= part.at) before = text.length + Math.min(column - part.at, shown.visible);
    text += shown.text;
  }
  return { text: text.trimEnd(), before };
}

/** A part as it is shown, and how many of its characters stand where they do in the file. */
function shownPart(raw: string, { key, isVisible }: Part, isLast: boolean): { text: string; visible: number } {
  const comma = isLast ? "" : (/,\s*$/.exec(raw)?.[0] ?? " ");
  if (!isVisible) return { text: `${cut}${comma}`, visible: 0 };
  if (key !== undefined) return shownKey(raw, key);
  // A comment may hold anything; a value with the same sign in it is cut too.
  const comment = raw.search(/\s#/);
  const text = comment < 0 ? raw : raw.slice(0, comment);
  return { text, visible: text.length };
}

function shownKey(raw: string, key: string): { text: string; visible: number } {
  const quote = /^["']/.exec(raw)?.[0] ?? "";
  const written = `${quote}${key}${quote}`;
  if (!raw.startsWith(written)) return { text: `${cut}: `, visible: 0 };
  const rest = raw.slice(written.length);
  if (/^\s*:[\s[{\-|>]*$/.test(rest)) return { text: raw, visible: raw.length };
  return { text: `${written}: ${cut}`, visible: written.length };
}

/** The key of a line of a file that cannot be parsed, where it is one of the format. */
function keyAlone(line: string, column: number): Shown | undefined {
  const [, lead = "", key = "", rest = ""] = /^([\s-]*)(\w[\w-]*)\s*:(.*)$/.exec(line) ?? [];
  if (!fieldNames.has(key)) return undefined;
  const text = `${lead}${key}:${rest.trim() === "" ? "" : ` ${cut}`}`;
  return { text, before: Math.min(column, lead.length + key.length + 2) };
}

/** Characters of a line that are shown at most. */
const widest = 120;

/** The part of a long line around its place, without control characters. */
function windowOf({ text, before }: Shown): Shown {
  const from = before < widest - 20 ? 0 : before - widest / 2;
  const lead = clean(text.slice(from, before));
  const rest = clean(text.slice(before, from + widest));
  const [front, back] = [from > 0 ? cut : "", text.length > from + widest ? cut : ""];
  return { text: `${front}${lead}${rest}${back}`, before: front.length + lead.length };
}

function clean(text: string): string {
  return printable(text.replaceAll("\t", " "), Infinity);
}
