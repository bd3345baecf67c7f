import { expect, test, vi } from "vitest";
import type { DeadLetter } from "../../../engine/index.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { kafkaPipeline } from "../../support/pipelines.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";

vi.setConfig({ testTimeout: 180_000 });

const inScene = useScenes(useKafka());

const [events, every] = [12_000, 100];

const good = (id: number): string =>
  JSON.stringify({ id, name: `n${id}`, ok: true, tags: ["a"], more: { a: 1 }, price: 1.5 });

/** The ways in which an event is malformed: its text, and what its letter says. */
const malformed: [string, (id: number) => string | null, component: string, reason: string, says: string][] = [
  ["cut off", (id) => good(id).slice(0, -2), "ingestor", "parse_error", "expected a JSON object"],
  ["no JSON", () => "not json at all", "ingestor", "parse_error", "expected a JSON object"],
  ["an array", (id) => `[${id}]`, "ingestor", "parse_error", "expected a JSON object"],
  ["a tombstone", () => null, "ingestor", "parse_error", "tombstone"],
  ["empty", () => "", "ingestor", "parse_error", "expected a JSON object"],
  [
    "a field missing",
    (id) => `{"id":${id},"name":"x","ok":true,"tags":[],"more":{}}`,
    "ingestor",
    "parse_error",
    "field price is missing: expected number, found nothing",
  ],
  [
    "a field null",
    (id) => good(id).replace('"ok":true', '"ok":null'),
    "ingestor",
    "parse_error",
    "field ok is missing: expected bool, found null",
  ],
  [
    "a string for a number",
    (id) => good(id).replace('"price":1.5', '"price":"1.5"'),
    "ingestor",
    "parse_error",
    "field price: expected number, found string",
  ],
  [
    "a number for a string",
    (id) => good(id).replace(/"name":"[^"]*"/, '"name":5'),
    "ingestor",
    "parse_error",
    "field name: expected string, found number",
  ],
  [
    "an object for an array",
    (id) => good(id).replace('["a"]', '{"a":1}'),
    "ingestor",
    "parse_error",
    "field tags: expected array, found object",
  ],
  [
    "out of the column's range",
    (id) => good(id).replace('"price":1.5', '"price":1e60'),
    "sink",
    "schema_mismatch",
    'field "price" does not fit column "price" of type Float32',
  ],
  [
    "a fraction for an integer",
    (id) => good(id).replace(`"id":${id}`, `"id":${id}.5`),
    "sink",
    "schema_mismatch",
    'field "id" does not fit column "id" of type Int64',
  ],
];

test("of 12,000 events, 1 % of them malformed in 12 ways, each malformed one is alone in the dead letters, with its reason", () =>
  inScene(async (scene) => {
    const { topic } = scene;
    const schema_fields = Object.entries({
      id: "int",
      name: "string",
      ok: "bool",
      tags: "array",
      more: "map",
      price: "float",
    });
    const columns = [
      ["id", "Int64"],
      ["name", "String"],
      ["ok", "Bool"],
      ["price", "Float32"],
    ];
    await scene.server.client.command({ query: `DROP TABLE ${scene.table}` });
    await scene.server.client.command({
      query: `CREATE TABLE ${scene.table} (id Int64, name String, ok Bool, price Float32) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000`,
    });
    const ways = new Map<number, number>();
    const messages = Array.from({ length: events }, (_, id) => {
      if (id % every !== 0) return { value: good(id) };
      const way = (id / every) % malformed.length;
      ways.set(id, way);
      return { value: malformed[way]![1](id) };
    });
    await scene.kafka.produce(topic, messages);
    const { sink } = scene.config();
    const mapping = columns.map(([name, column_type]) => ({ name, column_name: name, column_type }));
    await scene.create(
      kafkaPipeline(
        scene.pipeline_id,
        {
          topic,
          connection_params: scene.kafka.connectionParams(),
          schema_fields: schema_fields.map(([name, type]) => ({ name, type })),
        },
        { sink: { ...sink, mapping, max_batch_size: 1_000 } },
      ),
      { sources: { input: { on_tombstone: "dead_letter" } } },
    );
    const dead = ways.size;
    await scene.until(({ counters }) => counters.rows_written + counters.dead_lettered >= events);
    const [{ rows, distinct, wrong }] = (await scene.server.query(
      `SELECT count() AS rows, uniqExact(id) AS distinct, countIf(id % ${every} = 0) AS wrong FROM ${scene.table}`,
    )) as [Record<string, string>];
    expect([rows, distinct, wrong].map(Number)).toEqual([events - dead, events - dead, 0]);
    const letters = allLetters(scene);
    expect(letters).toHaveLength(dead);
    const found = malformed.map(() => 0);
    for (const { component, reason, error, original_message } of letters) {
      const way = malformed.findIndex(
        (one) => one[2] === component && one[3] === reason && error.includes(one[4]) && fits(one, original_message),
      );
      expect(way, `${component} ${reason} ${error} ${original_message}`).not.toBe(-1);
      found[way]! += 1;
    }
    const expected = malformed.map((_, way) => [...ways.values()].filter((one) => one === way).length);
    expect(found).toEqual(expected);
  }));

/** Whether a letter's text is what this way makes of its event; texts that all are alike need no id. */
function fits([, make]: (typeof malformed)[number], text: string): boolean {
  const id = Number(/"id":(\d+)/.exec(text)?.[1] ?? /^\[(\d+)\]$/.exec(text)?.[1] ?? 0);
  return (make(id) ?? "") === text;
}

function allLetters(scene: KafkaScene): DeadLetter[] {
  const queue = scene.running.engine.deadLetters(scene.pipeline_id);
  const letters: DeadLetter[] = [];
  for (let cursor: string | undefined; ;) {
    const page = queue.list(1_000, cursor);
    letters.push(...page.messages);
    if (!page.has_more) return letters;
    cursor = page.next_cursor;
  }
}
