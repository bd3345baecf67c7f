import type { Path } from "../../schemas/index.ts";
import { codes, type Code, type Severity } from "./codes.ts";

/** A spot in a file. Line and column count from 1; a column is a UTF-16 code unit. */
export interface Place {
  file: string;
  line: number;
  column: number;
}

/** Something about a file that its author should know. Never holds a secret. */
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

/** What a problem says: `subject: expected …, got …`. The subject is the path unless `subject` names it. */
export interface Finding {
  path?: Path;
  subject?: string;
  expected: string;
  found: string;
  suggestion?: string | undefined;
}

/** Characters of a part of a message; much of what is quoted comes from strangers. */
const longest = 600;

export function problem(code: Code, { file, line, column }: Place, finding: Finding): Problem {
  const expected = printable(finding.expected, longest);
  const found = printable(finding.found, longest);
  const suggestion = finding.suggestion === undefined ? undefined : printable(finding.suggestion, longest);
  const path = pathText(finding.path ?? []);
  const subject = finding.subject ?? (path === "" ? "document" : path);
  const message = `${subject}: expected ${expected}, got ${found}`;
  const said = { path, message, expected, found, ...(suggestion !== undefined && { suggestion }) };
  return { code, severity: codes[code].severity, file, line, column, ...said };
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

/** Text of a stranger as it may be shown: on one line, without control characters, and not too long. */
export function printable(text: string, most = shown): string {
  const clean = text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}
