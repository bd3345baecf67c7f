import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { SmallDisk } from "../support/small-disk.ts";

const megabyte = 1024 * 1024;

test(
  "a full disk: nothing is answered 202 that is not kept, and all goes on when there is room",
  { timeout: 240_000 },
  async ({ skip }) => {
    requireOrSkip(SmallDisk.obstacle(), skip);
    const place = await Workplace.make();
    await mkdir(place.dataDir);
    const disk = await SmallDisk.make(place.dataDir, 300);
    try {
      // Mostly the delay is longer than it takes to fill the disk: some events are not written yet by then.
      await place.write(
        "full.yaml",
        pipelineFile("disk-full", { sink: "  max_batch_size: 1000\n  max_delay_time: 5s" }),
      );
      const daemon = await place.start({ env: tokenEnv, wrap: (command) => disk.wrap(command) });
      await daemon.until(async () => daemon.health("disk-full"), "to run the pipeline");
      const accepted: number[] = [];
      const post = async (n: number): Promise<Response> => {
        const response = await fetch(`${daemon.events}/v1/pipelines/disk-full/topics/input/events`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-pipeline-access-token": token },
          body: JSON.stringify({ id: `event-${n}`, n }),
        });
        if (response.status === 202) accepted.push(n);
        return response;
      };

      for (let n = 0; n < 50; n += 1) await post(n);
      expect(accepted).toHaveLength(50);
      await daemon.settled("disk-full");
      let paused: Health | undefined;
      while (paused === undefined) {
        // Empty but in the rounds after one in which a slow machine has written all events before the disk was full.
        disk.empty();
        for (let n = 0; n < 50; n += 1) await post(100 + accepted.length);
        disk.fill(0);
        // The room is looked at once a second, so a few more may find a place within it or be refused by the disk itself.
        const refused = await daemon.until(async () => {
          const response = await post(100 + accepted.length);
          return response.status === 202 ? undefined : response;
        }, "to refuse events on a full disk");
        expect([429, 503]).toContain(refused.status);
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
        paused = await pausedOrSettled(daemon);
      }
      expect(paused.overall_status).toBe("Running");
      expect(paused.paused!.text).toMatch(/full|space|room/i);

      disk.empty();
      const health = await daemon.settled("disk-full");
      expect(health.dead_letters.total_messages).toBe(0);
      const rows = await daemon.command("sql", "SELECT n FROM disk_full ORDER BY n", "--format", "TSV");
      expect(rows.split("\n").map(Number)).toEqual(accepted.toSorted((a, b) => a - b));
      expect((await post(5000)).status).toBe(202);
      expect(disk.freeBytes).toBeGreaterThan(megabyte);
    } finally {
      await place.clean();
      await disk.remove();
    }
  },
);

interface Health {
  paused?: { class: string; text: string };
  overall_status: string;
  stream: { messages: number };
  pending_batches: number;
}

/** The health of the pipeline when it pauses; undefined where it has nothing left to write. */
async function pausedOrSettled(daemon: Daemon): Promise<Health | undefined> {
  const { health } = await daemon.until(async () => {
    const now = await daemon.get<Health>("/api/v1/pipeline/disk-full/health");
    if (now.paused !== undefined) return { health: now };
    return now.stream.messages + now.pending_batches === 0 ? { health: undefined } : undefined;
  }, "to pause on the full disk");
  return health;
}
