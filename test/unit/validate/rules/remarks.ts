import { expect, test } from "vitest";
import { codes, type Code } from "../../../../reconciler/language/codes.ts";
import type { Problem } from "../../../../reconciler/language/problem.ts";
import { validate } from "../../../../reconciler/desired/load.ts";
import { fileOf } from "../../../support/pipeline-file.ts";

/** Something that must be said about a file. */
export interface Remark {
  title: string;
  content: string;
  code: Code;
  path: string;
  /** The text at whose first character it points; the last such text of the file. */
  at: string;
  found: string;
  suggestion?: string;
}

/** One test for each remark: it is made, with the severity of its code, at its place. */
export function remarks(cases: readonly Remark[]): void {
  test.each(cases)("$title: $code", ({ content, code, path, at, found, suggestion }) => {
    const wanted = { code, severity: codes[code].severity, path, ...placeOf(content, at), found };
    const made = validate([fileOf(content)]);
    expect(made).toContainEqual(expect.objectContaining(suggestion === undefined ? wanted : { ...wanted, suggestion }));
  });
}

function placeOf(content: string, passage: string): { line: number; column: number } {
  const offset = content.lastIndexOf(passage);
  if (offset < 0) throw new Error(`expected the file to hold "${passage}"`);
  const before = content.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

/** What is said about a file besides what is not supported yet. */
export function said(content: string, file?: string): Problem[] {
  return validate([fileOf(content, file)]).filter(({ code }) => code !== "NOT_SUPPORTED_YET");
}
