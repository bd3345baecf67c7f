import { afterAll, beforeAll, expect, test } from "vitest";
import type { DeadLetters } from "../../../engine/state/dead-letters.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import { breaches } from "../../support/model/breaches.ts";
import type { Trick } from "../../support/model/target.ts";
import { World } from "../../support/model/world.ts";
import { openJournal } from "../../support/journal.ts";

let close: () => Promise<void>;
let letters: DeadLetters;
let journal: StoreJournal;

beforeAll(async () => void ({ journal, letters, close } = await openJournal()));

afterAll(() => close());

const lost: Trick[] = Array.from({ length: 500 }, () => "unknown, nothing in");

test.each<[first: string, tricks: Trick[]]>([
  ["the first answer", ["answer"]],
  ["the answer to a repeat", ["unknown, nothing in", "answer"]],
])(
  "a row that %s refuses is a dead letter also where the process ends after the rest was sent, and the table takes it by then",
  async (first, tricks) => {
    for (let turns = 1; turns < 40; turns += 1) {
      const world = new World(`exclusions-${first.length}-${turns}`, journal, letters, {
        hasDedup: false,
        replicas: 1,
        window: 10_000,
        on_uncertain: "insert",
        on_view_error: "pause",
      });
      // The whole is refused; the rest is written, and its answer does not come.
      await world.let({ kind: "tricks", tricks: [...tricks, "unknown, all in", ...lost] });
      const events = ["row", "server", "row"] as const;
      await world.let({ kind: "push", events: events.map((fate, key) => ({ key: String(key), fate, partition: 1 })) });
      await world.let({ kind: "work", turns });
      world.target.next = [];
      await world.let({ kind: "mend" });
      await world.let({ kind: "crash" });
      await world.settle();
      expect(breaches(world, true)).toEqual([]);
    }
  },
);
