import { readdirSync, readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { load, loadAll } from "js-yaml";
import { describe, expect, test } from "vitest";
import { editorSchema, editorSchemaOfTests } from "../../../schemas/index.ts";
import { joinPipeline, kafkaPipeline } from "../../support/pipeline-file.ts";

const ajv = new Ajv({ strict: false, allErrors: true });
const accepts = ajv.compile(editorSchema());
const acceptsTests = ajv.compile(editorSchemaOfTests());

type Key = string | number;

/** The places of all values in a document that hold no other ones. */
function leavesOf(value: unknown, path: Key[] = []): Key[][] {
  if (typeof value !== "object" || value === null) return [path];
  const entries: [Key, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, held]) => leavesOf(held, [...path, key]));
}

/** The document with another value at a place. */
function withValue(document: unknown, [key, ...rest]: readonly Key[], value: unknown): unknown {
  if (key === undefined) return value;
  const held = (document as Record<Key, unknown>)[key];
  const changed = withValue(held, rest, value);
  return Array.isArray(document) ? document.with(key as number, changed) : { ...(document as object), [key]: changed };
}

test("the schema of editors accepts every pipeline and every test of the examples", () => {
  const examples = readdirSync("examples", { recursive: true, encoding: "utf8" })
    .filter((path) => /pipelines\/.*\.ya?ml$/.test(path))
    .map((path) => `examples/${path}`);
  expect(examples.length).toBeGreaterThan(20);
  const refused = examples.flatMap((path) => {
    const check = path.includes(".test.") ? acceptsTests : accepts;
    return loadAll(readFileSync(path, "utf8")).flatMap((document) =>
      check(document) ? [] : (check.errors ?? []).map(({ instancePath }) => `${path}: ${instancePath}`),
    );
  });
  expect(refused).toEqual([]);
});

describe("a variable stands for", () => {
  const directives = [
    "x-sluice:",
    "  state: Running",
    "  prune: true",
    "  depends_on: [orders-us]",
    "  start: earliest",
    "  drift: report",
    "resources:",
    "  sink: { replicas: 2 }",
    "",
  ];

  test.each<[string, string]>([
    ["a pipeline of Kafka", kafkaPipeline + directives.join("\n")],
    ["a join", joinPipeline],
  ])("each value of %s but for what says what the document is", (_title, text) => {
    const document = load(text);
    expect(accepts(document)).toBe(true);
    const leaves = leavesOf(document);
    expect(leaves.length).toBeGreaterThan(20);
    const refused = leaves.filter((path) => !accepts(withValue(document, path, "${var:X}")));
    expect(new Set(refused.map((path) => path.at(-1)))).toEqual(new Set(["version", "pipeline_id", "type"]));
  });

  const pipeline = load(kafkaPipeline);

  test.each<[string, Key[], unknown, boolean]>([
    ["a list of texts", ["sources", 0, "connection_params", "brokers"], "${var:BROKERS}", true],
    ["a part of a text with a pattern", ["sink", "connection_params", "port"], "9${var:PORT}", true],
    ["a part of a number", ["sink", "max_batch_size"], "1${var:ZEROS}", false],
    ["a list of mappings", ["sink", "mapping"], "${var:MAPPING}", false],
    ["a number, with no name", ["sink", "max_batch_size"], "${var:}", false],
    ["a number, as a reference to a secret", ["sink", "max_batch_size"], "${env:BATCH}", false],
    ["nothing: a number is a number", ["sink", "max_batch_size"], 500, true],
    ["nothing: a word is none", ["sink", "max_batch_size"], "many", false],
  ])("%s", (_title, path, value, isGood) => {
    expect(accepts(withValue(pipeline, path, value))).toBe(isGood);
  });
});
