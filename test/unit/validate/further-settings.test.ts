import { expect, test } from "vitest";
import { validate } from "../../../reconciler/desired/load.ts";
import { fileOf, goodPipeline, kafkaPipeline } from "../../support/pipeline-file.ts";

const codesOf = (text: string): string[] =>
  validate([fileOf(text, "a.yaml")]).map(({ code, path }) => `${code} ${path}`);

const settings = (source_id: string): string =>
  `x-sluice: { sources: { ${source_id}: { on_tombstone: dead_letter } } }\n`;

const sourceOf = (text: string): string => /source_id: ([\w-]+)/.exec(text)![1]!;

test("settings of a source name one of the file, and only a topic has tombstones", () => {
  const before = codesOf(kafkaPipeline);
  expect(codesOf(kafkaPipeline + settings(sourceOf(kafkaPipeline)))).toEqual(before);
  expect(codesOf(kafkaPipeline + settings("other"))).toEqual([...before, "SOURCE_REFERENCE x-sluice.sources.other"]);
  const id = sourceOf(goodPipeline);
  expect(codesOf(goodPipeline + settings(id))).toContain(`UNUSED x-sluice.sources.${id}.on_tombstone`);
});

test("a setting that there is not is named", () => {
  const wrong = settings(sourceOf(kafkaPipeline)).replace("on_tombstone", "on_tombstones");
  expect(codesOf(kafkaPipeline + wrong).join()).toContain("UNKNOWN_KEY");
});
