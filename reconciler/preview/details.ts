import { fieldLines } from "../plan/render/index.ts";
import { someOf } from "../plan/render/words.ts";
import { isEmptied } from "./tested-events.ts";
import { code, fenced, inline } from "./escape.ts";
import { levelAsked, type ReportedChange } from "./report.ts";
import { figuresText, placeOf, whatOf } from "./text.ts";

/** Lines of the diff of one change, characters of one of them, and facts. */
const [mostLines, longestLine, mostFacts] = [100, 300, 20];
/** Characters of a statement, and of a fact. */
const [longestStatement, longestFact] = [4_000, 1_000];

/** All of one change, folded; open where a person has to act, or to look. */
export function detailsOf(change: ReportedChange): string {
  const { pipeline_id, level, reason, warnings } = change;
  const place = placeOf(change);
  return [
    `<details${level === "refuse" || warnings.length > 0 ? " open" : ""}><summary>${code(pipeline_id)}: ${whatOf(change)}</summary>`,
    `${place === "" ? "" : `${code(place.slice(0, -2))}: `}${inline(cut(reason, longestFact * 3))}`,
    ...listOf(factsOf(change)),
    ...diffOf(change),
    ...statementsOf(change),
    "</details>",
  ].join("\n\n");
}

function factsOf(change: ReportedChange): string[] {
  const { asked_by, calls, costs, losses, warnings, tables, after, tests } = change;
  const figures = figuresText(change);
  return [
    ...(figures === "" ? [] : [inline(`now: ${cut(figures, longestFact)}`)]),
    ...warnings.map(({ text }) => `**warning**: ${inline(cut(text, longestFact))}`),
    ...(asked_by.length > 0 ? [inline(`class ${levelAsked(change)} is asked for by ${someOf(asked_by)}`)] : []),
    ...(calls.length > 0 ? [`calls: ${calls.join(", ")}`] : []),
    ...(after.length > 0 ? [inline(`after: ${cut(after.join(", "), longestFact)}`)] : []),
    ...costs.map(({ text }) => inline(cut(text, longestFact))),
    ...(tests === undefined ? [] : [`${isEmptied(tests) ? "**tests**" : "tests"}: ${inline(tests.text)}`]),
    ...(losses.length > 0 ? [inline(`a rollback does not restore: ${losses.map(({ text }) => text).join(", ")}`)] : []),
    ...tables.map(({ text }) => inline(cut(text, longestFact))),
  ];
}

function listOf(facts: readonly string[]): string[] {
  const shown = facts.slice(0, mostFacts).map((fact) => `- ${fact}`);
  const more = facts.length - shown.length;
  return shown.length === 0 ? [] : [[...shown, ...(more > 0 ? [`- … and ${more} more`] : [])].join("\n")];
}

/** The changed fields: GitHub and GitLab colour lines that begin with a sign. */
function diffOf({ fields }: ReportedChange): string[] {
  if (fields.length === 0) return [];
  const lines = fields.flatMap(fieldLines).map((line) => cut(withoutIndent(line), longestLine));
  const more = lines.length - mostLines;
  return [fenced("diff", more > 0 ? [...lines.slice(0, mostLines), `… ${more} more lines`] : lines)];
}

/** Values begin in the first column, and the names of fields one space behind it, so that no name looks like a value. */
function withoutIndent(line: string): string {
  return line.startsWith("      ") ? line.slice(6) : ` ${line.trimStart()}`;
}

function statementsOf({ tables }: ReportedChange): string[] {
  const statements = tables.flatMap((need) => need.statements);
  return statements.length === 0
    ? []
    : [
        fenced(
          "sql",
          statements.map((one) => `${cut(one, longestStatement)};`),
        ),
      ];
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
