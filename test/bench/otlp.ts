import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { hotFunctions } from "./hot-functions.ts";
import { cases, type Case } from "./otlp-cases.ts";
import { logRequest, staticType, type StaticType } from "./otlp-requests.ts";
import type { Cost } from "./cost.ts";
import { table, titleOf, type Row } from "./otlp-report.ts";
import { sluiceRun } from "./otlp-sluice.ts";
import { runProgram } from "./program.ts";

/** Runs of each row, of which the median counts. */
const runs = Number(process.env["BENCH_RUNS"] ?? 5);
/** Names the rows that are measured, such as `gRPC, 1000`. */
const only = new RegExp(process.env["BENCH_ONLY"] ?? "");
/** A folder that gets the CPU profiles of one more run of each row; the functions that took the most are named as well. */
const profiles = process.env["BENCH_PROFILE"];

/** Records that a run takes: the more, the less its start counts in what a record costs. */
const total = Number(process.env["BENCH_RECORDS"] ?? 500_000);
/** Different requests among them. */
const kinds = 10;

interface Scene {
  server: TestClickHouse;
  /** Folder with a folder of requests for each way to spell them. */
  folder: string;
}

/**
 * What log records cost on their way to ClickHouse, over gRPC and HTTP, 20 requests under way: the CPU time of Sluice alone
 * per million records, beside decoding the same requests and nothing else. Every run starts a process anew.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-"));
  const server = await startClickHouse();
  try {
    const rows = chosenRows();
    const bytes = await writeRequests(folder, rows);
    console.log(`${total} log records of ${bytes} bytes and 8 attributes, medians of ${runs} runs`);
    await measure(rows, { server, folder });
    console.log(table(rows, total).join("\n"));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The cases that were asked for, and the floor for each number of records a request that they have. */
function chosenRows(): Row[] {
  const all = cases.map((of): Row => ({ of, records: of.records, costs: [] }));
  const measured = all.filter((row) => only.test(titleOf(row)));
  const floors = [...new Set(measured.map(({ records }) => records))].map((records): Row => ({ records, costs: [] }));
  return [...floors, ...measured];
}

/** One run of each row after the other, again and again, so that a machine that slows down slows all of them. */
async function measure(rows: readonly Row[], scene: Scene): Promise<void> {
  for (let turn = 1; turn <= runs; turn += 1) {
    for (const row of rows) {
      const cost = await measureOnce(row, scene);
      row.costs.push(cost);
      console.error(`${turn} of ${runs}: ${titleOf(row)}: ${cost.seconds.toFixed(1)} s, ${cost.cpu.toFixed(2)} CPU-s`);
    }
  }
  if (profiles !== undefined) for (const row of rows) await profile(row, scene, profiles);
}

async function measureOnce(row: Row, { server, folder }: Scene, into?: string): Promise<Cost> {
  const { of, records } = row;
  const own = join(folder, spellingOf(row));
  if (of !== undefined) return sluiceRun({ of, server, folder: own, requests: total / records }, into);
  return JSON.parse(await runProgram("otlp-floor.ts", own, String(total / records))) as Cost;
}

async function profile(row: Row, scene: Scene, into: string): Promise<void> {
  if (row.of === undefined) return;
  const folder = join(into, titleOf(row).replaceAll(/[^\w]+/g, "-"));
  await measureOnce(row, scene, folder);
  console.log([titleOf(row), ...hotFunctions(folder)].join("\n"));
}

/** Writes the requests of each row into a folder of their own; resolves with the usual bytes of a record in one of them. */
async function writeRequests(folder: string, rows: readonly Row[]): Promise<number> {
  const type = await staticType();
  for (const row of new Map(rows.map((of) => [spellingOf(of), of])).values()) {
    const own = join(folder, spellingOf(row));
    await mkdir(own);
    for (let kind = 0; kind < kinds; kind += 1) {
      await writeFile(join(own, `${kind}.bin`), encoded(type, row.records, row.of?.but, kind));
    }
  }
  return Math.round(encoded(type, 1_000).length / 1_000);
}

/** What tells folders of requests apart. */
function spellingOf({ of, records }: Row): string {
  return [records, ...(of?.but === "gzip" || of?.but === "no trace" ? [of.but] : [])].join(" ");
}

function encoded(type: StaticType, records: number, but?: Case["but"], kind = 0): Buffer {
  const request = logRequest(records, { first: kind * records, isTraced: but !== "no trace" });
  const bytes = Buffer.from(type.encode(request).finish());
  return but === "gzip" ? gzipSync(bytes) : bytes;
}
