import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DesiredPipeline } from "../../../reconciler/desired/desired-state.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { engineOptions, normalise, schemaErrors, tidy, type PipelineV3 } from "../../../schemas/index.ts";
import { canonicalColumnType } from "../../../schemas/normalise.ts";
import { arbitraryPipeline } from "./arbitrary-pipeline.ts";
import { respelled } from "./respelled.ts";
import { runsOf } from "../../support/cases.ts";

const numRuns = runsOf(180);
const seeds = fc.nat();

/** Transforms of one type for one source cannot be told apart by what they are for, so their order has a meaning. */
const pipelines = arbitraryPipeline.filter(({ transforms = [] }) => {
  const keys = transforms.map(({ type, source_id }) => `${type} ${source_id}`);
  return new Set(keys).size === keys.length;
});

function desired(document: PipelineV3): DesiredPipeline {
  const directives = {
    state: "Running",
    suspend: false,
    prune: true,
    depends_on: [],
    drift: "correct",
    adopt: false,
    recreate: false,
  } as const;
  const config = normalise(document);
  return {
    pipeline_id: config.pipeline_id,
    file: "a.yaml",
    line: 1,
    config,
    options: engineOptions(document),
    directives: { ...directives, depends_on: [], moved_from: [] },
    document,
    place: () => ({ file: "a.yaml", line: 1, column: 1 }),
    variables: () => [],
  };
}

/** The plan for `after` where what `before` asks for runs. */
function planned(before: PipelineV3, after: PipelineV3): ReturnType<typeof plan>["changes"] {
  const { pipeline_id, config, options, file } = desired(before);
  const nothing = { held: 0, pending_batches: 0, dead_letters: 0 };
  const running = { pipeline_id, config, options, status: "Running", ...nothing } as const;
  const owned = { [pipeline_id]: { file, prune: true, suspend: false } };
  const actual = { pipelines: new Map([[pipeline_id, running]]), owned, busy: new Map(), now: 0 };
  return plan(actual, { pipelines: [desired(after)], refused: [], skipped: [] }).changes;
}

describe("two spellings of one meaning", () => {
  test("are both documents of the format", () => {
    fc.assert(
      fc.property(pipelines, seeds, (document, seed) => {
        expect(schemaErrors(tidy(respelled(document, seed)))).toEqual([]);
      }),
      { numRuns },
    );
  });

  test("have one canonical form, which is its own", () => {
    fc.assert(
      fc.property(pipelines, seeds, (document, seed) => {
        const config = normalise(document);
        expect(normalise(respelled(document, seed))).toEqual(config);
        expect(normalise(config as unknown as PipelineV3)).toEqual(config);
      }),
      { numRuns },
    );
  });

  test("give a plan that does nothing", () => {
    fc.assert(
      fc.property(pipelines, seeds, seeds, (document, one, other) => {
        const [change, ...others] = planned(respelled(document, one), respelled(document, other));
        expect(others).toEqual([]);
        expect(change).toMatchObject({ kind: "no-op", cause: "InSync", effect: "none", fields: [], calls: [] });
      }),
      { numRuns },
    );
  });

  test("are really other texts, nearly always", () => {
    let different = 0;
    fc.assert(
      fc.property(pipelines, seeds, (document, seed) => {
        if (JSON.stringify(respelled(document, seed)) !== JSON.stringify(document)) different += 1;
      }),
      { numRuns: 60 },
    );
    expect(different).toBeGreaterThan(55);
  });
});

test("two meanings give a plan that changes or refuses", () => {
  const changes: ((document: PipelineV3) => unknown)[] = [
    (document) => ({ ...document, name: "Another" }),
    (document) => ({ ...document, sink: { ...document.sink, table: "another" } }),
    (document) => ({ ...document, sink: { ...document.sink, max_delay_time: "61s1ns" } }),
    (document) => ({ ...document, metadata: { tags: ["another"] } }),
    (document) => ({ ...document, resources: { ...document.resources, nats: { stream: { max_age: "23h59m" } } } }),
  ];
  fc.assert(
    fc.property(pipelines, fc.constantFrom(...changes), seeds, (document, change, seed) => {
      const other = respelled(change(document) as PipelineV3, seed);
      expect(planned(document, other)[0]?.fields).not.toEqual([]);
    }),
    { numRuns: runsOf(200) },
  );
});

test.each([
  ["Map(String,String)", "Map(String, String)"],
  [" Array( Nullable( Int64 ) ) ", "Array(Nullable(Int64))"],
  ["Enum8('a b'=1,'c,d' =2)", "Enum8('a b' = 1, 'c,d' = 2)"],
  ["Enum8('it\\'s , so'=1)", "Enum8('it\\'s , so' = 1)"],
  ["DateTime64( 9 ,'Europe/Berlin')", "DateTime64(9, 'Europe/Berlin')"],
  ["Tuple(a  UInt8,b String)", "Tuple(a UInt8, b String)"],
  ['Tuple( `a ,(`  UInt8,"b =" String)', 'Tuple(`a ,(` UInt8, "b =" String)'],
  ["Enum8('open", "Enum8('open"],
])("the column type %s is written %s, and so is that", (text, canonical) => {
  expect(canonicalColumnType(text)).toBe(canonical);
  expect(canonicalColumnType(canonical)).toBe(canonical);
});
