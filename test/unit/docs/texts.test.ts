import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { waysOut } from "../../../engine/core/pause.ts";
import { leftOut } from "../../support/texts/exempt.ts";
import { told } from "../../support/texts/page.ts";
import { pauseSections } from "../../support/texts/pause-cases.ts";
import {
  engineSources,
  folderOf,
  placeOf,
  quietFiles,
  rooms,
  spokenSentences,
  unmet,
} from "../../support/texts/rooms.ts";
import { holds, named, sentencesOf } from "../../support/texts/sentences.ts";

const all = told();
const sentences = spokenSentences();

test("the page is what the code says now: else run `npm run schemas`", async () => {
  expect((await all).page).toBe(readFileSync("docs/reference/dead-letters-and-pauses.md", "utf8"));
});

test("each sentence of the rooms that speak is in a text, or left out with a reason: else add a case in test/support/texts", async () => {
  const { texts } = await all;
  expect(sentences.length).toBeGreaterThan(400);
  expect(unmet(sentences, texts).filter((one) => !leftOut.includes(one))).toEqual([]);
});

test("no sentence is left out that a text holds, or that is gone", async () => {
  const { texts } = await all;
  const missing = unmet(sentences, texts);
  expect(leftOut.filter((one) => !missing.includes(one))).toEqual([]);
});

test("each folder of the engine speaks, or it is said why it does not", () => {
  const folders = [...new Set(engineSources().map(folderOf))];
  expect(Object.keys(rooms).toSorted()).toEqual(folders.toSorted());
  expect(engineSources()).toEqual(expect.arrayContaining(Object.keys(quietFiles)));
});

test("each reason of a dead letter and each class of a pause is on the page", async () => {
  const { letters } = await all;
  const table = readFileSync("docs/operations.md", "utf8").split("## Dead letters")[1]!.split("```")[0]!;
  const reasons = [...table.matchAll(/^\| `(\w+?_?)(?:<NAME>)?` /gm)].map(([, reason = ""]) => reason);
  expect(reasons.length).toBeGreaterThan(4);
  for (const reason of reasons)
    expect(
      letters.some((letter) => letter.reason.startsWith(reason)),
      reason,
    ).toBe(true);
  expect(pauseSections.map((section) => section.class).toSorted()).toEqual(Object.keys(waysOut).toSorted());
});

const names = (source: string): string[] => sentencesOf(source).map(named);

describe("a sentence of a source", () => {
  test.each([
    ["in a text", 'const a = "the disk is full";', ["the disk is full"]],
    ["in a template, with its values left out", "const a = `field ${name} is ${kind(a)}`;", ["field … is …"]],
    [
      "in the value of a template",
      'const a = `expected ${isOne ? "one value" : `at most ${most} values`}`;',
      ["expected …", "one value", "at most … values"],
    ],
    ["with a quote in it", String.raw`const a = "a \"b c\" of it";`, ['a "b c" of it']],
    ["after a pattern with a quote", 'const a = /["`]/.test(b) ? "no quote here" : "";', ["no quote here"]],
    ["and not in a comment", '/** "a b c" */ // `d e f`\nconst a = 1;', []],
    ["and no single word", 'const a = ["one", `two-${b}`];', []],
    ["and no raw template", "const a = String.raw`a b c`;", []],
  ])("is found %s", (_title, source, expected) => {
    expect(names(source).toSorted()).toEqual(expected.toSorted());
  });

  test("is held by a text that has its parts in their order", () => {
    const [sentence] = sentencesOf("const a = `field ${name} is ${kind}`;");
    expect(holds("the field n is int", sentence!)).toBe(true);
    expect(holds("is field n", sentence!)).toBe(false);
  });

  test("that no case makes is found with its place", () => {
    const planted = { path: "event/planted.ts", ...sentencesOf('const a = "nobody says this";')[0]! };
    expect(unmet([planted], ["expected a JSON object"])).toEqual([placeOf(planted)]);
  });
});
