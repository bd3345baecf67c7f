import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startClickHouse } from "../support/clickhouse.ts";
import { KafkaBroker } from "../support/kafka/broker.ts";
import { hotFunctions } from "./hot-functions.ts";
import { cases, shapes } from "./kafka-cases.ts";
import type { Cost } from "./cost.ts";
import { goalBatch, type Row, table, tableHeader } from "./kafka-report.ts";
import type { Shape } from "./kafka-shape.ts";
import { type Scene, sluiceRun } from "./kafka-sluice.ts";
import { loadFile } from "./kafka-target.ts";
import { type FilledTopic, fillTopic, kafkajsReading, partitions } from "./kafka-topic.ts";

/** Runs of each row, of which the median counts. */
const runs = Number(process.env["BENCH_RUNS"] ?? 5);
/** Names the rows that are measured, such as `150 B, all three, 50000`. */
const only = new RegExp(process.env["BENCH_ONLY"] ?? "");
/** A folder that gets the CPU profiles of one more run of each row; the functions that took the most are named as well. */
const profiles = process.env["BENCH_PROFILE"];

const batches = [goalBatch, 1_000];

/**
 * What topics cost on their way to ClickHouse, exactly once: the CPU time of Sluice alone per million events in, beside
 * kafkajs reading the same topic, and ClickHouse loading the same bytes from a file. Every run starts a process anew.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
  const server = await startClickHouse();
  try {
    const kafka = await KafkaBroker.start();
    try {
      for (const shape of shapes) await runShape(shape, { kafka, server }, folder);
    } finally {
      await kafka.stop();
    }
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function runShape(shape: Shape, { kafka, server }: Omit<Scene, "topic">, folder: string): Promise<void> {
  const rows = rowsOf(shape);
  if (rows.every(({ of }) => of === undefined)) return;
  const filled = await fillTopic(kafka, shape, folder);
  const size = Math.round(filled.bytes / shape.events);
  const what = `${shape.events} events of ${size} bytes and ${shape.fields.length} fields in ${partitions} partitions`;
  console.log(`${what}, medians of ${runs} runs`);
  const { checksum } = await loadFile(server, shape, filled);
  await measure(rows, { kafka, server, topic: filled.topic, checksum }, filled);
  console.log([tableHeader(), ...table(rows, filled.bytes)].join("\n"));
  await kafka.topics.delete(filled.topic);
  await rm(filled.path);
}

/** The floors, and the cases that were asked for. */
function rowsOf(shape: Shape): Row[] {
  const measured = batches.flatMap((batch) => cases.map((of): Row => ({ shape, name: of.name, of, batch, costs: [] })));
  return [
    { shape, name: "kafkajs, reading", costs: [] },
    { shape, name: "ClickHouse, file", costs: [] },
    ...measured.filter((row) => only.test(nameOf(row))),
  ];
}

/** One run of each row after the other, again and again, so that a machine that slows down slows all of them. */
async function measure(rows: readonly Row[], scene: Scene, filled: FilledTopic): Promise<void> {
  for (let turn = 1; turn <= runs; turn += 1) {
    for (const row of rows) {
      const cost = await measureOnce(row, scene, filled);
      row.costs.push(cost);
      console.error(`${turn} of ${runs}: ${nameOf(row)}: ${cost.seconds.toFixed(1)} s, ${cost.cpu.toFixed(2)} CPU-s`);
    }
  }
  if (profiles !== undefined) for (const row of rows) await profile(row, scene, profiles);
}

async function measureOnce({ shape, name, of, batch }: Row, scene: Scene, filled: FilledTopic): Promise<Cost> {
  if (of !== undefined) return sluiceRun(scene, { of, shape, batch: batch! });
  if (name.startsWith("ClickHouse")) return loadFile(scene.server, shape, filled);
  return kafkajsReading(scene.kafka, shape, filled);
}

async function profile(row: Row, scene: Scene, into: string): Promise<void> {
  const { shape, of, batch } = row;
  if (of === undefined) return;
  const folder = join(into, nameOf(row).replaceAll(/[ ,]+/g, "-"));
  await sluiceRun(scene, { of, shape, batch: batch! }, folder);
  console.log([nameOf(row), ...hotFunctions(folder)].join("\n"));
}

function nameOf({ shape, name, batch }: Row): string {
  return [shape.name, name, ...(batch === undefined ? [] : [batch])].join(", ");
}
