import { expect, test } from "vitest";
import { effects, effectsOf, nameOf, reckon, shareOf, type Effect } from "../../support/simulation/world/effects.ts";
import { kinds } from "../../support/simulation/world/story.ts";

/** What so many worlds met that brought about each effect just often enough, and every kind of thing. */
function enough(worlds: number): Map<string, number> {
  const all = Object.entries(effects) as [Effect, number][];
  const met = all.map(([effect, perThousand]): [string, number] => [nameOf(effect), (perThousand * worlds) / 1_000]);
  return new Map([...met, ...kinds.map((kind): [string, number] => [kind, 1]), ["busy pipeline", worlds]]);
}

test("worlds that bring about enough lack nothing", () => {
  const { lines, lacks } = reckon(enough(2_000), 2_000);
  expect(lacks).toEqual([]);
  expect(lines).toContain("| take-over | 24 | 14 |");
  expect(lines).toContain("0 of 2000 pipelines had no event");
});

test.each([
  ["an effect that is too seldom", nameOf("take-over"), 13, "too seldom: take-over"],
  ["pipelines that saw nothing", "idle pipeline", 41, "too many pipelines without an event: 41"],
])("%s is told", (_title, what, times, lack) => {
  expect(reckon(enough(2_000).set(what, times), 2_000).lacks).toEqual([lack]);
});

test("a kind of thing that never happened is told where there were many worlds", () => {
  const met = enough(2_000);
  met.delete("thread dies");
  expect(reckon(met, 2_000).lacks).toEqual(["never: thread dies"]);
  expect(reckon(met, 20).lacks).toEqual([]);
});

test("the share of effects that were met at all", () => {
  expect(shareOf(new Map())).toBe(0);
  expect(shareOf(enough(2_000))).toBe(100);
});

test("lines of the log tell effects, with how often", () => {
  const refusal = { class: "row", unknown: false };
  expect(effectsOf("Insert failed; it is retried.", refusal)).toEqual([
    ["insert refused", 1],
    ["row excluded", 1],
  ]);
  expect(effectsOf("Events were written to the dead-letter queue.", { count: 3 })).toEqual([["dead letter", 3]]);
  const reason = "partition 1 of topic orders: expected a leader, found none";
  expect(effectsOf("Pipeline is paused.", { reason })).toEqual([["paused for a leader", 1]]);
  expect(effectsOf("A revision was read.", {})).toEqual([]);
});
