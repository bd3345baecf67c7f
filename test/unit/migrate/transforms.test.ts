import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "../../../engine/expression/syntax/parser.ts";
import { convert } from "../../../reconciler/migrate/convert.ts";
import { migrate } from "../../../reconciler/migrate/migrate.ts";
import { valueOf } from "../../../reconciler/migrate/part.ts";
import { expressions } from "../../support/expressions.ts";
import { v2Pipeline, v2Source, type V2 } from "../../support/version-2.ts";

const stateless = {
  enabled: true,
  config: { transform: [{ expression: "amount", output_name: "amount", output_type: "float" }] },
};

function transformsOf(over: V2, options = {}): unknown {
  return migrate(v2Pipeline(over), options).config["transforms"];
}

test("they are dedup for each topic, filter, stateless", () => {
  const deduplication = { enabled: true, key: "id", time_window: "1h" };
  const source = v2Source([
    { name: "orders", deduplication },
    { name: "users", id: "u", deduplication },
  ]);
  const filter = { enabled: true, expression: "amount < 0" };
  expect(transformsOf({ source, filter, stateless_transformation: stateless })).toEqual([
    { type: "dedup", source_id: "orders", config: { key: "id", time_window: "1h" } },
    { type: "dedup", source_id: "u", config: { key: "id", time_window: "1h" } },
    { type: "filter", source_id: "orders", config: { expression: "amount < 0" } },
    { type: "stateless", source_id: "orders", config: { transforms: stateless.config.transform } },
  ]);
});

test.each<[string, V2]>([
  ["none", {}],
  ["that are off", { filter: { expression: "true" }, stateless_transformation: { ...stateless, enabled: false } }],
  ["a dedup that is off", { source: v2Source([{ name: "orders", deduplication: { key: "id" } }]) }],
])("no transforms for %s", (_, over) => {
  expect(migrate(v2Pipeline(over)).config).not.toHaveProperty("transforms");
});

const configOf = (deduplication: V2): unknown =>
  (
    transformsOf({ source: v2Source([{ name: "orders", deduplication: { enabled: true, ...deduplication } }]) }) as {
      config: V2;
    }[]
  )[0]?.config;

describe("a dedup", () => {
  test.each<[string, V2, V2]>([
    ["has the key", { key: "id", id_field: "other", time_window: "30m" }, { key: "id", time_window: "30m" }],
    [
      "has the id_field for want of a key",
      { id_field: "id", id_field_type: "string", time_window: "1d" },
      { key: "id", time_window: "1d" },
    ],
    [
      "has the id_field for an empty key",
      { key: "", id_field: "id", time_window: "1h" },
      { key: "id", time_window: "1h" },
    ],
  ])("%s", (_, given, config) => {
    expect(configOf(given)).toEqual(config);
  });
});

describe("a filter", () => {
  const filter = { enabled: true, expression: "  amount < 0 " };

  test("keeps its text to the letter, and a warning says that its meaning turned round", () => {
    expect(transformsOf({ filter })).toMatchObject([{ config: { expression: "  amount < 0 " } }]);
    expect(convert(v2Pipeline({ filter })).remarks).toContainEqual({
      code: "V2_FILTER",
      finding: expect.objectContaining({ path: ["filter", "expression"] }),
    });
  });

  test("without a topic has the source_id that nothing has", () => {
    expect(transformsOf({ filter, source: { type: "kafka" } })).toMatchObject([{ source_id: "" }]);
  });

  test("that was reviewed has no warning", () => {
    const { remarks } = convert(v2Pipeline({ filter, "x-sluice": { filters_reviewed: true } }));
    expect(remarks.filter(({ code }) => code === "V2_FILTER")).toEqual([]);
  });

  test.each([
    ["a comparison", "amount < 0", "!(amount < 0)"],
    ["a text with blanks around", " amount < 0\n", "!(amount < 0)"],
    ["a comment at its end", "amount < 0 // refunds", "!(amount < 0 // refunds\n)"],
    ["statements", "let x = amount; x < 0", "!(let x = amount; x < 0)"],
  ])("that keeps its behaviour is negated: %s", (_, expression, negated) => {
    const { config, warnings } = migrate(v2Pipeline({ filter: { enabled: true, expression } }), {
      keepBehaviour: true,
    });
    expect(config["transforms"]).toMatchObject([{ config: { expression: negated } }]);
    expect(warnings.map(({ code }) => code)).toEqual(["V2_PASSWORD"]);
  });

  test.each([
    ["that does not parse", "amount) or (true"],
    ["that is blank", " "],
  ])("%s is never negated, and a warning says so", (_, expression) => {
    const filtered = v2Pipeline({ filter: { enabled: true, expression } });
    expect(migrate(filtered, { keepBehaviour: true }).config["transforms"]).toMatchObject([{ config: { expression } }]);
    expect(convert(filtered, { keepBehaviour: true }).remarks.map(({ code }) => code)).toContain("V2_FILTER");
  });

  test("that was reviewed and is negated all the same has a warning", () => {
    const reviewed = v2Pipeline({ filter, "x-sluice": { filters_reviewed: true } });
    expect(convert(reviewed, { keepBehaviour: true }).remarks.map(({ code }) => code)).toContain("V2_FILTER");
  });

  test("every expression is negated as a whole", () => {
    fc.assert(
      fc.property(expressions, fc.constantFrom("", " // why", "\n"), (text, end) => {
        const { root } = convert(v2Pipeline({ filter: { enabled: true, expression: text + end } }), {
          keepBehaviour: true,
        });
        const [{ config }] = (valueOf(root) as { transforms: [{ config: { expression: string } }] }).transforms;
        const negated = parse(config.expression);
        expect(negated).toMatchObject({ kind: "unary", operator: "not" });
      }),
      { numRuns: 300 },
    );
  });
});

describe("a stateless transform", () => {
  test("works on the source that it names", () => {
    expect(transformsOf({ stateless_transformation: { ...stateless, source_id: "other" } })).toMatchObject([
      { source_id: "other" },
    ]);
  });

  test("calls its list transforms", () => {
    expect(transformsOf({ stateless_transformation: { enabled: true, config: { transform: [] } } })).toEqual([
      { type: "stateless", source_id: "orders", config: { transforms: [] } },
    ]);
  });
});

const marked = (over: V2, options = {}): unknown =>
  (valueOf(convert(v2Pipeline(over), options).marked) as V2)["x-sluice"];

describe("what waits for a review is marked in x-sluice", () => {
  const filter = { enabled: true, expression: "amount < 0" };
  test.each<[string, V2, object, unknown]>([
    ["a filter", { filter }, {}, { filters_reviewed: false }],
    [
      "a filter beside directives",
      { filter, "x-sluice": { prune: false } },
      {},
      { prune: false, filters_reviewed: false },
    ],
    ["a filter that was reviewed", { filter, "x-sluice": { filters_reviewed: true } }, {}, { filters_reviewed: true }],
    ["a filter that keeps its behaviour", { filter }, { keepBehaviour: true }, undefined],
    [
      "a filter with a mark that is none",
      { filter, "x-sluice": { filters_reviewed: "yes" } },
      {},
      { filters_reviewed: "yes" },
    ],
    ["no filter", {}, {}, undefined],
    ["a filter that is off", { filter: { expression: "true" } }, {}, undefined],
  ])("%s: %j", (_, over, options, directives) => {
    expect(marked(over, options)).toEqual(directives);
  });

  test("but not in what a preview shows", () => {
    expect(migrate(v2Pipeline({ filter })).config).not.toHaveProperty("x-sluice");
  });
});
