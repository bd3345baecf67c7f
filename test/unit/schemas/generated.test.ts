import { existsSync, readFileSync } from "node:fs";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { commandsReference } from "../../../reconciler/cli/reference.ts";
import { codesReference } from "../../../reconciler/validate/codes-reference.ts";
import { codes } from "../../../reconciler/language/codes.ts";
import { declarations } from "../../../schemas/declarations.ts";
import { canonicalDuration, canonicalSize, engineOptions, normalise, type PipelineV3 } from "../../../schemas/index.ts";
import { planReference } from "../../../schemas/plan-reference.ts";
import { reference } from "../../../schemas/reference.ts";
import { resolved, rootNode, type SchemaNode } from "../../../schemas/annotations.ts";
import { goodPipeline, kafkaPipeline } from "../../support/pipeline-file.ts";

const house = new URL("../../../", import.meta.url);
const pipelinePage = reference();
const codesPage = codesReference();
const committed = (path: string) => readFileSync(new URL(path, house), "utf8");

describe("what is generated is what its source gives", () => {
  test("pipeline-v3.d.ts: else run `npm run schemas`", { tags: ["rest"] }, async () => {
    expect(await declarations()).toBe(committed("schemas/pipeline-v3.d.ts"));
  });

  test("pipeline.md: else run `npm run schemas`", async () => {
    expect(await pipelinePage).toBe(committed("docs/reference/pipeline.md"));
  });

  test("plan-report.md: else run `npm run schemas`", { tags: ["rest"] }, async () => {
    expect(await planReference()).toBe(committed("docs/reference/plan-report.md"));
  });

  test("problem-codes.md: else run `npm run schemas`", async () => {
    expect(await codesPage).toBe(committed("docs/reference/problem-codes.md"));
  });

  test("commands.md: else run `npm run schemas`", { tags: ["rest"] }, async () => {
    expect(await commandsReference()).toBe(committed("docs/reference/commands.md"));
  });
});

/** Every field of the format that is no mapping or list of mappings, with its place. */
function* fieldsOf(node: SchemaNode, place: string): Iterable<[string, SchemaNode]> {
  const { properties = {}, items, oneOf = [] } = resolved(node);
  for (const [key, field] of Object.entries(properties)) yield* fieldsOf(field, `${place}.${key}`);
  for (const variant of oneOf) yield* fieldsOf(variant, place);
  if (items !== undefined) yield* fieldsOf(items, `${place}[]`);
  const holds = items === undefined ? {} : resolved(items);
  if (Object.keys(properties).length === 0 && !holds.properties && !holds.oneOf && oneOf.length === 0 && place !== "")
    if (!place.endsWith("[]")) yield [place, resolved(node)];
}

const fields = [...fieldsOf(rootNode, "")];

test("the reference tells every field in a table, with an example", async () => {
  const text = await pipelinePage;
  expect(fields.length).toBeGreaterThan(100);
  for (const [place, field] of fields) {
    const row = new RegExp(`^\\| \`${place.split(".").at(-1)}\` .*\\|$`, "m");
    expect(text, place).toMatch(row);
    // Two are written by nobody.
    if (!/parsed_fields|otlp.*(schema_version|offset)|\.schema_version$|offset$/.test(place))
      expect(field.examples, place).toHaveLength(1);
  }
});

test("links of the generated pages lead somewhere", async () => {
  for (const [path, text] of [
    ["docs/reference/pipeline.md", await pipelinePage],
    ["docs/reference/problem-codes.md", await codesPage],
  ] as const) {
    const anchors = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id));
    for (const [, target = ""] of text.matchAll(/\]\(([^)]+)\)/g)) {
      if (target.startsWith("#")) expect(anchors, target).toContain(target.slice(1));
      else expect(existsSync(new URL(target, new URL(path, house))), target).toBe(true);
    }
  }
});

test("the codes page tells every code in one sentence", () => {
  for (const [code, { meaning }] of Object.entries(codes)) {
    expect(meaning, code).toMatch(/^[A-Z][^\n]*\.$/);
    expect(meaning.length, code).toBeLessThan(140);
  }
});

describe("a default of the schema is what is filled in", () => {
  const webhook = normalise(load(goodPipeline) as PipelineV3);
  const kafka = normalise(load(kafkaPipeline.replaceAll(/^ {6}(mechanism|username|password).*\n/gm, "")) as PipelineV3);
  const [source] = kafka.sources;
  const filled: Record<string, unknown> = {
    ".sources.consumer_group_initial_offset": source?.type === "kafka" && source.consumer_group_initial_offset,
    ".sources.schema_version": source?.type === "kafka" && source.schema_version,
    ".sources.format": source?.type === "kafka" && source.format,
    ".sources.connection_params.mechanism": source?.type === "kafka" && source.connection_params["mechanism"],
    ".sources.connection_params.skip_tls_verification":
      source?.type === "kafka" && source.connection_params["skip_tls_verification"],
    ".sink.connection_params.secure": webhook.sink.connection_params.secure,
    ".sink.connection_params.skip_certificate_verification":
      webhook.sink.connection_params.skip_certificate_verification,
    ".sink.max_batch_size": webhook.sink.max_batch_size,
    ".sink.max_delay_time": webhook.sink.max_delay_time,
    ".metadata.tags": webhook.metadata.tags,
    ".resources.nats.stream.max_age": webhook.resources.nats.stream.max_age,
    ".resources.nats.stream.max_bytes": webhook.resources.nats.stream.max_bytes,
    ".resources.transform.storage.size": kafka.resources.transform[0]?.storage?.size,
    ".join.type": "temporal",
    ...Object.fromEntries(
      Object.entries(engineOptions(load(goodPipeline) as PipelineV3)).map(([key, value]) => [
        `.x-sluice.${key}`,
        value,
      ]),
    ),
  };
  for (const component of ["sources", "transform", "sink"] as const) {
    const own = component === "sink" ? webhook.resources.sink : webhook.resources[component][0];
    filled[`.resources.${component}.replicas`] = own?.replicas;
    for (const amounts of ["requests", "limits"] as const)
      for (const kind of ["cpu", "memory"] as const)
        filled[`.resources.${component}.${amounts}.${kind}`] = own?.[amounts][kind];
  }

  test.each(Object.entries(filled))("%s", (place, value) => {
    const [, field] = fields.find(([path]) => path.replaceAll("[]", "") === place) ?? [];
    expect(field, place).toBeDefined();
    expect(canonical(place, field?.default)).toEqual(value);
  });
});

function canonical(place: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (/time|age$/.test(place)) return canonicalDuration(value);
  return /memory|bytes|size$/.test(place) ? canonicalSize(value) : value;
}
