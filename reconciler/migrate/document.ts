import { convert, type Conversion, type MigrateOptions } from "./convert.ts";
import { MigrationError } from "./warning.ts";
import { problem, type Problem } from "../language/problem.ts";
import { View } from "../language/view.ts";
import type { Document } from "../language/document.ts";
import type { Path } from "../../schemas/index.ts";
import type { Node } from "../language/node.ts";
import type { Part } from "./part.ts";

/** A v2 document as v3. */
export interface Converted extends Conversion {
  /** The v3 document, marked for review. Each field has the place of the v2 field from which it was made. */
  document: Document;
  /** The remarks of the conversion, with their places. */
  problems: Problem[];
}

export function isVersion2(document: Document): boolean {
  return View.of(document).get("version").text === "v2";
}

/** Errors of a converted document that do not make it useless: it waits for a review, or for a later version. */
const waiting: readonly Problem["code"][] = ["NOT_SUPPORTED", "NOT_SUPPORTED_YET", "FILTERS_NOT_REVIEWED"];

/** Whether a problem keeps a document from becoming a file. */
export function isObstacle({ code, severity }: Problem): boolean {
  return severity === "error" && !waiting.includes(code);
}

/** Converts a v2 document; returns the problems if it cannot be converted. */
export function convertDocument(document: Document, options: MigrateOptions = {}): Converted | Problem[] {
  if (document.problems.length > 0) return document.problems;
  const version = View.of(document).get("version");
  if (hasKeysOfVersion3(document)) {
    const expected = '"v3", whose keys the document has';
    return [version.problem("V2_NOT_RUN", { expected, found: '"v2", which never runs', suggestion: "write v3" })];
  }
  try {
    const conversion = convert(document.value, options);
    const problems = conversion.remarks.map(({ code, finding }) =>
      problem(code, document.place(finding.path), finding),
    );
    const root = nodeOf(conversion.marked, (path) => document.offsets(path));
    return { ...conversion, document: document.with([], root), problems };
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return error.obstacles.map((one) => problem("V2_NOT_RUN", document.place(one.path), one));
  }
}

/**
 * The document to check and run: version v2 never runs, so a v2 document is replaced by its v3 form (docs/pipelines.md,
 * Files of version v2). One that cannot be converted stays v2, with an error.
 */
export function inVersion3(document: Document): Document {
  if (!isVersion2(document)) return document;
  const converted = convertDocument(document);
  if (Array.isArray(converted)) return converted === document.problems ? document : document.with(converted);
  const remark = View.of(document).get("version").problem("V2_CONVERTED", {
    expected: '"v3"',
    found: '"v2": the document is read as the v3 document that it becomes',
    suggestion: "write that down with sluice migrate --write",
  });
  // The v3 rule reports a filter that waits for a review.
  const others = converted.problems.filter(({ code }) => code !== "V2_FILTER");
  return converted.document.with([remark, ...others]);
}

function hasKeysOfVersion3(document: Document): boolean {
  const root = View.of(document);
  return !root.get("source").exists && (root.get("sources").exists || root.get("transforms").exists);
}

/** Where a field of the v2 document is written: offsets of its key, and of its value. */
interface Written {
  key: number;
  at: number;
}

/** The part as nodes of a file, each with the place that `written` has for its v2 field. */
export function nodeOf(part: Part, written: (path: Path) => Written): Node {
  const { at } = written(part.at);
  if (part.kind === "scalar") return { kind: "scalar", at, value: part.value };
  if (part.kind === "list") return { kind: "list", at, items: part.items.map((item) => nodeOf(item, written)) };
  const entries = [...part.members].map(([key, member]) => {
    return { key, at: written(member.at).key, value: nodeOf(member, written) };
  });
  return { kind: "map", at, entries };
}
