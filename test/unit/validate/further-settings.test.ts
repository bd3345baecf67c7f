import { expect, test } from "vitest";
import { consumerGroup } from "../../../engine/index.ts";
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

test("a group to adopt is one of a topic, and not the pipeline's own", () => {
  const adopting = (text: string, group: string, more = ""): string =>
    `${text}x-sluice: { ${more}sources: { ${sourceOf(text)}: { adopt_group: ${group} } } }\n`;
  const before = codesOf(kafkaPipeline);
  expect(codesOf(adopting(kafkaPipeline, "loader"))).toEqual(before);
  const path = `x-sluice.sources.${sourceOf(kafkaPipeline)}.adopt_group`;
  expect(codesOf(adopting(kafkaPipeline, "loader", "consumer_group: loader, "))).toEqual([...before, `VALUE ${path}`]);
  const own = consumerGroup(/pipeline_id: (\S+)/.exec(kafkaPipeline)![1]!);
  expect(codesOf(adopting(kafkaPipeline, own))).toEqual([...before, `VALUE ${path}`]);
  expect(codesOf(adopting(goodPipeline, "loader")).join()).toContain("UNUSED x-sluice.sources.");
  expect(codesOf(`${goodPipeline}x-sluice: { consumer_group: loader }\n`)).toContain("UNUSED x-sluice.consumer_group");
});

test("a setting that there is not is named", () => {
  const wrong = settings(sourceOf(kafkaPipeline)).replace("on_tombstone", "on_tombstones");
  expect(codesOf(kafkaPipeline + wrong).join()).toContain("UNKNOWN_KEY");
});
