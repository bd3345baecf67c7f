import { expect, test } from "vitest";
import { effectOf, effects, highest, isSecret, type Effect, type Path } from "../../../schemas/index.ts";
import schema from "../../../schemas/pipeline-v3.schema.json" with { type: "json" };

test.each<[Path, Effect]>([
  [["version"], "none"],
  [["name"], "hot"],
  [["metadata", "tags"], "hot"],
  [["metadata", "tags", 3], "hot"],
  [["x-sluice", "create_table"], "hot"],
  [["x-sluice", "on_uncertain"], "hot"],
  [["x-sluice", "null"], "restart"],
  [["x-sluice", "sources", "orders", "on_tombstone"], "restart"],
  [["x-sluice", "sources", "orders", "adopt_group"], "hot"],
  [["x-sluice", "consumer_group"], "refuse"],
  [["x-sluice", "on_lost"], "hot"],
  [["x-sluice", "on_view_error"], "hot"],
  [["x-sluice", "suspend"], "none"],
  [["sources", 0, "schema_fields", 2, "type"], "restart"],
  [["sources", 0, "topic"], "restart"],
  [["sources", 0, "connection_params", "brokers", 1], "restart"],
  [["transforms", 0, "config", "expression"], "restart"],
  [["sink", "max_batch_size"], "restart"],
  [["sink", "mapping", 0, "column_type"], "restart"],
  [["resources", "sink", "limits", "memory"], "restart"],
  [["resources", "transform", 0, "replicas"], "restart"],
  [["transforms", 1, "config", "time_window"], "restart"],
  [["transforms", 1, "config", "key"], "forget"],
  [["join", "left_source", "key"], "forget"],
  [["pipeline_id"], "refuse"],
  [["resources", "nats", "stream", "max_age"], "refuse"],
  [["resources", "nats", "stream", "max_bytes"], "refuse"],
  [["resources", "nats", "stream", "max_msgs"], "refuse"],
  [["resources", "transform", "orders", "storage", "size"], "refuse"],
])("a change of %j needs: %s", (path, effect) => {
  expect(effectOf(path)).toBe(effect);
});

test("replicas of transforms are immutable while dedup is on", () => {
  expect(effectOf(["resources", "transform", 0, "replicas"], { withDedup: true })).toBe("refuse");
  expect(effectOf(["resources", "sink", "replicas"], { withDedup: true })).toBe("restart");
});

test.each([[["sink", "tabel"]], [["nothing"]], [["sink", "table", "x"]]])("%j is no field", (path) => {
  expect(() => effectOf(path)).toThrow(RangeError);
});

test("the highest of several effects counts", () => {
  expect(highest([])).toBe("none");
  expect(highest(["hot", "refuse", "restart"])).toBe("refuse");
  expect(highest(["restart", "forget", "hot"])).toBe("forget");
});

test.each<[Path, boolean]>([
  [["sink", "connection_params", "password"], true],
  [["sink", "connection_params", "password", "inside"], true],
  [["x-sluice", "access_token"], true],
  [["sources", 0, "connection_params", "client_key"], true],
  [["sources", 0, "schema_registry", "api_secret"], true],
  [["sink", "table"], false],
  [["unknown"], false],
])("%j is a secret: %s", (path, secret) => {
  expect(isSecret(path)).toBe(secret);
});

interface SchemaNode {
  properties?: Record<string, SchemaNode>;
  $ref?: string;
  description?: string;
  additionalProperties?: boolean;
  "x-effect"?: string;
  [key: string]: unknown;
}

/** Every schema node below `node`, with its place. */
function* nodesOf(node: SchemaNode, place = "#"): Iterable<[string, SchemaNode]> {
  yield [place, node];
  for (const [key, value] of Object.entries(node)) {
    if (typeof value !== "object" || value === null || ["if", "then", "else"].includes(key)) continue;
    yield* nodesOf(value as SchemaNode, `${place}/${key}`);
  }
}

test("every field has a description and an effect, every mapping refuses unknown keys", () => {
  const definitions = schema.definitions as unknown as Record<string, SchemaNode>;
  for (const [place, node] of nodesOf(schema)) {
    if (place.endsWith("/properties") || node.properties === undefined) continue;
    expect(node.additionalProperties, place).toBe(false);
    for (const [key, field] of Object.entries(node.properties)) {
      const whole = { ...definitions[field.$ref?.replace("#/definitions/", "") ?? ""], ...field };
      expect(whole.description, `${place}/${key}`).toMatch(/\.$/);
      expect(effects, `${place}/${key}`).toContain(whole["x-effect"]);
    }
  }
});
