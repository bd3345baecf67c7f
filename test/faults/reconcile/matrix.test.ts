import { expect, test } from "vitest";
import { SmallDisk } from "../../support/small-disk.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { reconcileFaults } from "./suite.ts";
import { tableOf } from "./table.ts";

/** One of each kind: Git is away, broken or hostile, and the engine fails. */
const oneOfEach = [
  "connections cut off",
  "a pack with a wrong byte",
  "every file removed",
  "a YAML bomb",
  "an edit that is refused",
];

/** Those that the reconciler deals with in a way of its own. The others are reasons of Git, which `test/integration/git` has. */
const others = [
  "silence before the headers",
  "redirected to another repository",
  "paths that differ in case",
  "a broken commit in the middle of a series",
  "a field that cannot change",
  "a commit with a wrong login",
  "a file of another tool",
  "a rollback while Git is away",
  "an operator's stop that is ended",
  "a push hook before its commit shows",
  "another branch, which lacks pipelines",
  "a first start that finds no pipeline",
  "a folder emptied and copied again, file by file",
  "the clock an hour ahead",
  "a stop that does not end, while others change",
  "a pipeline of somebody else",
];

const title = "each fault is told, changes nothing that runs, and is over when it ends";

test(title, { timeout: 480_000 }, async ({ skip }) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  await expectWithstood({ only: oneOfEach, patience: 60_000, silence: 60_000 });
});

test(`${title}: the others`, { tags: ["rest"], timeout: 960_000 }, async ({ skip }) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  await expectWithstood({ only: others, patience: 20_000, silence: 3_000 });
});

/** Pushes are announced, so few looks find anything. */
const course = { lasting: 0, announced: true, interval: 2_000, files: 60, commits: 12 };

async function expectWithstood(of: { only: readonly string[]; patience: number; silence: number }): Promise<void> {
  const { verdicts, events } = await reconcileFaults({ ...course, ...of });
  expect(
    verdicts.filter(({ broken }) => broken.length > 0),
    tableOf(verdicts),
  ).toEqual([]);
  expect(events).toEqual({ accepted: expect.any(Number) as number, lost: 0, doubled: 0, leaked: [] });
  expect(events.accepted).toBeGreaterThan(0);
}
