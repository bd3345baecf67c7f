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
  if ("code" in roots) return { documents: [], problem: conflictIn(source) ?? roots, text };
  if (roots.length === 0) return { documents: [], problem: emptyFile(file.path), text };
  return { documents: roots.map((root) => new Document(source, root)), text };
}

function rootsOf(source: SourceText): Node[] | Problem {
  if (!/\.json$/i.test(source.file) || source.text.trim() === "") return parseYaml(source);
  const root = parseJson(source);
  return "code" in root ? root : [root];
}

/** Where Git has put two versions of lines; undefined where it has not. */
function conflictIn(source: SourceText): Problem | undefined {
  const at = source.text.search(/^<{7}(?: |$)/m);
  if (at < 0 || !/^>{7}(?: |$)/m.test(source.text.slice(at))) return undefined;
  return problem("CONFLICT", source.place(at), {
    subject: "file",
    expected: "one version of each line",
    found: "a conflict that Git has marked",
    suggestion: "choose between the lines up to ======= and those up to >>>>>>>, and remove the marks",
  });
}

function emptyFile(file: string): Problem {
  const suggestion = "remove the file, or write a pipeline into it";
  return problem(
    "EMPTY_FILE",
    { file, line: 1, column: 1 },
    { subject: "file", expected: "a pipeline", found: "nothing", suggestion },
  );
}
