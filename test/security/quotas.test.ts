/** @module-tag rest */
import { mkdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { isFull } from "./attacks.ts";
import { flood } from "./flood.ts";
import { Neighbour } from "./neighbour.ts";

/** A sender with a token adds events to one pipeline: what that cannot do to the disk and to the other pipelines. */

const megabyte = 1024 * 1024;
/** Of the disk, in megabytes. */
const diskSize = isFull ? 500 : 200;
/** In its full size against the defaults, which are shares of the disk. */
const bounds = isFull ? [] : ["--dead-letters-max-size", "32Mi", "--stream-max-size", "16Mi"];
let place: Workplace;
let disk: SmallDisk;
let daemon: Daemon;

beforeEach(async ({ skip }) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  place = await Workplace.make();
  await mkdir(place.dataDir);
  disk = await SmallDisk.make(place.dataDir, diskSize);
  await place.write("attack.yaml", pipelineFile("attack"));
  await place.write("orders.yaml", pipelineFile("orders"));
  await Neighbour.write(place);
});

afterEach(async () => {
  await place?.clean();
  await disk?.remove();
});

async function start(args: string[] = []): Promise<void> {
  daemon = await place.start({
    env: tokenEnv,
    wrap: (command) => disk.wrap(command),
    args: ["--dir", place.pipelines, ...bounds, ...args],
  });
  for (const id of ["attack", "orders"]) {
    await daemon.until(
      async () => ((await daemon.health(id)).overall_status === "Running" ? true : undefined),
      `to run ${id}`,
    );
  }
}

const urlOf = (id: string): string => `${daemon.events}/v1/pipelines/${id}/topics/input/events`;
const health = (id: string): Promise<PipelineHealth> => daemon.get(`/api/v1/pipeline/${id}/health`);

async function post(id: string, event: unknown): Promise<number> {
  const headers = { "content-type": "application/json", "x-pipeline-access-token": token };
  const response = await fetch(urlOf(id), { method: "POST", headers, body: JSON.stringify(event) });
  return response.status;
}

/** A sender of the other pipeline: one event after the other until the signal; returns how each was answered. */
async function otherSender(signal: AbortSignal): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 1; !signal.aborted; n += 1) {
    statuses.push(await post("orders", { id: `order-${n}`, n }));
    await sleep(100);
  }
  return statuses;
}

type Statuses = ReadonlyMap<number, number>;

/** Floods one pipeline, again until `isEnough`, while the other one is used. */
async function attack(
  requests: number,
  size: number,
  isEnough: (answered: Statuses) => Promise<boolean> | boolean = () => true,
): Promise<{ attacker: Statuses; other: number[] }> {
  const over = new AbortController();
  const other = otherSender(over.signal);
  const attacker = new Map<number, number>();
  try {
    do {
      const answered = await flood({ url: urlOf("attack"), token, requests, atOnce: 8, size });
      for (const [status, times] of answered) attacker.set(status, (attacker.get(status) ?? 0) + times);
    } while (!(await isEnough(attacker)));
  } finally {
    over.abort();
  }
  return { attacker, other: await other };
}

test(
  "a flood of bad events fills the bounds of its pipeline, and neither the disk nor another pipeline",
  { timeout: 300_000 },
  async () => {
    await start();
    // What is refused fills nothing: how many requests it takes depends on how fast the others are written.
    const isBounded = async (answered: Statuses): Promise<boolean> =>
      answered.has(429) && (await health("attack")).paused !== undefined;
    const neighbour = await Neighbour.of(daemon);
    const { result, delays } = await neighbour.during(() => attack(isFull ? 10_000 : 40, 400_000, isBounded));
    const { attacker, other } = result;
    neighbour.noted("a flood of bad events", delays, `${Math.round(disk.freeBytes / megabyte)} MB of ${diskSize} left`);
    expect(new Set(other)).toEqual(new Set([202]));
    expect(new Set(attacker.keys())).toEqual(new Set([202, 429]));
    expect(disk.freeBytes).toBeGreaterThan(0.1 * diskSize * megabyte);

    const paused = await daemon.until(async () => {
      const found = await health("attack");
      return found.paused === undefined ? undefined : found;
    }, "to pause the pipeline");
    expect(paused).toMatchObject({ overall_status: "Running", paused: { class: "letters" } });
    expect(paused.dead_letters.bytes).toBeGreaterThanOrEqual(paused.dead_letters.max_bytes);
    const orders = await daemon.settled("orders");
    expect(orders.counters.rows_written).toBe(other.length);
    expect((await health("orders")).paused).toBeUndefined();

    // A way out ends the pause.
    const before = disk.freeBytes;
    await daemon.command("dlq", "purge", "attack");
    await daemon.until(
      async () => ((await post("attack", { id: "good", n: 1 })) === 202 ? true : undefined),
      "to go on",
    );
    // Events of the flood that were accepted become dead letters now; they are purged too.
    await daemon.settled("attack");
    await daemon.command("dlq", "purge", "attack");
    await daemon.stop();
    await start(["--push-events-per-second", "20"]);
    // Less is left to the next writes (test/faults/compaction.test.ts).
    if (isFull) expect(disk.freeBytes).toBeGreaterThan(before + 64 * megabyte);
    expect((await health("attack")).dead_letters).toMatchObject({ total_messages: 0, bytes: 0 });

    // A sender that is faster than the setting gets 429, and the others do not.
    const faster = await attack(200, 100, (answered) => (answered.get(429) ?? 0) > 100);
    expect(new Set(faster.other)).toEqual(new Set([202]));
  },
);
