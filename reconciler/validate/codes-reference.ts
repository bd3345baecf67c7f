import { format } from "prettier";
import { codes, consequences, type Severity } from "../language/codes.ts";

const head = `<!-- Generated from reconciler/language/codes.ts by \`npm run schemas\`. Change codes.ts, not this file. -->

# Problem codes

\`sluice validate\` reports every problem of every file with its place: \`orders.yaml:12:18: error PIPELINE_ID: pipeline_id:
expected …, got …\`. Codes are stable.`;

/** The text of `docs/reference/problem-codes.md`. */
export function codesReference(): Promise<string> {
  const severities = Object.keys(consequences) as Severity[];
  const tables = severities.map((one) => `## ${one}\n\n${consequences[one]}\n\n${tableOf(one)}`);
  return format([head, ...tables].join("\n\n"), { parser: "markdown", printWidth: 120 });
}

function tableOf(severity: Severity): string {
  const rows = Object.entries(codes)
    .filter(([, code]) => code.severity === severity)
    .map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |`);
  return ["| code | meaning |", "| - | - |", ...rows].join("\n");
}
