import { describe, expect, test } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import { fileOf, goodPipeline, joinPipeline, kafkaPipeline, otlpPipeline } from "../../support/pipeline-file.ts";

/** Every text of a file in turn replaced by `word`: what looks a value up by a text must not find what objects inherit. */
function* replacedBy(word: string, text: string): Generator<string> {
  for (const { index, 0: whole, 1: key } of text.matchAll(/(\w+:) *[^\s{}[\],]+/g)) {
    yield `${text.slice(0, index)}${key} ${word}${text.slice(index + whole.length)}`;
    yield `${text.slice(0, index)}${word}:${whole.slice(key!.length)}${text.slice(index + whole.length)}`;
  }
}

describe.each([
  ["webhook", goodPipeline],
  ["kafka", kafkaPipeline],
  ["join", joinPipeline],
  ["otlp", otlpPipeline],
])("the %s pipeline with a name that objects inherit in each place", (_title, text) => {
  const check = (word: string): void => {
    let files = 0;
    for (const content of replacedBy(word, text)) {
      for (const { line, column, message } of load([fileOf(content)]).problems) {
        expect(line * column).toBeGreaterThan(0);
        expect(message).not.toMatch(/\[native code\]|\[object|undefined/);
      }
      files += 1;
    }
    expect(files).toBeGreaterThan(20);
  };

  test("__proto__", () => check("__proto__"));

  test("constructor", { tags: ["rest"] }, () => check("constructor"));
});
