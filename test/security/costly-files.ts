import { pipelineFile } from "../support/daemon.ts";

/** A file that an attacker pushes, and what is to become of it. */
export interface CostlyFile {
  name: string;
  text: string;
  /** The code of the problem with which it is refused; `applied` where it is only large. */
  end: string;
}

/** Files that cost far more to read than their size tells. `scale` is 1 for the largest that a file may be. */
export function costlyFiles(scale: number): CostlyFile[] {
  const many = (most: number): number => Math.max(1, Math.round(most * scale));
  return [
    {
      name: "case-folding",
      text: filtering("case-folding", `id matches "(?i)[${"B-\u{1e942}".repeat(2_000)}]"`),
      end: "EXPRESSION_COST",
    },
    { name: "one-repeats", text: filtering("one-repeats", repeats(900, "x")), end: "EXPRESSION_COST" },
    {
      name: "repeats",
      text: making("repeats", many(1_000), (n) => repeats(45, `${n}`)),
      end: "EXPRESSION_COST",
    },
    {
      name: "unicode-classes",
      text: filtering("unicode-classes", `id matches "${String.raw`\\pL{1000}`.repeat(900)}"`),
      end: "EXPRESSION_COST",
    },
    {
      name: "expressions",
      text: making("expressions", many(9_000), (n) => `n + ${n} > 3 and idx contains "x"`),
      end: "EXPRESSION",
    },
    { name: "columns", text: withColumns("columns", many(10_000)), end: "applied" },
    { name: "aliases", text: aliases(many(900)), end: "TOO_MANY_VALUES" },
    { name: "nesting", text: "[".repeat(many(1_000_000)), end: "NESTING" },
    { name: "documents", text: documents(many(900)), end: "REQUIRED" },
  ];
}

/** A filter with a pattern that compiles to a thousand instructions for each of `times`. */
function repeats(times: number, end: string): string {
  return `id matches "${".{1000}".repeat(times)}${end}"`;
}

function filtering(pipeline_id: string, expression: string): string {
  const rest = `transforms:\n  - { type: filter, source_id: input, config: { expression: '${expression}' } }`;
  return pipelineFile(pipeline_id, { rest });
}

function making(pipeline_id: string, count: number, expression: (n: number) => string): string {
  const outputs = Array.from(
    { length: count },
    (_, n) => `        - { expression: '${expression(n)}', output_name: o${n}, output_type: bool }\n`,
  );
  const head = "transforms:\n  - type: stateless\n    source_id: input\n    config:\n      transforms:\n";
  return pipelineFile(pipeline_id, { rest: head + outputs.join("") });
}

function withColumns(pipeline_id: string, count: number): string {
  const type = "LowCardinality(Nullable(String))";
  const columns = Array.from(
    { length: count },
    (_, n) => `    - { name: id, column_name: c${n}, column_type: ${type} }\n`,
  );
  return pipelineFile(pipeline_id, { xSluice: "  state: Stopped" }).replace(
    "  mapping:\n",
    `  mapping:\n${columns.join("")}`,
  );
}

/** Each document is below the limit of a document, and they are far above what a file may hold. */
function aliases(count: number): string {
  const document = `a: &a [${"x,".repeat(40)}]\nb: &b [${"*a,".repeat(40)}]\nc: [${"*b,".repeat(40)}]\n`;
  return Array.from({ length: count }, () => document).join("---\n");
}

function documents(count: number): string {
  const unknown = Array.from({ length: 90 }, (_, n) => `k${n}: 1\n`).join("");
  return Array.from({ length: count }, (_, n) => `version: v3\npipeline_id: broken-${n}\n${unknown}`).join("---\n");
}
