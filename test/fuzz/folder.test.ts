import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyStory, FolderStory, type Sightings } from "./folder-story.ts";
import { isLongForm, seed, triesOf } from "./tries.ts";

const numRuns = triesOf(12);
const timeout = 120_000 + numRuns * 5_000;

/** Lives through stories until one breaks; gives what they saw together. */
async function stories(runs: number, waits?: number): Promise<Sightings> {
  const seen = { deleted: 0, halves: 0, changing: 0 };
  const lived = fc.asyncProperty(anyStory, async (one) => {
    const { deleted, halves, changing } = await FolderStory.live(one, waits);
    seen.deleted += deleted;
    seen.halves += halves;
    seen.changing += changing;
  });
  await fc.assert(lived, { numRuns: runs, seed, endOnFailure: true });
  return seen;
}

test(
  "no pipeline that the last state has is deleted, and no half of a file counts, whatever is copied, renamed, swapped and written in parts",
  { timeout },
  async () => {
    const { deleted, halves, changing } = await stories(numRuns);
    // Else the stories tried nothing.
    expect(deleted).toBeGreaterThan(0);
    expect(halves).toBeGreaterThan(0);
    expect(changing).toBeGreaterThan(0);
    if (isLongForm)
      console.log(
        `${numRuns} stories: ${halves} turns saw half a copy, ${changing} a file that was written; ${deleted} pipelines were deleted, as the last state lacks them`,
      );
  },
);

test.skipIf(isLongForm)("stories find a removal that waits for nothing", { tags: ["rest"] }, async () => {
  await expect(stories(20, 0)).rejects.toThrow();
});
