import { describe, expect, test } from "vitest";
import { longestComment } from "../../../reconciler/language/markdown.ts";
import { inline } from "../../../reconciler/preview/escape.ts";
import { markdownOf, marker } from "../../../reconciler/preview/markdown.ts";
import type { PlanReport, ReportedChange } from "../../../reconciler/preview/report.ts";
import { reportBetween } from "./sides.ts";

const count = 90;
const ids = Array.from({ length: count }, (_, at) => `shop-${at}`);

/** What a comment says that it leaves out, by what it is. */
function leftOut(comment: string): Record<string, number> {
  const [, list = ""] =
    /^Left out, since a comment has room for 65535 characters: (.*)\. `sluice plan` prints all\.$/m.exec(comment) ?? [];
  return Object.fromEntries(
    list.split(", ").flatMap((one) => {
      const [, number, what = ""] = /^(\d+) (\w+)/.exec(one) ?? [];
      return number === undefined ? [] : [[what.replace(/s$/, ""), Number(number)]];
    }),
  );
}

const rowsOf = (comment: string): string[] =>
  comment.split("\n").filter((line) => /^\| [!~+=-]/.test(line) && !line.startsWith("| - | -"));
const detailsIn = (comment: string): number => comment.match(/^<details/gm)?.length ?? 0;

const lines = (word: string): string =>
  Array.from({ length: 600 }, (_, at) => `level != "${word}-${at}"`).join(" &&\n");

describe("a comment", () => {
  test("of hundreds of changes has room for the gravest, and counts what it leaves out", () => {
    const base = ids.map((id) => ({ id, root: ["resources: { nats: { stream: { max_age: 24h } } }"] }));
    const head = base.map((one, at) => ({
      ...one,
      expression: "id > 1",
      ...(at === count - 1 && { root: ["resources: { nats: { stream: { max_age: 48h } } }"] }),
    }));
    const comment = markdownOf(reportBetween(base, head));
    expect(comment.length).toBeLessThanOrEqual(longestComment);
    expect(comment.length).toBeGreaterThan(longestComment - 3_000);
    expect(comment.startsWith(`${marker}\n`)).toBe(true);
    expect(rowsOf(comment)[0]).toContain("<code>shop-89</code> | refused (ImmutableField)");
    const left = leftOut(comment);
    expect(rowsOf(comment).length + (left["row"] ?? 0)).toBe(count);
    expect(detailsIn(comment) + (left["change"] ?? 0)).toBe(count);
    expect(comment.match(/^<\/details>$/gm)).toHaveLength(detailsIn(comment));
  });

  test("of several environments has a section for each, the gravest changes of each, and one marker", () => {
    const base = ids.map((id) => ({ id }));
    const head = base.map((one) => ({ ...one, expression: lines("new") }));
    const [staging, production, small] = ["staging", "production", "small"].map((environment) => ({
      environment,
      ...(environment === "small" ? reportBetween([{ id: "orders" }], []) : reportBetween(base, head)),
    }));
    const comment = markdownOf(staging!, small!, production!);
    expect(comment.length).toBeLessThanOrEqual(longestComment);
    // What the small one leaves is not wasted.
    expect(comment.length).toBeGreaterThan(longestComment - 6_000);
    expect(comment.match(/<!-- sluice-plan -->/g)).toHaveLength(1);
    expect(comment.match(/^### Sluice: (\w+): main /gm)).toEqual(
      ["staging", "small", "production"].map((name) => `### Sluice: ${name}: main `),
    );
    for (const section of comment.split("### Sluice: ").slice(1)) expect(detailsIn(section)).toBeGreaterThan(0);
    expect(comment.match(/^Left out, /gm)).toHaveLength(2);
    expect(comment.match(/^<\/details>$/gm)).toHaveLength(detailsIn(comment));
  });

  test("of one huge diff is cut between lines, with all fences closed", () => {
    const comment = markdownOf(
      reportBetween([{ id: "orders", expression: lines("old") }], [{ id: "orders", expression: lines("new") }]),
    );
    expect(comment.length).toBeLessThan(40_000);
    expect(comment).toMatch(/^… \d+ more lines$/m);
    expect((comment.match(/^`{3,}/gm) ?? []).length % 2).toBe(0);
  });

  test("of hundreds of errors keeps room for the changes", () => {
    const broken = Object.fromEntries(ids.map((id) => [`${id}.yaml`, "version: v3\npipeline_id: ["]));
    const comment = markdownOf(reportBetween([{ id: "orders" }], [{ id: "orders", expression: "id > 1" }, broken]));
    expect(comment.length).toBeLessThanOrEqual(longestComment);
    const left = leftOut(comment);
    expect((comment.match(/ YAML_SYNTAX: /g)?.length ?? 0) + (left["error"] ?? 0)).toBe(count);
    expect(comment).toContain("<details><summary><code>orders</code>: update (rows)</summary>");
  });

  test("with nothing to say is short", () => {
    const comment = markdownOf(reportBetween([{ id: "orders" }], [{ id: "orders" }]));
    expect(comment).toBe(
      `${marker}\n\n### Sluice: main (000000000000) to the files as they are: 1 unchanged\n\nNothing that runs changes.\n`,
    );
  });
});

test("a text of a file opens no markup and mentions nobody", () => {
  const report = reportBetween([], [{ id: "orders" }]);
  const evil = "</details><script>x</script> ![x](https://evil.test) @everyone #12 ```\n| a | **b**";
  const change: ReportedChange = {
    ...report.changes[0]!,
    reason: evil,
    fields: [{ path: "name", effect: "hot", events: "same", to: evil }],
  };
  const shown: PlanReport = { ...report, changes: [change] };
  const comment = markdownOf(shown);
  const outside = comment.replaceAll(/^(`{3,})\w*\n[^]*?^\1$/gm, "");
  expect(outside).not.toMatch(/<script|!\[|@everyone|(?<!&)#12|\*\*b\*\*|```/);
  expect(comment.match(/^<\/details>$/gm)).toHaveLength(1);
});

test("a mention and the number of an issue are shown as they are written, and are neither", () => {
  expect(inline("@acme/ops says #12 & <b>#</b>")).toBe("&#64;acme/ops says &#35;12 &amp; &lt;b>#&lt;/b>");
});
