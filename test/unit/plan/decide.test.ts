import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folders = ["reconciler/plan/decide", "reconciler/plan/costs"];
const sources = folders.flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`));

/** Texts of a file, without comments and imports, that have words in them: such as `it is new`. */
function sentencesIn(source: string): string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^(?:im|ex)port .* from .*$/gm, "");
  const texts = code.match(/"[^"\n]*"|`[^`]*`/g) ?? [];
  return texts.filter((text) => /[\p{L}}] [\p{L}$]/u.test(text));
}

test.each(sources)("%s decides, and makes no sentence", (file) => {
  // Names of entries in a list, such as `dedup of input`, are facts.
  expect(sentencesIn(readFileSync(file, "utf8"))).toEqual([]);
});

test("a planted sentence is found", () => {
  expect(sentencesIn('/** It is new. */\nconst why = "it is new";')).toEqual(['"it is new"']);
  expect(sentencesIn("const why = `${path} changed`;")).toEqual(["`${path} changed`"]);
});
