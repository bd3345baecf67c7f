import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Push } from "../../engine/core/push.ts";
import { EmbeddedReader } from "../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../engine/streams/embedded/embedded-stream.ts";
import { systemDisk } from "../../engine/system/disk.ts";
import { plainWrites } from "./stream-floor.ts";

const total = 1_000_000;
const eventBytes = 500;
const tenth = total / 10;
/** Events in a push, and how many pushes wait for their answers at a time. */
const cases = { 1: 500, 100: 20, 1000: 20 };
/** One read takes at most so many, and one trim settles so many. */
const readEvents = 10_000;
const readBytes = 8 * 1024 * 1024;
const trimmed = 1_000;

/**
 * A stream that grows to a million events, is opened again, read and emptied: what each costs at the beginning and at
 * the end, beside plain writes of the same groups with fdatasync. Each size of push in a process of its own.
 */
export async function run(): Promise<void> {
  console.log(`${total} events of ${eventBytes} bytes; the first ${tenth} of them, and the last ${tenth}`);
  for (const size of Object.keys(cases)) {
    const program = ["--expose-gc", "--import", "tsx", fileURLToPath(import.meta.url), size];
    const { status } = spawnSync(process.execPath, program, { stdio: "inherit" });
    if (status !== 0) throw new Error(`the run with pushes of ${size} events failed`);
  }
}

async function measure(size: keyof typeof cases): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-stream-bench-"));
  try {
    const group = cases[size] * size * eventBytes;
    const floors = [await plainWrites(folder, group, tenth * eventBytes)];
    const before = await memory();
    let stream = await openStream(folder);
    const appends = await append(stream, size);
    floors.push(await plainWrites(folder, group, tenth * eventBytes));
    const after = await memory();
    console.log(`\npushes of ${size}, ${cases[size]} at a time`);
    for (const [index, when] of ["beginning", "end"].entries()) {
      const rate = [appends[0]!, appends.at(-1)!][index]!;
      const floor = floors[index]! / eventBytes;
      console.log(
        `  append, ${when.padEnd(9)} ${perSecond(rate)}   plain ${perSecond(floor)}   ${(rate / floor).toFixed(2)} of it`,
      );
    }
    console.log(`  memory for a million events held: ${((after - before) / 1e6).toFixed(1)} MB`);
    await stream.close();
    const opened = await timed(async () => {
      stream = await openStream(folder);
    });
    console.log(
      `  open again ${opened.toFixed(0)} ms, look for old events ${(await lookForOld(stream)).toFixed(1)} ms`,
    );
    const reads = await read(folder);
    console.log(`  read, beginning ${perSecond(reads[0]!)}, end ${perSecond(reads.at(-1)!)}`);
    console.log(`  a read of ${trimmed} events from any place ${(await readAnywhere(folder)).toFixed(1)} ms`);
    const trims = await trim(stream);
    console.log(
      `  a trim of ${trimmed} events, beginning ${trims[0]!.toFixed(3)} ms, end ${trims.at(-1)!.toFixed(3)} ms`,
    );
    await stream.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function openStream(folder: string): Promise<EmbeddedStream> {
  const limits = { max_bytes: Infinity, max_msgs: Infinity };
  return EmbeddedStream.open(systemDisk, join(folder, "stream"), { limits, trimmed: 0, onAppended: () => undefined });
}

/** Events a second for each tenth. */
async function append(stream: EmbeddedStream, size: keyof typeof cases): Promise<number[]> {
  const bytes = Buffer.from(`{"text":"${"x".repeat(eventBytes - 11)}"}`.repeat(size));
  const ends = Array.from({ length: size }, (_, index) => (index + 1) * eventBytes);
  const push: Push = { bytes, ends, receivedAt: 1 };
  const rates: number[] = [];
  for (let done = 0; done < total; done += tenth) {
    let left = tenth / size;
    const one = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await stream.append(push);
      }
    };
    const ms = await timed(() => Promise.all(Array.from({ length: cases[size] }, one)));
    rates.push((tenth / ms) * 1000);
  }
  return rates;
}

async function read(folder: string): Promise<number[]> {
  const reader = new EmbeddedReader(systemDisk, join(folder, "stream"), total);
  const rates: number[] = [];
  let position = 1;
  for (let until = tenth; until <= total; until += tenth) {
    const ms = await timed(async () => {
      while (position <= until) {
        const runs = await reader.read(position, Math.min(readEvents, until - position + 1), readBytes);
        position = runs.at(-1)!.events.at(-1)!.position + 1;
      }
    });
    rates.push((tenth / ms) * 1000);
  }
  await reader.close();
  return rates;
}

/** The mean of reads that jump over the whole stream, in milliseconds. */
async function readAnywhere(folder: string): Promise<number> {
  const reader = new EmbeddedReader(systemDisk, join(folder, "stream"), total);
  const jumps = 200;
  const ms = await timed(async () => {
    for (let jump = 0; jump < jumps; jump += 1) {
      await reader.read(1 + ((jump * 617_293) % (total - trimmed)), trimmed, readBytes);
    }
  });
  await reader.close();
  return ms / jumps;
}

/** Milliseconds of a trim, for each tenth. */
async function trim(stream: EmbeddedStream): Promise<number[]> {
  const times: number[] = [];
  for (let done = 0; done < total; done += tenth) {
    const ms = await timed(async () => {
      for (let position = done; position < done + tenth; position += trimmed) await stream.trim(position + trimmed);
    });
    times.push((ms * trimmed) / tenth);
  }
  if (stream.state.messages > 0) throw new Error(`expected an empty stream, found ${stream.state.messages} events`);
  return times;
}

function lookForOld(stream: EmbeddedStream): Promise<number> {
  return timed(async () => {
    const { count } = await stream.olderThan(2);
    if (count !== total) throw new Error(`expected ${total} old events, found ${count}`);
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Bytes in use, once nothing is under way. */
async function memory(): Promise<number> {
  globalThis.gc?.();
  await sleep(100);
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function perSecond(rate: number): string {
  return `${Math.round(rate).toString().padStart(9)} events/s`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await measure(Number(process.argv[2]) as keyof typeof cases);
