/** @module-tag rest */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PipelineHealth } from "../../engine/index.ts";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import type { TestClickHouse } from "../support/clickhouse.ts";
import { useClickHouse } from "../support/shared-clickhouse.ts";
import { ClickHouseProxy, exception } from "../support/clickhouse-proxy.ts";
import { Workplace } from "../support/daemon.ts";
import { useKafka } from "../support/kafka/use-kafka.ts";

vi.setConfig({ testTimeout: 180_000 });

/** The whole program on a folder of files: Kafka in, ClickHouse out, with a commit between a kill and the next start. */
let place: Workplace;
let server: TestClickHouse;
let proxy: ClickHouseProxy;
const kafka = useKafka();

beforeEach(async () => {
  place = await Workplace.make();
  server = await useClickHouse();
  proxy = await ClickHouseProxy.start(server.url);
});

afterEach(async () => {
  await place.clean();
  await proxy.close();
  await server.stop();
});

const pipeline_id = "orders-from-kafka";
const args = (): string[] => [
  "--dir",
  place.pipelines,
  "--kafka-session-timeout",
  "2s",
  "--kafka-heartbeat-interval",
  "200ms",
];

/** What the file says; a commit writes it anew. */
function file(topic: string, filter = "true"): Promise<void> {
  const brokers = JSON.stringify(kafka().access.plaintext);
  return place.write(
    "orders.yaml",
    `version: v3
pipeline_id: ${pipeline_id}
sources:
  - type: kafka
    source_id: orders
    topic: ${topic}
    connection_params: { brokers: ${brokers}, protocol: PLAINTEXT, mechanism: NO_AUTH }
    schema_fields: [{ name: id, type: int }]
transforms:
  - { type: filter, source_id: orders, config: { expression: "${filter}" } }
  - { type: dedup, source_id: orders, config: { key: id, time_window: 1h } }
resources:
  transform: [{ source_id: orders, storage: { size: 1Gi } }]
sink:
  type: clickhouse
  connection_params:
    host: 127.0.0.1
    port: "9000"
    http_port: "${proxy.port}"
    database: default
    username: ${server.username}
    password: ${server.password}
  table: orders
  mapping: [{ name: id, column_name: id, column_type: Int64 }]
  max_batch_size: 500
  max_delay_time: 200ms
`,
  );
}

const ids = async (): Promise<number[]> =>
  (await server.query<{ id: string }>("SELECT id FROM default.orders ORDER BY id")).map(({ id }) => Number(id));

const produce = (topic: string, from: number, to: number): Promise<void> =>
  kafka().produce(
    topic,
    Array.from({ length: to - from + 1 }, (_, index) => JSON.stringify({ id: from + index })),
  );

const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

async function holds(daemon: Daemon, expected: readonly number[]): Promise<void> {
  await daemon.until(async () => ((await ids()).length >= expected.length ? true : undefined), "to write the rows");
  expect(await ids()).toEqual(expected);
}

async function newTopic(): Promise<string> {
  const topic = kafka().unique("orders");
  await kafka().topics.create(topic, { partitions: 3 });
  await server.client.command({
    query:
      "CREATE TABLE default.orders (id Int64) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000",
  });
  return topic;
}

test("a filter that is committed between a kill and the next start holds from then on, and nothing is lost or doubled", async () => {
  const topic = await newTopic();
  await file(topic);
  const first = await place.start({ args: args() });
  await produce(topic, 1, 1_000);
  await holds(first, span(1, 1_000));
  let wasLost = false;
  proxy.decideInserts(() => {
    if (wasLost) return exception(252, "TOO_MANY_PARTS", "Too many parts (300) in all partitions in total");
    wasLost = true;
    return { kind: "lose" };
  });
  await produce(topic, 1_001, 1_500);
  await first.until(async () => (proxy.inserts("lose").length > 0 ? true : undefined), "to send a batch");
  await first.stop("SIGKILL");
  const sent = (await ids()).filter((id) => id > 1_000);
  expect(sent.length).toBeGreaterThan(0);
  proxy.decide();
  await file(topic, "int(id) % 2 == 0");
  const second = await place.start({ args: args() });
  // What may be in the table goes by the filter that it was prepared with; what was not prepared by the new one.
  const later = span(1_001, 1_500).filter((id) => id % 2 === 0 || sent.includes(id));
  await holds(second, [...span(1, 1_000), ...later]);
  await second.until(
    async () =>
      JSON.stringify(await second.get(`/api/v1/pipeline/${pipeline_id}`)).includes("% 2") ? true : undefined,
    "to apply the new filter",
  );
  await produce(topic, 1_501, 2_000);
  await holds(second, [...span(1, 1_000), ...later, ...span(1_501, 2_000).filter((id) => id % 2 === 0)]);
  const { counters } = (await second.health(pipeline_id)) as unknown as PipelineHealth;
  expect(counters.batches_replayed).toBeGreaterThan(0);
});
