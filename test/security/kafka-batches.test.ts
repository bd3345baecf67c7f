/** @module-tag rest */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import { tokenEnv, Workplace } from "../support/daemon.ts";
import { batchBytes, compressors } from "../unit/kafka/written.ts";
import { isFull } from "./attacks.ts";
import { type KafkaOnTcp, kafkaOnTcp } from "./kafka-on-tcp.ts";
import { Neighbour } from "./neighbour.ts";

/** Who may write to a topic, and who runs its brokers, cannot keep other pipelines from their rows (docs/security.md). */

const mebibyte = 2 ** 20;
const [gzip, zstd] = [1, 4];
const batches = isFull ? 48 : 3;
const patience = { timeout: 600_000 };

let place: Workplace;
let daemon: Daemon;
let broker: KafkaOnTcp;
let neighbour: Neighbour;

beforeEach(async () => {
  place = await Workplace.make();
  await Neighbour.write(place);
});

afterEach(async () => {
  await place.clean();
  broker.close();
});

const pipeline = `version: v3
pipeline_id: attack
name: attack
sources:
  - type: kafka
    source_id: topic
    topic: bombs
    consumer_group_initial_offset: earliest
    connection_params: { brokers: ["BROKER"], protocol: PLAINTEXT, mechanism: NO_AUTH }
    schema_fields: [{ name: x, type: string }]
sink:
  type: clickhouse
  connection_params: { host: embedded, database: default }
  table: attack
  max_batch_size: 10000
  max_delay_time: 50ms
  mapping: [{ name: x, column_name: x, column_type: String }]
x-sluice:
  create_table: true
`;

async function start(partitions = 1): Promise<void> {
  broker = await kafkaOnTcp({ bombs: partitions });
  daemon = await place.start({ env: tokenEnv });
  neighbour = await Neighbour.of(daemon);
}

const health = (): Promise<PipelineHealth> => daemon.get("/api/v1/pipeline/attack/health");

/** Attacks by the pipeline that reads the broker, until that is as far as expected. */
async function attack(title: string, isOver: (health: PipelineHealth) => boolean): Promise<PipelineHealth> {
  const { result, delays } = await neighbour.during(async () => {
    await place.write("attack.yaml", pipeline.replace("BROKER", broker.address));
    return daemon.until(async () => {
      const found = await health().catch(() => undefined);
      return found !== undefined && isOver(found) ? found : undefined;
    }, `to have read ${title}`);
  });
  neighbour.noted(title, delays);
  expect(delays.count).toBeGreaterThan(0);
  expect(daemon.log.filter((line) => line.includes("thread died"))).toEqual([]);
  return result;
}

/** Batches of so many events of so many bytes each. */
function fill(count: number, size: number, codec: number, times = batches): void {
  const value = Buffer.from(JSON.stringify({ x: "a".repeat(size - '{"x":""}'.length) }));
  const records = Array.from({ length: count }, (_, delta) => ({ delta, value }));
  const bytes = batchBytes({ records, codec, compress: compressors[codec]! });
  for (let batch = 0; batch < times; batch += 1) broker.kafka.produceBytes("bombs", 0, bytes, count);
}

test(
  "batches that unpack to more than one may hold pause their pipeline, which says where they are",
  patience,
  async () => {
    await start();
    fill(1, 127 * mebibyte, zstd);
    const { paused, counters } = await attack("batches of some KB that unpack to 127 MiB", ({ paused: found }) => {
      return found?.class === "source";
    });
    expect(paused?.text).toMatch(
      /^topic bombs, partition 0, offset 0: expected \d+ bytes of records compressed with zstd/,
    );
    expect(counters.rows_written).toBe(0);
  },
);

test("events that are too large become dead letters, and their batches take no more memory", patience, async () => {
  await start();
  fill(1, 60 * mebibyte, zstd);
  const found = await attack("events of 60 MiB", ({ dead_letters }) => dead_letters.total_messages === batches);
  expect(found.counters).toMatchObject({ rows_written: 0, dead_lettered: batches });
  expect(found.dead_letters.bytes).toBeLessThan(batches * 100_000);
});

test("large events become rows", patience, async () => {
  await start();
  const times = isFull ? 6 : 2;
  fill(8, 7 * mebibyte, gzip, times);
  await attack("events of 7 MiB, 56 MiB a batch", ({ counters }) => counters.rows_written === 8 * times);
});

test("many small events in batches of some KB become rows", patience, async () => {
  await start();
  const count = isFull ? 50_000 : 20_000;
  fill(count, 100, gzip);
  await attack(`events of 100 bytes, ${count} a batch`, ({ counters }) => counters.rows_written === count * batches);
});

test("a topic of 200,000 partitions is not read", patience, async () => {
  await start(200_000);
  const { paused } = await attack("200,000 partitions", ({ paused: found }) => found?.class === "source");
  expect(paused?.text).toContain("partitions of topic bombs: expected at most 10000, found 200000");
});

test("a topic of as many partitions as may be is read", patience, async () => {
  await start(isFull ? 10_000 : 1_000);
  fill(1, 100, gzip);
  await attack("10,000 partitions", ({ counters }) => counters.rows_written === batches);
});
