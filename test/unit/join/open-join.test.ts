import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JoinConfig } from "../../../schemas/pipeline.ts";
import { ArrivalWriter } from "../../../engine/join/arrivals.ts";
import type { Side } from "../../../engine/join/buffered-events.ts";
import { JoinedSource } from "../../../engine/join/joined-source.ts";
import type { SourcePause } from "../../../engine/core/pause.ts";
import { holdsSteps } from "../../../engine/join/log-files.ts";
import { dropJoin, OpenJoin, type OpenJoinOptions } from "../../../engine/join/open-join.ts";
import { Fingerprints } from "../../../engine/keys/fingerprint.ts";
import { systemDisk } from "../../../engine/system/disk.ts";
import type { JoinReport, Telemetry } from "../../../engine/telemetry/telemetry.ts";

const prints = new Fingerprints(Buffer.alloc(16, 1));
const begin = Date.parse("2026-01-01T00:00:00Z");
const unlimited = { memory: Infinity, storage: Infinity };

let folder: string;
let reports: JoinReport[];
let forgotten: number[];
const opened: OpenJoin[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-join-"));
  reports = [];
  forgotten = [];
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(folder, { recursive: true });
});

function open(over: Partial<OpenJoinOptions> = {}): OpenJoin {
  const telemetry = {
    joined: (report: JoinReport) => void reports.push(report),
    joinForgot: ({ events }: { events: number }) => void forgotten.push(events),
  } as unknown as Telemetry;
  const config = configOf("1h");
  const options = {
    pipeline_id: "p",
    config,
    disk: systemDisk,
    folder,
    settled: 0,
    now: () => begin,
    limits: unlimited,
    pending: [],
    telemetry,
    ...over,
  };
  const made = new OpenJoin(options);
  opened.push(made);
  return made;
}

function configOf(time_window: string): JoinConfig {
  return {
    enabled: true,
    type: "temporal",
    left_source: { source_id: "l", key: "k", time_window },
    right_source: { source_id: "r", key: "k", time_window: "0s" },
    output_fields: [
      { source_id: "l", name: "a", output_name: "a" },
      { source_id: "r", name: "b", output_name: "b" },
    ],
  };
}

type Arrival = [Side, string, object];

function step(of: OpenJoin, token: number, at: number, ...events: Arrival[]): Promise<void> {
  return stepWith(of, { token, at, events });
}

async function stepWith(
  of: OpenJoin,
  { token, at, events }: { token: number; at: number; events: readonly Arrival[] },
): Promise<void> {
  const writer = new ArrivalWriter(begin + at);
  const print = new Uint32Array(4);
  for (const [side, key, event] of events) {
    prints.of(key, print, 0);
    writer.add(side, print, Buffer.from(JSON.stringify(event)));
  }
  const made = await of.open();
  const name = String(token).padStart(32, "0");
  of.stepped(await made.step(name, writer.body()));
  of.committed({ token: name });
}

async function rowsOf(of: OpenJoin, from = 1): Promise<unknown[]> {
  const made = await of.open();
  const found: unknown[] = [];
  for (let position = from; position <= made.lastRow;) {
    const rows = (await made.rowsFrom(position))!;
    position = Math.max(position, rows.first);
    for (let index = position - rows.first; index < rows.places.length - 1; index += 1, position += 1) {
      found.push(JSON.parse(rows.bytes.toString("utf8", rows.places[index], rows.places[index + 1])));
    }
  }
  return found;
}

test("a row has the selected fields with their own digits, also of events that are not in plain form", async () => {
  const one = open();
  await step(one, 1, 0, ["right", "x", { k: "x", b: { c: [1, "é"] } }]);
  const made = await one.open();
  const writer = new ArrivalWriter(begin);
  const print = new Uint32Array(4);
  prints.of("x", print, 0);
  writer.add("left", print, Buffer.from('{ "a" : 9007199254740993 ,\n "k":"x", "a2": 1 }'));
  writer.add("left", print, Buffer.from('{"k":"x","a":"line\\nbreak"}'));
  await made.step("0".repeat(31) + "2", writer.body());
  const rows = (await made.rowsFrom(1))!;
  const texts = Array.from(rows.places.subarray(1), (end, index) =>
    rows.bytes.toString("utf8", rows.places[index], end),
  );
  expect(texts).toEqual(['{"a":9007199254740993,"b":{"c":[1,"é"]}}', '{"a":"line\\nbreak","b":{"c":[1,"é"]}}']);
});

