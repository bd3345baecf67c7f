import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { markdownOf } from "../../../reconciler/preview/markdown.ts";
import { exitCodeOf, type PlanReport } from "../../../reconciler/preview/report.ts";
import { linesOf } from "../../../reconciler/preview/text.ts";
import schema from "../../../schemas/plan-report.schema.json" with { type: "json" };
import { pullRequests, type PullRequest } from "./pull-requests.ts";
import { reportFor } from "./sides.ts";

const folder = new URL("../../golden/plan/", import.meta.url);
const isReport = new Ajv({ strict: true, allErrors: true }).compile(schema);

/** All formats in one file, so that a reader of the record sees them side by side. */
function recordOf(report: PlanReport, { failOn = "refuse" }: PullRequest): string {
  const text = linesOf(report)
    .map((line) => line.text)
    .join("\n");
  const json = JSON.stringify(report, undefined, 2);
  const code = exitCodeOf(report, failOn);
  return [
    `$ sluice plan --base main --fail-on ${failOn} # ends with ${code}`,
    text,
    "",
    "$ sluice plan --base main --format markdown",
    markdownOf(report),
    "$ sluice plan --base main --format json",
    json,
    "",
  ].join("\n");
}

/** Costs that say how a change is carried out, and nothing of events, rows or senders. */
const ofMechanism = new Set(["Drains", "AppliedLive", "ReadingStops"]);

describe.each(pullRequests)("$title", (request) => {
  const report = reportFor(request);

  test("says what becomes of events before what is stopped, and nothing else by its class", () => {
    const [head = ""] = /^[^|<]*$/m.exec(markdownOf(report).split("\n").slice(4).join("\n")) ?? [];
    for (const { kind, level, events, costs, losses, effect, calls } of report.changes) {
      const isOf = costs.map(({ code }) => !ofMechanism.has(code));
      expect(isOf).toEqual(isOf.toSorted((a, b) => Number(b) - Number(a)));
      if (kind === "update" && events !== "same") expect(isOf[0]).toBe(true);
      if (level === "change" || level === "restart")
        expect([events, losses, effect === "refuse"]).toEqual(["same", [], false]);
      if (level === "rows" || level === "forget") expect(head).not.toMatch(/nothing is lost|stays the same/i);
      if (level === "restart") expect(calls).toContain("stop");
    }
  });

  test("is told as on record, and fits the published schema", async () => {
    expect([isReport(JSON.parse(JSON.stringify(report))), isReport.errors]).toEqual([true, null]);
    await expect(recordOf(report, request)).toMatchFileSnapshot(
      new URL(`${request.title.replaceAll(" ", "-")}.txt`, folder).pathname,
    );
  });
});
