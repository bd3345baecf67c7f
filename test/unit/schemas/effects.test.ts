import { expect, test } from "vitest";
import {
  effectOf,
  effects,
  eventEffects,
  eventsOf,
  highest,
  highestEvents,
  isSecret,
  type Effect,
  type EventEffect,
  type Path,
} from "../../../schemas/index.ts";
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
  [["transforms", 1, "config", "key"], "restart"],
  [["join", "left_source", "key"], "restart"],
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
  expect(highest(["none", "restart", "hot"])).toBe("restart");
  expect(highestEvents([])).toBe("same");
  expect(highestEvents(["rows", "forget", "same"])).toBe("forget");
});

test.each<[Path, unknown, EventEffect]>([
  [["name"], "Orders", "same"],
  [["metadata", "tags"], [], "same"],
  [["sink", "max_batch_size"], 5, "same"],
  [["sink", "connection_params", "password"], "x", "same"],
  [["sink", "connection_params", "host"], "ch", "rows"],
  [["sink", "connection_params", "port"], "9000", "rows"],
  [["sink", "table"], "t", "rows"],
  [["sink", "mapping", 0, "column_type"], "String", "rows"],
  [["sources", 0, "schema_fields", 1], { name: "amount", type: "float" }, "rows"],
  [["sources", 0, "schema_fields", 0, "required"], false, "rows"],
  [["sources", 0, "topic"], "other", "forget"],
  [["sources", 0, "connection_params", "brokers"], [], "same"],
  [["sources", 0, "connection_params", "password"], "x", "same"],
  [["sources", 0, "consumer_group_initial_offset"], "latest", "same"],
  [["sources", 1], { type: "kafka" }, "rows"],
  [["transforms", 0, "config", "expression"], "true", "rows"],
  [["transforms", 0], { type: "dedup" }, "rows"],
  [["transforms", 0, "config", "key"], "id", "forget"],
  [["transforms", 0, "config", "time_window"], "1h", "rows"],
  [["transforms", 0, "config", "transforms", "x", "output_type"], "int", "rows"],
  [["join", "left_source", "time_window"], "1h", "forget"],
  [["join", "output_fields", 0, "name"], "id", "rows"],
  [["resources", "sink", "replicas"], 2, "same"],
  [["x-sluice", "on_lost"], "skip", "forget"],
  [["x-sluice", "on_lost"], "pause", "same"],
  [["x-sluice", "on_uncertain"], "skip", "forget"],
  [["x-sluice", "on_uncertain"], "insert", "rows"],
  [["x-sluice", "on_uncertain"], undefined, "rows"],
  [["x-sluice", "on_uncertain"], "pause", "same"],
  [["x-sluice", "on_view_error"], "skip", "forget"],
  [["x-sluice", "null"], "reject", "rows"],
  [["x-sluice", "take_over"], "0123abcd", "forget"],
  [["x-sluice", "take_over"], undefined, "same"],
  [["x-sluice", "rewind"], "earliest", "rows"],
  [["x-sluice", "rewind"], undefined, "same"],
  [["x-sluice", "start"], "latest", "same"],
  [["x-sluice", "sources"], { orders: { adopt_group: "loader" } }, "same"],
  [["x-sluice", "sources"], { orders: { on_tombstone: "dead_letter" } }, "rows"],
  [["x-sluice", "sources", "orders"], { on_tombstone: "dead_letter" }, "rows"],
])("where %j is %j from now on, events are: %s", (path, to, events) => {
  expect(eventsOf(path, to)).toBe(events);
});

test("what becomes of events where a mapping is removed is that of what it had", () => {
  expect(eventsOf(["x-sluice", "sources"], undefined, { orders: { on_tombstone: "dead_letter" } })).toBe("rows");
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
  "x-events"?: string | Record<string, string>;
  enum?: string[];
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
      const events = whole["x-events"] ?? "same";
      const byValue = typeof events === "object" ? events : { [key]: events };
      for (const of of Object.values(byValue)) expect(eventEffects, `${place}/${key}`).toContain(of);
      if (typeof events === "object") expect(Object.keys(events).toSorted()).toEqual(whole.enum?.toSorted());
    }
  }
});
