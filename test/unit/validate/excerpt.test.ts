import { describe, expect, test } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import { excerptsOf } from "../../../reconciler/language/excerpt.ts";
import { problem, type Problem } from "../../../reconciler/language/problem.ts";
import { textReport } from "../../../reconciler/validate/formats/text.ts";
import { changedIn, fileOf, goodPipeline, kafkaPipeline } from "../../support/pipeline-file.ts";

/** What the excerpt of line and column looks like; undefined where there is none. */
function excerptAt(text: string, line: number, column: number, path = "orders.yaml"): string | undefined {
  const one = at(path, line, column);
  const found = excerptsOf([fileOf(text, path)], [one]).get(one);
  return found && `${found.text}\n${" ".repeat(found.before)}^`;
}

function at(file: string, line: number, column: number): Problem {
  return problem("TYPE", { file, line, column }, { expected: "a", found: "b" });
}

const canary = "hunter2";

describe("the line of a problem is shown, with a caret below its place", () => {
  test.each([
    ["a value", "version: v3\npipeline_id: X\n", 2, 14, "pipeline_id: X\n             ^"],
    ["a value in quotes", 'version: v3\npipeline_id: "X"\n', 2, 14, 'pipeline_id: "X"\n             ^'],
    ["an entry of a list", "sources:\n  - type: web\n", 2, 11, "  - type: web\n          ^"],
    [
      "a mapping in braces",
      "sink: { type: a, table: b }\n",
      1,
      25,
      "sink: { type: a, table: b }\n                        ^",
    ],
    ["a tab", 'name: "a\tb"\n', 1, 7, 'name: "a b"\n      ^'],
    [
      "JSON",
      '{ "version": "v3", "name": "b" }',
      1,
      28,
      '{ "version": "v3", "name": "b" }\n                           ^',
      "a.json",
    ],
  ])("of %s", (_, text, line, column, shown, path = "orders.yaml") => {
    expect(excerptAt(text, line, column, path)).toBe(shown);
  });

  test("the part around it of a long line", () => {
    const text = `name: ${"x".repeat(500)}\n`;
    expect(excerptAt(text, 1, 300)).toBe(`…${"x".repeat(120)}…\n${" ".repeat(61)}^`);
  });

  test("in the text of the command", () => {
    const file = fileOf(changedIn(goodPipeline, "amount > 0", "amont > 0"));
    const { problems } = load([file]);
    expect(textReport({ problems, files: [file.path], excerpts: excerptsOf([file], problems) })).toContain(
      "error EXPRESSION: ",
    );
    expect(textReport({ problems, files: [file.path], excerpts: excerptsOf([file], problems) })).toContain(
      "\n  13 |       expression: amont > 0\n     |                   ^\n",
    );
  });
});

describe("no excerpt shows", () => {
  test.each([
    [
      "a secret",
      `sink: { connection_params: { password: ${canary}, host: h } }`,
      "sink: { connection_params: { password: …, host: h } }",
    ],
    [
      "a secret in quotes with a comma",
      `sink: { connection_params: { password: "${canary}, a", host: h } }`,
      "sink: { connection_params: { password: …, host: h } }",
    ],
    ["the value of an unknown key", `pasword: ${canary}`, "pasword: …"],
    ["a mapping below an unknown key", `headers: { name: ${canary} }`, "headers: { name: …"],
    ["a text where a mapping is expected", `sink: clickhouse://u:${canary}@h/`, "sink: …"],
    ["a comment", `name: a # ${canary}`, "name: a"],
    [
      "an anchor that a secret refers to",
      `{ name: &a ${canary}, sink: { connection_params: { password: *a } } }`,
      "{ name: …",
    ],
  ])("%s", (_, text, shown) => {
    const excerpt = excerptAt(`${text}\n`, 1, 1) ?? "";
    expect(excerpt).not.toContain(canary);
    expect(excerpt.split("\n")[0]).toContain(shown);
  });

  test.each([
    ["the key of the format alone", `name: "${canary}\nsink: a: b\n`, 1, "name: …\n^"],
    ["nothing of another line", `foo: "${canary}\nsink: a: b\n`, 1, undefined],
  ])("more of a file that cannot be parsed than %s", (_, text, line, shown) => {
    expect(excerptAt(text, line, 1)).toBe(shown);
  });

  test("a secret of a file that was damaged at any place", () => {
    const text = changedIn(
      kafkaPipeline.replaceAll(/\$\{env:\w+\}/g, canary),
      "sink:\n",
      `x-note: &note ${canary}\nsink:\n`,
      "host: clickhouse",
      `host: clickhouse # ${canary}`,
      "  table: orders\n",
      `  table: orders\n  private: |\n    ${canary}\n    name: ${canary}\n`,
    );
    const whole = [...text.split("\n").keys()].flatMap((line) => [
      at("a.yaml", line + 1, 1),
      at("a.yaml", line + 1, 30),
    ]);
    const damages = ["", ":", '"', "{", "]", "\t", "\n", "- ", "#", "&a ", "*a"];
    let shown = 0;
    for (let index = 0; index < text.length; index += 19) {
      const damaged = text.slice(0, index) + damages[index % damages.length] + text.slice(index + (index % 3));
      const excerpts = excerptsOf([fileOf(damaged, "a.yaml")], whole);
      for (const { text: line } of excerpts.values()) expect(line, damaged).not.toContain(canary);
      shown += excerpts.size;
    }
    expect(shown).toBeGreaterThan(500);
  });
});

test("files with errors come first where there are too many files", () => {
  const files = Array.from({ length: 250 }, (_, index) => fileOf("version: v3\n", `f${index}.yaml`));
  const problems = files.map(({ path }, index) => ({
    ...at(path, 1, 1),
    ...(index < 249 && { severity: "warning" as const }),
  }));
  const excerpts = excerptsOf(files, problems);
  expect(excerpts.size).toBe(200);
  expect(excerpts.has(problems[249]!)).toBe(true);
});

test.each([
  [
    "an anchor that is repeated very often",
    `a: &a [1,2,3,4,5,6,7,8,9,0]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nname: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
  ],
  ["a very long line", `tags: [${"a, ".repeat(30_000)}a]\n`],
  ["a very long line that cannot be parsed", `name: [${"a: ".repeat(30_000)}\n`],
])("%s costs a hundred problems on its line little more than one", (_, text) => {
  const problems = Array.from({ length: 100 }, (_one, column) => at("a.yaml", 1, column + 1));
  const costOf = (some: readonly Problem[]): number => {
    const before = process.cpuUsage();
    excerptsOf([fileOf(text, "a.yaml")], some);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  // What is compiled at the first call counts for the one.
  const one = costOf(problems.slice(0, 1));
  expect(costOf(problems)).toBeLessThan(20 * one);
});

test("two files of one name have no excerpt, as it is not known which is meant", () => {
  const one = at("a.yaml", 1, 1);
  expect(excerptsOf([fileOf("name: a\n", "a.yaml"), fileOf("name: b\n", "a.yaml")], [one]).size).toBe(0);
});
