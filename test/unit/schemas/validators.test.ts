import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";
import { compileFunction } from "node:vm";
import type { ValidateFunction } from "ajv";
import { expect, test } from "vitest";
import { load } from "js-yaml";
import { goodPipeline, kafkaPipeline } from "../../support/pipeline-file.ts";
import { parseAllDocuments } from "yaml";
import { isObject, parseDuration, parseQuantity } from "../../../schemas/index.ts";
import settings from "../../../schemas/sluice-config.schema.json" with { type: "json" };
import { codeOf } from "../../../schemas/validators/code.ts";
import { ownSchemas, schemaNames, schemas } from "../../../schemas/validators/ajv.ts";
import type { Formats, SchemaName } from "../../../schemas/validators/validators.ts";

const formats: Formats = {
  duration: (text) => parseDuration(text) !== undefined,
  size: (text) => parseQuantity(text) !== undefined,
  listener: (text) => text.includes(":"),
  moment: (text) => text.startsWith("2"),
};

/** The validator of the built program. */
function builtOf(name: SchemaName): ValidateFunction {
  const module = {} as { exports: (formats: Formats) => ValidateFunction };
  compileFunction(codeOf(name), ["module", "require"])(module, createRequire(import.meta.url));
  return module.exports(formats);
}

/** Not that of the process, which knows the true formats. */
function ajvOf(name: SchemaName): ValidateFunction {
  const { schema, options } = schemas[name];
  return ownSchemas({ ...options, formats }).compile(schema);
}

const inFolder = (folder: string): unknown[] =>
  readdirSync(folder)
    .filter((path) => path.endsWith(".yaml"))
    .flatMap((path) => parseAllDocuments(readFileSync(`${folder}/${path}`, "utf8"), { uniqueKeys: false }))
    .map((document) => document.toJS() as unknown);

const liveState = {
  at: "2026-01-05T10:00:00Z",
  owned: {},
  pipelines: [],
  under_way: [],
  interrupted: {},
  max_deletions: { count: 5 },
};

const pipelineTests = {
  pipeline_id: "orders",
  now: "2026-01-05T10:00:00Z",
  create: ["CREATE TABLE t (a Int8) ENGINE = Memory"],
  tests: [
    {
      name: "one",
      events: [{ after: "1h", event: { a: 1 } }, { text: "{}" }],
      expect: { rows: [{ a: 1 }], filtered: 1 },
    },
  ],
};

const strange = [null, -1, "", "1h", [], { "": 1 }];

/** The value, and it with each part in turn left out, strange, or beside one that is unknown. */
function* spoiled(value: unknown): Iterable<unknown> {
  yield* [value, ...strange];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const other of spoiled(item)) yield value.with(index, other);
  } else if (isObject(value)) {
    yield { ...value, unknown: 1 };
    for (const [key, item] of Object.entries(value)) {
      const { [key]: _left, ...others } = value;
      yield others;
      for (const other of spoiled(item)) yield { ...value, [key]: other };
    }
  }
}

const documents: Record<SchemaName, unknown[]> = {
  "pipeline-v3": [
    ...[goodPipeline, kafkaPipeline].flatMap((text) => [...spoiled(load(text))]),
    ...inFolder("test/golden/validate"),
  ],
  "pipeline-v2": inFolder("test/golden/migrate").flatMap((one) => [...spoiled(one)]),
  "pipeline-tests": [...spoiled(pipelineTests)],
  "live-state": [...spoiled(liveState)],
  "sluice-config": Object.entries<{ type: string | string[]; default?: unknown }>(settings.properties)
    .map(([name, { default: value }]) => ({ [name]: value ?? "1h" }))
    .flatMap((one) => [...spoiled(one)]),
};

test.each(schemaNames)("%s: what is compiled for the built program says what ajv says", (name) => {
  const [built, ajv] = [builtOf(name), ajvOf(name)];
  let refused = 0;
  for (const document of documents[name]) {
    if (!ajv(document)) refused += 1;
    built(document);
    if (!isDeepStrictEqual(built.errors, ajv.errors)) expect(built.errors).toEqual(ajv.errors);
  }
  expect(refused).toBeGreaterThan(50);
});
