import { format } from "prettier";
import { codes, type Severity } from "../language/codes.ts";

const head = `<!-- Generated from reconciler/validate/codes.ts by \`npm run schemas\`. Change codes.ts, not this file. -->

# Problem codes

\`sluice validate\` reports every problem of every file with its place: \`orders.yaml:12:18: error PIPELINE_ID: pipeline_id:
expected …, got …\`. Codes are stable.`;

const sections: readonly (readonly [Severity, string])[] = [
  ["error", "A document with an error is refused; a running pipeline keeps its last good document."],
  ["warning", "A document with warnings is applied: it runs, but perhaps not as intended."],
  ["info", "Infos need no correction."],
];

/** The text of `docs/reference/problem-codes.md`. */
export function codesReference(): Promise<string> {
  const tables = sections.map(([severity, means]) => `## ${severity}\n\n${means}\n\n${tableOf(severity)}`);
  return format([head, ...tables].join("\n\n"), { parser: "markdown", printWidth: 120 });
}

function tableOf(severity: Severity): string {
  const rows = Object.entries(codes)
    .filter(([, code]) => code.severity === severity)
    .map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |`);
  return ["| code | meaning |", "| - | - |", ...rows].join("\n");
}
