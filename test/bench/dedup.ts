import { spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Event } from "../../engine/event/event.ts";
import type { BatchRecord, Journal } from "../../engine/core/journal.ts";
import { DeadLetters } from "../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../engine/state/journal.ts";
import { Store } from "../../engine/state/store.ts";
import { DedupTransform } from "../../engine/transforms/dedup/dedup.ts";
import { Fingerprints } from "../../engine/keys/fingerprint.ts";
import { RememberedKeys } from "../../engine/transforms/dedup/remembered-keys.ts";

const sizes = [1_000_000, 10_000_000];
const batchKeys = 1_000;
const batches = 300;
const rounds = 5;
/** One of so many events repeats an earlier one. */
const repeatEvery = 20;
const pipeline_id = "dedup-bench";

/**
 * What dedup costs with so many keys remembered: check and reserve, the keys prepared with their batch and committed,
 * beside the same batches without keys; and what a start costs. Each size in a process of its own.
 */
export async function run(): Promise<void> {
  console.log(
    `batches of ${batchKeys} events with keys of 36 characters, 1 in ${repeatEvery} a repeat, medians of ${rounds} rounds of ${batches} batches`,
  );
  for (const size of sizes) {
    const { status } = spawnSync(
      process.execPath,
      ["--expose-gc", "--import", "tsx", fileURLToPath(import.meta.url), String(size)],
      {
        stdio: "inherit",
      },
    );
    if (status !== 0) throw new Error(`the run with ${size} keys failed`);
  }
}

interface Opened {
  store: Store;
  journal: StoreJournal;
  keys: RememberedKeys;
  transform: DedupTransform;
}

function open(folder: string): Opened {
  const store = Store.open(folder);
  const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
  const journal: StoreJournal = new StoreJournal(store, letters);
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  const transform = new DedupTransform("id", 3_600_000, keys, new Fingerprints(Buffer.alloc(16, 1)));
  return { store, journal, keys, transform };
}

/** Events of new keys, but for the repeats. */
function eventsOf(count: number, seen: string[]): Event[] {
  return Array.from({ length: count }, (_, index) => {
    const isRepeat = index % repeatEvery === 0 && seen.length > 0;
    const id = isRepeat ? seen[Math.floor(Math.random() * seen.length)]! : randomUUID();
    if (seen.length < 100_000) seen.push(id);
    return new Event(index + 1, 0, { id });
  });
}

let batch = 0;

async function carry(
  events: readonly Event[],
  { journal, keys, transform }: Opened,
  hasDedup: boolean,
): Promise<number> {
  batch += 1;
  const clock = Date.now();
  const passed = hasDedup ? transform.apply(events, { clock, batch }).passed.length : events.length;
  const blocks = hasDedup ? keys.blocks(batch) : [];
  const record: BatchRecord = {
    batch,
    pipeline_id,
    madeOf: { kind: "source", ranges: [{ feed: "", base: 0, first: batch, last: batch, count: events.length }] },
    revision: 1,
    token: randomBytes(16).toString("hex"),
    clock,
    oldest: 0,
    rows: passed,
    rejections: [],
    excluded: [],
    keys: blocks,
    waiting: [],
    state: { kind: "prepared" },
  };
  await (journal as Journal).prepare(record);
  await journal.commit(record);
  keys.written(record);
  return passed;
}

interface Cost {
  cpu: number;
  p50: number;
  p95: number;
}

async function measured(opened: Opened, seen: string[], hasDedup: boolean): Promise<Cost> {
  const given = Array.from({ length: batches }, () => eventsOf(batchKeys, seen));
  const times: number[] = [];
  const before = process.cpuUsage();
  for (const events of given) {
    const started = performance.now();
    await carry(events, opened, hasDedup);
    times.push(performance.now() - started);
  }
  const { user, system } = process.cpuUsage(before);
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)]!;
  return { cpu: (user + system) / batches / batchKeys, p50: at(0.5), p95: at(0.95) };
}

async function measureSize(size: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-dedup-"));
  try {
    let opened = open(folder);
    const seen: string[] = [];
    for (let filled = 0; filled < size;) filled += await carry(eventsOf(50_000, seen), opened, true);
    const costs: [Cost, Cost][] = [];
    for (let round = 0; round < rounds; round += 1) {
      costs.push([await measured(opened, seen, false), await measured(opened, seen, true)]);
    }
    const { keys, memory, storage } = opened.keys.size;
    await opened.store.close();
    const disk = statSync(join(folder, "state.mdb")).size;

    const startedAt = performance.now();
    const cpuBefore = process.cpuUsage();
    opened = open(folder);
    await opened.keys.load(opened.journal, pipeline_id, Date.now());
    const { user, system } = process.cpuUsage(cpuBefore);
    const start = (performance.now() - startedAt) / 1000;
    if (opened.keys.size.keys !== keys)
      throw new Error(`expected ${keys} keys after a start, got ${opened.keys.size.keys}`);
    await opened.store.close();

    const of = (which: 0 | 1, what: keyof Cost): number => median(costs.map((pair) => pair[which][what]));
    console.log(
      [
        `${(size / 1e6).toFixed(0).padStart(3)} M keys: dedup ${(of(1, "cpu") - of(0, "cpu")).toFixed(2)} CPU-us per key`,
        `(with its journal ${of(1, "cpu").toFixed(2)}, without dedup ${of(0, "cpu").toFixed(2)})`,
        `batch p50 ${of(1, "p50").toFixed(1)} ms, p95 ${of(1, "p95").toFixed(1)} ms`,
        `memory ${megabytes(memory)}, disk ${megabytes(disk)} (keys ${megabytes(storage)})`,
        `start ${start.toFixed(2)} s, ${((user + system) / 1e6).toFixed(2)} CPU-s`,
      ].join("; "),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await measureSize(Number(process.argv[2]));