test("another window forgets what was buffered, and says how much; rows that wait stay", async () => {
  const one = open();
  await step(one, 1, 0, ["left", "x", { a: 1 }], ["left", "y", { a: 2 }], ["right", "y", { b: 3 }]);
  await one.close();
  const other = open({ config: configOf("2h") });
  await step(other, 2, 1, ["right", "x", { b: 4 }], ["left", "y", { a: 5 }]);
  expect(await rowsOf(other)).toEqual([{ a: 2, b: 3 }]);
  expect(forgotten).toEqual([2]);
  await other.close();
  const again = open();
  await step(again, 3, 2, ["right", "x", { b: 6 }]);
  expect(await rowsOf(again)).toEqual([{ a: 2, b: 3 }]);
});

test("what is dropped for a terminated pipeline does not come back, and rows go on with new numbers", async () => {
  const one = open();
  await step(one, 1, 0, ["right", "x", { b: 1 }], ["left", "x", { a: 1 }], ["left", "x", { a: 2 }]);
  await one.close();
  await dropJoin(systemDisk, folder, 1);
  const other = open();
  await step(other, 2, 1, ["left", "x", { a: 3 }]);
  await step(other, 3, 2, ["right", "x", { b: 9 }]);
  expect(await rowsOf(other)).toEqual([
    { a: 1, b: 1 },
    { a: 3, b: 9 },
  ]);
  expect((await other.open()).lastRow).toBe(3);
});

test("a row that was dropped is none that waits", async () => {
  const one = open();
  await step(one, 1, 0, ["right", "x", { b: 1 }], ["left", "x", { a: 1 }], ["left", "x", { a: 2 }]);
  expect(one.newestRow).toBe(2);
  await one.close();
  await dropJoin(systemDisk, folder, 1);
  const other = open({ settled: 1 });
  await other.open();
  expect([other.newestRow, (await other.open()).waitingRows]).toEqual([1, 0]);
});

