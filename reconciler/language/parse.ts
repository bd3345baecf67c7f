import { problem, type Problem } from "./problem.ts";
import { Document } from "./document.ts";
import type { Node } from "./node.ts";
import { parseJson } from "./parse-json.ts";
import { parseYaml } from "./parse-yaml.ts";
import { decode, type SourceFile, type SourceText } from "./source-text.ts";

/** What a file holds. If it could not be read, `documents` is empty and `problem` says why. */
export interface ParsedFile {
  documents: Document[];
  problem?: Problem;
  /** The text, to search a file that could not be parsed; absent if it is not text. */
  text?: string;
}

/** Reads a YAML or, by its name, JSON file. */
export function parse(file: SourceFile): ParsedFile {
  const source = decode(file);
  if ("code" in source) return { documents: [], problem: source };
  const { text } = source;
  const roots = rootsOf(source);
  if ("code" in roots) return { documents: [], problem: roots, text };
  if (roots.length === 0) return { documents: [], problem: emptyFile(file.path), text };
  return { documents: roots.map((root) => new Document(source, root)), text };
}

function rootsOf(source: SourceText): Node[] | Problem {
  if (!/\.json$/i.test(source.file) || source.text.trim() === "") return parseYaml(source);
  const root = parseJson(source);
  return "code" in root ? root : [root];
}

function emptyFile(file: string): Problem {
  const suggestion = "remove the file, or write a pipeline into it";
  return problem(
    "EMPTY_FILE",
    { file, line: 1, column: 1 },
    { subject: "file", expected: "a pipeline", found: "nothing", suggestion },
  );
}
