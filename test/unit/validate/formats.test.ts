import { readFileSync, readdirSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { validateXML } from "xmllint-wasm";
import { validate } from "../../../reconciler/desired/load.ts";
import { codes } from "../../../reconciler/language/codes.ts";
import { excerptsOf } from "../../../reconciler/language/excerpt.ts";
import { problem, type Problem } from "../../../reconciler/language/problem.ts";
import type { SourceFile } from "../../../reconciler/language/source-text.ts";
import { format } from "../../../reconciler/validate/formats/format.ts";
import type { Report } from "../../../reconciler/validate/formats/report.ts";
import { settings } from "../../../reconciler/cli/invocation/settings-table.ts";
import { formats } from "../../../reconciler/validate/formats/format.ts";
import { changed, fileOf, goodPipeline } from "../../support/pipeline-file.ts";

const published = (name: string) => readFileSync(`test/support/published/${name}`, "utf8");
const golden = readdirSync("test/golden/validate").filter((name) => name.endsWith(".yaml"));

/** Names and values that try to break out of each format. */
const hostileName = "team/a]]>&<b>\"'%0A,x:y::error::z \u0001`|[k](https://evil.example)\ud800.yaml";
const hostile = goodPipeline.replace(
  "orders-eu",
  "'</failure>]]>&amp; `<script>` ::error::x ##[error]y @all [a](http://b)'",
);

const files = [
  ...golden.map((name) => fileOf(readFileSync(`test/golden/validate/${name}`), name)),
  fileOf(goodPipeline, "good file.yaml"),
  fileOf(hostile, hostileName),
  fileOf("a: [\n", "folder/broken.yaml"),
];

function reportOn(given: readonly SourceFile[], root?: string): Report {
  const problems = validate(given);
  const report = { problems, files: given.map(({ path }) => path), excerpts: excerptsOf(given, problems) };
  return root === undefined ? report : { ...report, root };
}

const all = reportOn(files);

/** As many problems as are asked for, in files of ten. */
function many(count: number, code: Problem["code"] = "TYPE"): Problem[] {
  return Array.from({ length: count }, (_, index) =>
    problem(
      code,
      { file: `f${Math.floor(index / 10)}.yaml`, line: index + 1, column: 1 },
      {
        path: ["sink", "table"],
        expected: "a text",
        found: "a list",
      },
    ),
  );
}

const sarifOf = (report: Report) => JSON.parse(format(report, "sarif"));

const checkJunit = async (xml: string) =>
  validateXML({ xml: { fileName: "junit.xml", contents: xml }, schema: published("junit-10.xsd") });

const entriesOf = (report: Report): { fingerprint: string; description: string }[] =>
  JSON.parse(format(report, "gitlab"));

/** The lines that a runner takes as commands: outside of what is between the two stop marks. */
function commandsIn(text: string): string[] {
  const [before = "", token = "", log = ""] = /^([^]*)::stop-commands::(\w+)\n([^]*)$/.exec(text)?.slice(1) ?? [];
  const [inside, after, ...more] = log.split(`\n::${token}::\n`);
  expect([inside, after, more]).toEqual([expect.any(String), "", []]);
  return before.trimEnd().split("\n");
}

test("the setting names every format", () => {
  expect(settings.find(({ name }) => name === "validate_format")?.enum).toEqual(formats);
});

describe("sarif", () => {
  test("keeps the published schema, which refuses what is wrong", { tags: ["rest"] }, () => {
    const check = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(
      JSON.parse(published("sarif-schema-2.1.0.json")),
    );
    for (const report of [all, { problems: [], files: [] }]) {
      expect(check(sarifOf(report)), JSON.stringify(check.errors)).toBe(true);
    }
    const wrong = sarifOf(all);
    wrong.runs[0].results[0].level = "fatal";
    expect(check(wrong)).toBe(false);
  });

  test("every code is a rule with a help text, and a result names its rule", () => {
    const [run] = sarifOf(all).runs;
    expect(run.tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual(Object.keys(codes));
    for (const { help } of run.tool.driver.rules) expect(help.text.length).toBeGreaterThan(20);
    expect(run.results.length).toBe(all.problems.length);
    for (const { ruleId, ruleIndex } of run.results) expect(run.tool.driver.rules[ruleIndex].id).toBe(ruleId);
  });

  test("paths are URIs relative to the root, and text is no link", () => {
    const file = fileOf(hostile, "/repo/a b/50%.yaml");
    const [result] = sarifOf(reportOn([file], "/repo")).runs[0].results;
    expect(result.locations[0].physicalLocation.artifactLocation.uri).toBe("a%20b/50%25.yaml");
    expect(result.message.text).not.toContain("](");
  });

  test("has at most as many results as GitHub takes, the errors first", { tags: ["rest"] }, () => {
    const { results } = sarifOf({ problems: [...many(25_000, "BATCH"), ...many(3)], files: [] }).runs[0];
    expect(results).toHaveLength(25_000);
    expect(results.slice(0, 4).map(({ level }: { level: string }) => level)).toEqual([
      "error",
      "error",
      "error",
      "warning",
    ]);
  });
});

describe("junit", () => {
  test.each([
    ["problems of every kind", all],
    ["no file", { problems: [], files: [] }],
  ])("%s keep the published schema", async (_, report) => {
    expect(await checkJunit(format(report, "junit"))).toMatchObject({ valid: true, errors: [] });
  });

  test("the schema refuses what is wrong", async () => {
    expect((await checkJunit(format(all, "junit").replace("<failure ", "<fault "))).valid).toBe(false);
  });

  test("has a test for each file, failed where the file has an error", () => {
    const xml = format(reportOn([fileOf(goodPipeline, "a.yaml"), fileOf("version: v1\n", "b.yaml")]), "junit");
    expect(xml).toContain('<testsuite name="sluice validate" tests="2" failures="1" errors="0" skipped="0">');
    expect(xml).toContain('<testcase name="a.yaml" classname="sluice.validate"/>');
    expect(xml.match(/<failure type="VERSION"/g)).toHaveLength(1);
  });

  test("a warning is output of a test that passes", () => {
    const xml = format({ problems: many(1, "BATCH"), files: ["f0.yaml"] }, "junit");
    expect(xml).toContain('failures="0"');
    expect(xml).toContain("<system-out>f0.yaml:1:1: warning BATCH");
  });
});

describe("gitlab", () => {
  const check = new Ajv().compile(JSON.parse(published("gitlab-code-quality.schema.json")));
  test.each([
    ["problems of every kind", all],
    ["no problem", { problems: [], files: [] }],
  ])("%s keep the schema", (_, report) => {
    expect(check(entriesOf(report)), JSON.stringify(check.errors)).toBe(true);
  });

  test("fingerprints are different", () => {
    const prints = entriesOf({ ...all, problems: [...all.problems, ...many(100)] }).map(
      ({ fingerprint }) => fingerprint,
    );
    expect(new Set(prints).size).toBe(prints.length);
  });

  test.each([
    ["lines above it", `# A comment\n\n${changed("type: int64", "type: int46")}`],
    ["another wrong value", changed("type: int64", "type: int47")],
  ])("a fingerprint stays after %s", (_, text) => {
    const before = entriesOf(reportOn([fileOf(changed("type: int64", "type: int46"))]));
    const now = entriesOf(reportOn([fileOf(text)]));
    expect(before.length).toBeGreaterThan(0);
    expect(now.map(({ fingerprint }) => fingerprint)).toEqual(before.map(({ fingerprint }) => fingerprint));
  });

  test("a fingerprint is the same by a path from the root", () => {
    const relative = entriesOf(reportOn([fileOf("version: v1\n", "a.yaml")], "/repo"));
    expect(entriesOf(reportOn([fileOf("version: v1\n", "/repo/a.yaml")], "/repo"))).toEqual(relative);
  });
});

describe("github", () => {
  test("each problem is an annotation while there are few", () => {
    const found = commandsIn(format({ problems: many(2), files: ["f0.yaml"] }, "github"));
    expect(found).toEqual([
      "::error file=f0.yaml,line=1,col=1,title=TYPE::sink.table: expected a text, got a list",
      "::error file=f0.yaml,line=2,col=1,title=TYPE::sink.table: expected a text, got a list",
    ]);
  });

  test("no more than GitHub shows of each kind, with a notice that counts the problems", () => {
    const problems = [...many(25), ...many(12, "BATCH"), ...many(30, "NO_EFFECT")];
    const found = commandsIn(format({ problems, files: [] }, "github"));
    const count = (name: string) => found.filter((line) => line.startsWith(`::${name} `)).length;
    expect([count("error"), count("warning"), count("notice"), found.length]).toEqual([10, 10, 10, 30]);
    expect(found.at(-1)).toBe(
      "::notice title=sluice validate::25 errors, 12 warnings, 30 notes in 3 files, of which 29 are annotations: GitHub shows at most 10 of a kind. The log of this step has all of them.",
    );
  });

  test("the log has every problem, and the summary", () => {
    const text = format({ problems: many(25), files: ["a.yaml"] }, "github");
    expect(text.match(/^f\d\.yaml:\d+:1: error TYPE: /gm)).toHaveLength(25);
    expect(text).toContain("1 file checked: 25 errors, 0 warnings");
  });

  test("names and values are no commands", () => {
    const name = "x,line=9::error::y%0A.yaml";
    const found = commandsIn(format(reportOn([fileOf(hostile, name)]), "github"));
    for (const line of found)
      expect(line).toMatch(
        /^::(error|warning|notice) file=x%2Cline=9%3A%3Aerror%3A%3Ay%250A\.yaml,line=\d+,col=\d+,title=[A-Z_]+::/,
      );
  });
});

describe("markdown", () => {
  test("begins with the mark of its tool and the counts", () => {
    const [mark, counts] = format(all, "markdown").split("\n");
    expect(mark).toBe("<!-- sluice validate -->");
    expect(counts).toMatch(/^\*\*sluice validate\*\*: \d+ files checked: \d+ errors, \d+ warnings/);
  });

  test.each([300, 5_000])("%i problems fit into a comment, cut between two of them, the errors first", (count) => {
    const text = format({ problems: [...many(count, "BATCH"), ...many(count)], files: [] }, "markdown");
    expect(text.length).toBeLessThanOrEqual(65_535);
    const shown = text.match(/^- ` /gm)!.length;
    expect(text.match(/^ {2}` sink\.table: expected a text, got a list `$/gm)).toHaveLength(shown);
    if (shown === 2 * count) return expect(text).not.toContain("Not shown");
    expect(shown).toBeGreaterThan(500);
    expect(text).toContain(`Not shown, as a comment has its limit: ${Math.max(0, count - shown)} errors,`);
  });

  test("text of files stays within code", () => {
    const text = format(reportOn([fileOf(hostile, hostileName)]), "markdown");
    const outside = text.replaceAll(/(`+)[^`](?:[^]*?[^`])?\1(?!`)/g, "");
    expect(text).toContain("<script>");
    expect(outside).not.toMatch(/<script>|@all|\]\(http/);
  });
});
