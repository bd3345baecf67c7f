import { longestComment } from "../language/markdown.ts";
import { withSuggestion } from "../language/problem.ts";
import { counted } from "../plan/render/words.ts";
import { detailsOf } from "./details.ts";
import { levels } from "../plan/level.ts";
import { code, inline } from "./escape.ts";
import type { PlanReport, ReportedChange } from "./report.ts";
import { otherErrors, signOf, summaryOf, whatOf } from "./text.ts";

/** By this line, a program finds its comment again and replaces it. */
export const marker = "<!-- sluice-plan -->";

/** Characters for the sentence about what is left out, and of a cell of the table. */
const [lastSentence, longestCell] = [400, 300];

/** One comment for a merge request, with a section for each environment. What one section leaves of its room, the next ones have. */
export function markdownOf(...reports: readonly PlanReport[]): string {
  let text = marker;
  for (const [at, report] of reports.entries()) {
    const room = Math.floor((longestComment - text.length) / (reports.length - at));
    text += `\n\n${sectionOf(report, room - "\n\n\n".length)}`;
  }
  return `${text}\n`;
}

/**
 * A table of all changes, and below it the details of each, the gravest first. What has no room is left out as a whole, row
 * by row and change by change, and the last sentence counts it.
 */
function sectionOf(report: PlanReport, most: number): string {
  const changes = report.changes.toSorted((a, b) => levels.indexOf(b.level) - levels.indexOf(a.level));
  const comment = new Comment(most - lastSentence);
  // So that there is room for the details of the gravest changes.
  const [longestTable, longestList] = [Math.floor(most / 3), Math.floor(most / 10)];
  comment.add([`### Sluice: ${inline(summaryOf(report))}`, verdictOf(report)]);
  const rows = changes.map(rowOf);
  if (rows.length > 0) comment.add([["| | pipeline | change | what it costs |", "| - | - | - | - |"].join("\n")]);
  comment.count("row", rows, comment.addWithin(longestTable, rows, "\n"));
  const errors = otherErrors(report).map((one) => {
    return `- ${code(`${one.file}:${one.line}:${one.column}`)} ${one.code}: ${inline(withSuggestion(one))}`;
  });
  comment.count("error", errors, comment.addWithin(longestList, errors, "\n"));
  const notes = report.notes.map(({ text }) => `- ${inline(text)}`);
  comment.count("note", notes, comment.addWithin(longestList, notes, "\n"));
  const details = changes.map(detailsOf);
  comment.count("change in detail", details, comment.addWithin(longestComment, details, "\n\n"), "changes in detail");
  return comment.text;
}

/** What becomes of events, and then whether something is stopped for it. */
function verdictOf({ level, changes }: PlanReport): string {
  const isStopped = (level === "rows" || level === "forget") && changes.some(({ calls }) => calls.includes("stop"));
  return isStopped ? `${verdicts[level]} Pipelines that run are stopped for it.` : verdicts[level];
}

const verdicts: Readonly<Record<PlanReport["level"], string>> = {
  none: "Nothing that runs changes.",
  change: "No pipeline that runs stops, and what becomes of its events stays the same.",
  restart: "Pipelines are stopped and resumed, or stay stopped; what becomes of their events stays the same.",
  rows: "**Other events become rows from then on, or other rows come of them.**",
  forget: "**Something is lost, or stays unread.**",
  delete: "**Pipelines are deleted, recreated or terminated.**",
  refuse: "**Something is refused: its pipeline is not changed.**",
};

function rowOf(change: ReportedChange): string {
  const { pipeline_id, costs, reason } = change;
  const said = costs.length === 0 ? reason : costs.map(({ text }) => text).join("; ");
  const cell = said.length > longestCell ? `${said.slice(0, longestCell)}…` : said;
  return `| ${signOf(change)} | ${code(pipeline_id)} | ${whatOf(change)} | ${inline(cell)} |`;
}

/** A text that grows up to a bound, and counts what had no room. */
class Comment {
  readonly #most: number;
  #text = "";
  readonly #left: string[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** The text, with a sentence about what was left out. */
  get text(): string {
    if (this.#left.length === 0) return this.#text;
    const what = `Left out, since a comment has room for ${longestComment} characters: ${this.#left.join(", ")}.`;
    return `${this.#text}\n\n${what} \`sluice plan\` prints all.`;
  }

  /** Paragraphs that are always there. */
  add(paragraphs: readonly string[]): void {
    this.#text = [...(this.#text === "" ? [] : [this.#text]), ...paragraphs].join("\n\n");
  }

  /** Adds as many as have room in `most` characters; returns how many. */
  addWithin(most: number, parts: readonly string[], between: "\n" | "\n\n"): number {
    const limit = Math.min(this.#most, this.#text.length + most);
    let added = 0;
    for (const part of parts) {
      // Rows follow the head of their table at once.
      const join = added === 0 && !part.startsWith("| ") ? "\n\n" : between;
      if (this.#text.length + join.length + part.length > limit) continue;
      this.#text += join + part;
      added += 1;
    }
    return added;
  }

  count(one: string, parts: readonly string[], added: number, several?: string): void {
    const left = counted(parts.length - added, one, several);
    if (left !== "") this.#left.push(left);
  }
}
