import type { YAMLException } from "js-yaml";
import { problem, type Problem } from "../validate/problem.ts";
import { maxDepth } from "./limits.ts";
import type { SourceText } from "./source-text.ts";

/** The parser's error in our words. Its snippet of the file is left out: it may hold a secret. */
export function syntaxProblem(source: SourceText, error: YAMLException): Problem {
  const at = Math.min(error.mark?.position ?? 0, source.text.length);
  if (error.reason.startsWith("nesting exceeded")) {
    const expected = `at most ${maxDepth} collections inside each other`;
    return problem("NESTING", source.place(at), { subject: "file", expected, found: "more" });
  }
  const line = source.before(at);
  const indent = /^\s*/.exec(line)?.[0] ?? "";
  const tab = indent.indexOf("\t");
  if (tab >= 0 || source.text[at] === "\t") {
    const place = source.place(tab >= 0 ? at - line.length + tab : at);
    return problem("YAML_TAB", place, { subject: "file", expected: "spaces as indentation", found: "a tab" });
  }
  return problem("YAML_SYNTAX", source.place(at), {
    subject: "file",
    expected: "valid YAML",
    found: error.reason,
    suggestion: quotingHint(source.text, at),
  });
}

function quotingHint(text: string, at: number): string | undefined {
  if (/^[@`%]/.test(text.slice(at))) return `put a value that begins with ${text[at]} in quotes`;
  if (text.slice(Math.max(0, at - 1), at + 1).includes("{")) return "put ${…} in quotes where it stands in [ ] or { }";
  if (at >= text.trimEnd().length) return "look for a quote or a bracket that is not closed";
  return text[at] === ":" ? 'put a value that holds ": " in quotes' : undefined;
}
