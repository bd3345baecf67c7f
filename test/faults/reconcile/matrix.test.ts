import { expect, test } from "vitest";
import { SmallDisk } from "../../support/small-disk.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { reconcileFaults } from "./suite.ts";
import { tableOf } from "./table.ts";

test(
  "each fault is told, changes nothing that runs, and is over when it ends",
  { timeout: 480_000 },
  async ({ skip }) => {
    requireOrSkip(SmallDisk.obstacle(), skip);
    const { verdicts, events } = await reconcileFaults({
      isShort: true,
      lasting: 0,
      announced: true,
      patience: 5_000,
      files: 60,
      commits: 12,
    });
    expect(
      verdicts.filter(({ broken }) => broken.length > 0),
      tableOf(verdicts),
    ).toEqual([]);
    expect(events).toEqual({ accepted: expect.any(Number) as number, lost: 0, doubled: 0, leaked: [] });
    expect(events.accepted).toBeGreaterThan(0);
  },
);
