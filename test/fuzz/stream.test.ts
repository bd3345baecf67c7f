import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Disk, DiskFile } from "../../engine/core/disk.ts";
import { StreamStory, type Happening } from "../support/simulation/stream-story.ts";
import { seed, triesOf } from "./tries.ts";

const numRuns = triesOf(300);
const timeout = 120_000 + numRuns * 100;

const turns = fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 300 }));
const part = fc.oneof(fc.constantFrom(0, 1000), fc.nat({ max: 1000 }));
const crash = fc.option(fc.nat({ max: 120 }), { nil: undefined });
const kth = fc.integer({ min: 1, max: 6 });
const lost = { code: fc.constantFrom("EIO", "ENOSPC", "EMFILE"), taken: fc.constantFrom("nothing", "part", "all") };

const fault = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      call: fc.constantFrom("write", "datasync", "sync", "truncate"),
      kth: fc.integer({ min: 1, max: 3 }),
      fault: fc.record(lost),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      call: fc.constantFrom("syncFolder", "rename", "unlink", "open", "close"),
      kth: fc.integer({ min: 1, max: 3 }),
      fault: fc.record(lost),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      call: fc.constantFrom("read", "size", "readdir", "rm", "mkdir"),
      kth,
      fault: fc.record(lost),
    }),
  },
  { weight: 1, arbitrary: fc.record({ call: fc.constant("write"), kth, fault: fc.constant({ taken: "part" }) }) },
);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("push"),
      // Often alike, so that a frame may lie where another one was.
      sizes: fc.array(fc.oneof(fc.constantFrom(20, 60), fc.integer({ min: 1, max: 200 })), {
        minLength: 1,
        maxLength: 4,
      }),
      turns,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("trim"), part, turns }) },
  { weight: 7, arbitrary: fault.map((one) => ({ kind: "fault", ...one })) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("crash") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("flip"), bit: fc.nat({ max: 999 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("read"), part }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release"), part, crash }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen"), crash }) },
) as fc.Arbitrary<Happening>;

const stories = fc.array(happening, { minLength: 3, maxLength: 40 });

async function told(
  story: readonly Happening[],
  choices: number,
  sabotage?: (disk: Disk) => Disk,
): Promise<StreamStory> {
  const stream = new StreamStory(choices, sabotage);
  await stream.begin();
  for (const one of story) await stream.let(one);
  await stream.end();
  return stream;
}

test(
  "whatever fails and whenever the power goes, what was answered is there, what was refused is not, and no sequence comes twice",
  { timeout },
  async () => {
    const met = new Set<string>();
    await fc.assert(
      fc.asyncProperty(stories, fc.nat(), async (story, choices) => {
        const { disk } = await told(story, choices);
        for (const one of disk.met.keys()) met.add(one.split(" ", 1)[0]!);
      }),
      { numRuns, seed },
    );
    // A run that met no fault has shown nothing.
    for (const call of ["write", "datasync", "sync", "truncate", "syncFolder", "rename", "open", "read"]) {
      expect(met).toContain(call);
    }
  },
);

/** A disk of which some calls do something else. */
function withFiles(disk: Disk, change: (file: DiskFile) => Partial<DiskFile>): Disk {
  return {
    ...disk,
    open: async (path, mode) => {
      const file = await disk.open(path, mode);
      return { ...file, ...change(file) };
    },
  };
}

function withoutMark(disk: Disk): Disk {
  const missing = Object.assign(new Error("ENOENT"), { code: "ENOENT" });
  return {
    ...disk,
    open: (path, mode) =>
      path.endsWith("/answered") && mode === "read" ? Promise.reject(missing) : disk.open(path, mode),
  };
}

const nothing = (): Promise<void> => Promise.resolve();

const plants: [string, (disk: Disk) => Disk][] = [
  ["appended events are not synced", (disk) => withFiles(disk, () => ({ datasync: nothing }))],
  ["what a failed write left is not cut", (disk) => withFiles(disk, () => ({ truncate: nothing }))],
  ["the cut is not synced", (disk) => withFiles(disk, () => ({ sync: nothing }))],
  ["folders are not synced", (disk) => ({ ...disk, syncFolder: nothing })],
  ["what was answered is not known at a start", withoutMark],
];

test.each(plants)("a planted fault is found: %s", { timeout }, async (_title, sabotage) => {
  const details = await fc.check(
    fc.asyncProperty(stories, fc.nat(), async (story, choices) => {
      await told(story, choices, sabotage);
    }),
    { numRuns: 2_000, seed, endOnFailure: true },
  );
  expect(details.failed).toBe(true);
});
