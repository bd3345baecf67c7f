import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const rows = readFileSync("docs/delivery-guarantees.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("|") && !/^\| (-+|fault) /.test(line));

/** What shows a row: its column `how`. */
function howOf(row: string): string {
  return row.split(" | ").at(-2)!.trim();
}

/** Folders whose tests meet real parts. */
const meetsRealParts = /^test\/(?:conformance|e2e|faults|integration|security)\//;

/** The test files that a row of the page names, and what it says beside them. */
function shownBy(row: string): { files: string[]; text: string } {
  const text = row.split(" | ").at(-1)!;
  return { files: text.match(/test\/[\w./-]+\.ts/g) ?? [], text };
}

/** A call of `test` or `describe` from its line to the one that closes it, by their indentation. */
const calls = /^( *)(test|describe)\b[^\n]*(?:;$|\n(?:\1 [^\n]*\n|\n|\1[)\]}]+[^;\n]*\n)*?\1[)\]}]+[^\n]*;$)/gm;
const restTag = `tags: ["rest"]`;

/** Whether `npm test` runs a test of the text, which has the format of this repository. */
function isRunAtEachPush(text: string): boolean {
  if (text.startsWith("/** @module-tag rest")) return false;
  // A test that a function makes has no tag of its own file.
  if (!text.includes(restTag)) return true;
  return [...text.matchAll(calls)].some(([call, indentation = "", kind]) => {
    if (kind === "test") return !call.includes(restTag);
    const body = call.slice(call.indexOf("\n", indentation.length) + 1);
    const own = call.replaceAll(new RegExp(`(?<=\\n)${calls.source.replace("( *)", `(${indentation}  +)`)}`, "gm"), "");
    return !own.includes(restTag) && isRunAtEachPush(body);
  });
}

function isLeftOut(file: string): boolean {
  return !isRunAtEachPush(readFileSync(file, "utf8"));
}

test("every promise names tests that are there, or says that nothing shows it", () => {
  expect(rows.length).toBeGreaterThan(30);
  for (const row of rows) {
    const { files, text } = shownBy(row);
    expect(
      files.filter((file) => !existsSync(file)),
      row,
    ).toEqual([]);
    expect(files.length > 0 || text.includes("not "), row).toBe(true);
  }
});

test("a promise is run where a test meets real parts, argued where none shows it, else modelled", () => {
  for (const row of rows) {
    const { files } = shownBy(row);
    const ways = {
      run: files.some((file) => meetsRealParts.test(file)),
      modelled: files.length > 0,
      argued: files.length === 0,
    };
    expect(ways, row).toMatchObject({ [howOf(row)]: true });
  }
});

test("every promise is shown by `npm test`, and not by the rest of the tests alone", () => {
  const named = rows.filter((row) => shownBy(row).files.length > 0);
  expect(named.filter((row) => shownBy(row).files.every(isLeftOut))).toEqual([]);
});

function inDescribe(head: string, text: string): string {
  return `describe("c", ${head}() => {\n${text.replaceAll(/^(?=.)/gm, "  ")}});\n`;
}

describe("a file of tests that `npm test` leaves out", () => {
  const tagged = `test("a", { tags: ["rest"] }, async () => {\n  await a();\n});\n`;
  const untagged = `test("b", () => {\n  b();\n});\n`;

  test.each([
    ["as a whole", `/** @module-tag rest */\n${untagged}`, false],
    ["test by test", tagged + tagged, false],
    ["but for one test", tagged + untagged, true],
    ["but for a test in one line", `${tagged}test("d", () => d());\n`, true],
    ["but for a table of tests", `${tagged}test.each([\n  ["e", (e) => e()],\n])("%s", (e) => {\n  e();\n});\n`, true],
    ["with a table", `test.each([\n  ["e", (e) => e()],\n])("%s", { tags: ["rest"] }, (e) => {\n  e();\n});\n`, false],
    ["group by group", inDescribe(`{ tags: ["rest"] }, `, untagged), false],
    ["test by test in a group", inDescribe("", tagged), false],
    ["but for a test in a group", inDescribe("", tagged + untagged), true],
    ["but for a test in a group in a group", inDescribe("", tagged + inDescribe("", untagged)), true],
  ])("%s", (_title, text, isRun) => {
    expect(isRunAtEachPush(text)).toBe(isRun);
  });
});
