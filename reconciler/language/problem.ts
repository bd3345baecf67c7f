import { isSecret, type Path } from "../../schemas/index.ts";
import { codes, type Code, type Severity } from "./codes.ts";
import { editsBetween } from "../../schemas/edits-between.ts";

/** A spot in a file. Line and column count from 1; a column is a UTF-16 code unit. */
export interface Place {
  file: string;
  line: number;
  column: number;
}

/** A problem of a file. Never holds a secret. */
export interface Problem extends Place {
  code: Code;
  severity: Severity;
  /** The field, such as `sink.mapping[0].column_type`; empty where the problem is the file or the document itself. */
  path: string;
  /** Subject, expectation and what was found, in one line. */
  message: string;
  expected: string;
  found: string;
  /** What to write instead. */
  suggestion?: string;
}

/** The parts of a message `subject: expected …, got …`. The subject is the path unless `subject` names it. */
export interface Finding {
  path?: Path;
  subject?: string;
  expected: string;
  found: string;
  suggestion?: string | undefined;
}

/** Characters of a part of a message, which may quote text from outside. */
const longest = 600;

export function problem(code: Code, { file, line, column }: Place, finding: Finding): Problem {
  const expected = printable(finding.expected, longest);
  const got = printable(finding.found, longest);
  const suggestion = finding.suggestion === undefined ? undefined : printable(finding.suggestion, longest);
  const path = pathText(finding.path ?? []);
  const subject = finding.subject ?? (path === "" ? "document" : path);
  const message = `${subject}: expected ${expected}, got ${got}`;
  const said = { path, message, expected, found: got, ...(suggestion !== undefined && { suggestion }) };
  return { code, severity: codes[code].severity, file, line, column, ...said };
}

/** The message of a problem with what to write instead, in parentheses. */
export function withSuggestion({ message, suggestion }: Problem): string {
  return suggestion === undefined ? message : `${message} (${suggestion})`;
}

/** `["sink", "mapping", 0, "name"]` is written `sink.mapping[0].name`. */
export function pathText(path: Path): string {
  let text = "";
  for (const segment of path) {
    if (typeof segment === "number") text += `[${segment}]`;
    else text += text === "" ? printable(segment) : `.${printable(segment)}`;
  }
  return text;
}

const shown = 60;

/** Text from outside, made safe to show: on one line, without control characters, and cut. */
export function printable(text: string, most = shown): string {
  const clean = text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}

/** A value as a message shows it: short, and only its kind where it is a secret or a collection. */
export function found(value: unknown, path: Path): string {
  if (isSecret(path)) return kindOf(value);
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : `"${printable(value)}"`;
  if (typeof value === "boolean") return `${value}`;
  if (typeof value === "number") return `the number ${value}`;
  return kindOf(value);
}

/** A value's kind with its article, for secrets and for values of a wrong kind. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  return `a ${kind(value)}`;
}

function kind(value: unknown): string {
  if (typeof value === "string") return "text";
  return typeof value === "number" ? "number" : "true-or-false value";
}

/** Words that are compared; in a longer list the intended one may be missed. */
const most = 1000;

/** The known word that was probably intended: at most a third of its letters differ; undefined if there is none. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined;
  let best: { word: string; edits: number } | undefined;
  let seen = 0;
  for (const candidate of known) {
    seen += 1;
    if (seen > most) break;
    if (Math.abs(candidate.length - word.length) > Math.max(1, candidate.length / 3)) continue;
    const edits = editsBetween(word.toLowerCase(), candidate.toLowerCase());
    if (edits <= Math.max(1, Math.floor(candidate.length / 3)) && edits < (best?.edits ?? Infinity)) {
      best = { word: candidate, edits };
    }
  }
  return best?.word;
}

/** `did you mean "…"?`, if something is near. */
export function didYouMean(word: unknown, known: Iterable<string>): string | undefined {
  const near = typeof word === "string" ? nearest(word.trim(), known) : undefined;
  return near === undefined ? undefined : `did you mean "${near}"?`;
}
