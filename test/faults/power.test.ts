/** @module-tag rest */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { freeListeners, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { Random } from "../support/random.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { EventMix } from "./event-mix.ts";
import { findAll } from "./found.ts";
import { Ledger } from "./ledger.ts";
import { died } from "./patience.ts";
import { LoopDisk } from "../support/loop-disk.ts";
import { failAgain } from "./power/power.ts";
import { brokenByPower } from "./power/report.ts";
import { Poster } from "./poster.ts";
import { Trap } from "./trap.ts";
import { fileOf, variantOf } from "./variants.ts";

const machine = { system: "ext4", diskOf: "both", hasChattr: true, pace: "dense" } as const;
const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

test(
  `power is cut twice: nothing that was answered is lost or doubled (FAULTS_SEED=${seed})`,
  { timeout: 400_000 },
  async ({ skip }) => {
    requireOrSkip(LoopDisk.obstacle("ext4"), skip);
    const reports = await failAgain({ ...machine, failure: "power", failures: 2, seed });
    expect(brokenByPower(reports)).toEqual([]);
    expect(reports.map(({ uncertain }) => uncertain)).toEqual(reports.map(() => 0));
  },
);

test(
  `a disk turns read-only: Sluice ends itself, and nothing that was answered is lost or doubled (FAULTS_SEED=${seed})`,
  { timeout: 400_000 },
  async ({ skip }) => {
    requireOrSkip(LoopDisk.obstacle("ext4"), skip);
    const reports = await failAgain({ ...machine, failure: "read-only", failures: 2, seed });
    expect(brokenByPower(reports)).toEqual([]);
    expect(reports[0]!.endings).toEqual(["code 1", "code 1"]);
  },
);

test.for([
  ["turns read-only", "ext4", "read-only"],
  ["is shut down", "xfs", "shut down"],
] as const)(
  "a disk that %s while nothing is sent: the next request is not answered, and Sluice ends itself",
  async ([, system, failure], { skip }) => {
    requireOrSkip(LoopDisk.obstacle(system), skip);
    const place = await Workplace.make();
    const variant = variantOf("plain");
    const disk = LoopDisk.make(system, join(place.path, "image"), place.dataDir);
    try {
      await place.write("plain.yaml", fileOf(variant));
      const daemon = await place.start({ listeners: await freeListeners(), env: tokenEnv });
      await daemon.until(() => daemon.health(variant.pipeline_id), "to have it");
      const url = `${daemon.events}/v1/pipelines/${variant.pipeline_id}/topics/input/events`;
      const headers = { "content-type": "application/json", "x-pipeline-access-token": token };
      const post = (): Promise<Response> => fetch(url, { method: "POST", headers, body: "{}" });
      expect((await post()).status).toBe(202);
      await daemon.settled(variant.pipeline_id);
      // Until nothing is written any more.
      await sleep(2_000);
      // What is mapped and was written back is written through the file system again.
      execFileSync("sync", ["-f", place.dataDir]);
      disk.fail(failure);
      await expect(post()).rejects.toThrow("fetch failed");
      await daemon.ended();
      expect(daemon.ending).toBe("code 1");
      expect(daemon.log.at(-1)).toContain("Sluice ends");
    } finally {
      disk.leave();
      await place.clean();
    }
  },
);

test("where tokens may have been lost with the machine, a batch without an answer is uncertain, and counted", async () => {
  const place = await Workplace.make();
  const variant = variantOf("plain");
  const { pipeline_id } = variant;
  const ledger = new Ledger();
  try {
    const trap = await Trap.make(place.path);
    await place.write("plain.yaml", fileOf(variant));
    const start = { listeners: await freeListeners(), env: { ...tokenEnv, ...trap.env } };
    let daemon = await place.start(start);
    await daemon.until(() => daemon.health(pipeline_id), "to have it");
    await trap.arm({ step: "after the insert", pipeline_id, nth: 3 });
    const mix = new EventMix(new Random(0), { withBad: false, repeats: 0 });
    const poster = new Poster({ url: daemon.events, pipeline_id, token, mix, ledger, connections: 2 });
    await died(daemon, "to come to a batch after the insert");
    await poster.stop();
    await trap.collect();
    const path = join(place.dataDir, "clickhouse", "memory.json");
    const memory = JSON.parse(await readFile(path, "utf8")) as { identity: string };
    await writeFile(path, JSON.stringify({ ...memory, unsynced_in: "the run before" }));
    daemon = await place.start(start);
    await daemon.settled(pipeline_id);
    const { counters } = await daemon.get<{ counters: object }>(`/api/v1/pipeline/${pipeline_id}/health`);
    expect(counters).toMatchObject({ batches_replayed: 1, batches_uncertain: 1 });
    const { lost, doubled } = ledger.audit(await findAll(daemon, pipeline_id), false);
    expect(lost).toEqual([]);
    expect(doubled, "it was in the table, and on_uncertain is insert").not.toEqual([]);
  } finally {
    await place.clean();
  }
});