test("where the last rows were dropped, the next ones are waited for, and read", async () => {
  const one = open();
  await step(one, 1, 0, ["left", "x", { a: 1 }], ["left", "x", { a: 2 }], ["right", "x", { b: 1 }]);
  expect((await one.open()).lastRow).toBe(2);
  await opened.pop()!.close();
  await dropJoin(systemDisk, folder, 1);
  const other = open();
  const pause = { leave: () => undefined, wait: () => Promise.resolve() } as unknown as SourcePause;
  const source = new JoinedSource({ open: () => other.open(), next: 2, settled: 1, pause, onSettled: () => undefined });
  const signals = { drain: new AbortController().signal, leave: new AbortController().signal };
  await source.open(signals);
  expect(await source.next(10, 1e6)).toEqual([]);
  let isThere = false;
  const waiting = source.wait(1, undefined, signals.drain).then(() => (isThere = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isThere).toBe(false);
  await step(other, 2, 1, ["left", "x", { a: 3 }], ["right", "x", { b: 9 }]);
  source.arrived();
  await waiting;
  const [chunk] = await source.next(10, 1e6);
  expect(chunk).toMatchObject({ last: 3, events: [{ position: 3 }] });
});

test("at a limit of memory or disk no batch begins, and the text names both", async () => {
  const one = open({ limits: { memory: 1_000_000, storage: Infinity } });
  expect(await one.beforeBatch(begin)).toBeUndefined();
  await step(one, 1, 0, ["left", "x", { a: 1 }]);
  expect((await one.beforeBatch(begin))?.text).toMatch(
    /^the join buffers 1 events: its index takes \d+ of 1000000 bytes of memory/,
  );
  const full = open({ folder: join(folder, "other"), limits: { memory: Infinity, storage: 100 } });
  await step(full, 1, 0, ["left", "x", { a: "x".repeat(200) }]);
  expect((await full.beforeBatch(begin))?.text).toMatch(/its files \d+ of 100 bytes$/);
});

test("files without anything that counts are removed; what counts of a mostly empty one is moved", async () => {
  const one = open();
  const made = await one.open();
  const large = "x".repeat(30_000);
  // A step is written to one file, so this one is larger than the usual size.
  const events = Array.from({ length: 2_500 }, (_, index): Arrival => ["right", `${index}`, { b: index, large }]);
  await step(one, 1, 0, ...events);
  const later = events.slice(0, 2_400).map(([side, key], index): Arrival => [side, key, { b: index }]);
  await step(one, 2, 1, ...later);
  const before = made.bytes;
  await made.reclaim();
  expect(made.bytes).toBeLessThan(before * 0.6);
  expect(made.held("right").events).toBe(2_500);
  await step(one, 3, 2, ["left", "2450", { a: 1 }], ["left", "3", { a: 2 }]);
  expect(await rowsOf(one)).toEqual([
    { a: 1, b: 2_450 },
    { a: 2, b: 3 },
  ]);
  await one.close();
  const other = open();
  await step(other, 4, 3, ["left", "2499", { a: 3 }]);
  expect((await rowsOf(other)).at(-1)).toEqual({ a: 3, b: 2_499 });
});

test("a lone file of which little counts is left for another one", async () => {
  const one = open();
  const made = await one.open();
  const large = "x".repeat(30_000);
  // Each event takes the place of the one before it with its key.
  for (let at = 1; at <= 300; at += 1) {
    await step(one, at, at, ["right", `${at % 2}`, { b: at, large }], ["right", "other", { b: at }]);
    await made.reclaim();
  }
  expect(made.bytes).toBeLessThan(5_000_000);
  expect(made.held("right").events).toBe(3);
  await step(one, 301, 301, ["left", "1", { a: 1 }], ["left", "0", { a: 2 }]);
  expect((await rowsOf(one)).map((row) => (row as { b: number }).b)).toEqual([299, 300]);
  await one.close();
  const other = open();
  await step(other, 302, 302, ["left", "other", { a: 3 }]);
  expect((await rowsOf(other)).at(-1)).toEqual({ a: 3, b: 300 });
});

test(
  "a step may make far more rows than a call takes arguments, and a start reads them",
  { tags: ["rest"] },
  async () => {
    const one = open();
    const lefts = Array.from({ length: 130_000 }, (_, a): Arrival => ["left", "x", { a }]);
    await stepWith(one, { token: 1, at: 0, events: [["right", "x", { b: 1 }], ...lefts] });
    const rows = await rowsOf(one);
    expect([rows[0], rows.length, rows.at(-1)]).toEqual([{ a: 0, b: 1 }, 130_000, { a: 129_999, b: 1 }]);
    await one.close();
    expect(await rowsOf(open(), 120_001)).toEqual(rows.slice(120_000));
  },
);

test("a folder holds steps once there was one", async () => {
  expect(await holdsSteps(systemDisk, join(folder, "none"))).toBe(false);
  const one = open();
  await one.open();
  expect(await holdsSteps(systemDisk, folder)).toBe(false);
  await step(one, 1, 0, ["left", "x", { a: 1 }]);
  expect(await holdsSteps(systemDisk, folder)).toBe(true);
});

test("reports what it holds and what has happened since the last report", async () => {
  const one = open();
  await step(one, 1, 0, ["left", "x", { a: 1 }], ["left", "y", { a: 2 }]);
  await step(one, 2, 3_600_000, ["right", "x", { b: 1 }]);
  await one.close();
  const last = reports.at(-1)!;
  expect(last).toMatchObject({ waiting: 0, left: { events: 0, bytes: 0 }, right: { events: 1 } });
  expect(reports.reduce((sum, { left }) => sum + left.unmatched, 0)).toBe(2);
});
