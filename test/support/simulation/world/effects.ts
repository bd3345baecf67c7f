import { kinds } from "./story.ts";

/**
 * What the happenings of worlds are to bring about, each with how often at least in a thousand worlds: a promise is kept
 * by chance where nothing tries it. The numbers are about a fourth of what was seen.
 */
export const effects = {
  "row excluded": 200,
  "insert repeated": 250,
  "batch uncertain": 25,
  "token without rows": 8,
  "batch replayed": 70,
  "batch prepared again": 2,
  "drop judged again": 75,
  "dedup key checked": 250,
  "dead letter": 850,
  "dead letter reprocessed": 60,
  "insert refused": 200,
  "answer unknown": 220,
  "error when all was written": 25,
  "repeat dropped by the table": 2_000,
  "view failed": 70,
  "view completed by a repeat": 20,
  "view error ignored": 5,
  "view row checked": 850,
  "paused for async_insert": 40,
  "row by a strange profile": 850,
  "row of OTLP": 360,
  "row of a join": 190,
  "take-over": 12,
  "owner checked": 4,
  "offsets skipped": 0.5,
  "reader told of an election": 7,
  "cut log skipped": 4,
  "message in place of a cut one": 20,
  "paused for a leader": 20,
  "event read beside no leader": 150,
  "members that cannot be read": 18,
  "offset of another ignored": 55,
  "thread died": 20,
  "clock step held": 10,
  "event refused": 130,
} as const satisfies Record<string, number>;

/** The most pipelines that may be without any event, of a hundred. */
const mostIdle = 2;
/** In fewer worlds some kind of thing may not happen, by chance. */
const manyWorlds = 1_000;

export type Effect = keyof typeof effects;

/** How many of the effects were brought about at all, of a hundred. */
export function shareOf(met: ReadonlyMap<string, number>): number {
  const all = Object.keys(effects) as Effect[];
  return (100 * all.filter((effect) => met.has(nameOf(effect))).length) / all.length;
}

/** What a line of the log says of an effect, by its sentence: how often it was met. */
const sentences: Readonly<Record<string, (fields: Record<string, unknown>) => [Effect, number][]>> = {
  "Insert is sent again with the same deduplication token.": () => [["insert repeated", 1]],
  "Batch may already be in the table, and the table may no longer drop a repeated insert.": () => [
    ["batch uncertain", 1],
  ],
  "The answer to an insert was lost and the table does not hold its rows; the batch is sent with a new token.": () => [
    ["token without rows", 1],
  ],
  "Pending batch of an earlier run is resumed.": () => [["batch replayed", 1]],
  "Batch is prepared again with the new config.": () => [["batch prepared again", 1]],
  "Deferred duplicates released: the original was rejected.": ({ again }) => [["drop judged again", Number(again)]],
  "Events were written to the dead-letter queue.": ({ count }) => [["dead letter", Number(count)]],
  "Insert failed; it is retried.": ({ unknown, class: kind }) => [
    [unknown === true ? "answer unknown" : "insert refused", 1],
    ...(kind === "row" ? [["row excluded", 1] as [Effect, number]] : []),
  ],
  "Batch was written to the table, but not to a materialized view that fails.": () => [["view error ignored", 1]],
  "Pipeline is paused.": ({ reason }) => {
    if (String(reason).includes("async_insert")) return [["paused for async_insert", 1]];
    return String(reason).includes("expected a leader, found none") ? [["paused for a leader", 1]] : [];
  },
  "The log of a partition is not the one that was read. Reading goes on where they part; it is unknown how many events the log lost there.":
    () => [["cut log skipped", 1]],
  "Other applications are members of the consumer group: Sluice does not read their partitions.": ({ members }) =>
    String(members).includes("members that cannot be read") ? [["members that cannot be read", 1]] : [],
  "Another application committed an offset in the consumer group; the offset is ignored.": () => [
    ["offset of another ignored", 1],
  ],
  "The consumer group is taken over from another run; pending batches that the other run may have read are given up.":
    () => [["take-over", 1]],
  "The process was frozen, or its clock was set: nothing is written until the owner of the consumer group is confirmed.":
    () => [["owner checked", 1]],
  "The next offsets to read are not in the topic; they are skipped.": () => [["offsets skipped", 1]],
  "A pipeline thread died; its pipelines are started again.": () => [["thread died", 1]],
  "The wall clock jumped by more than an hour; the pipeline keeps its own time for up to an hour.": () => [
    ["clock step held", 1],
  ],
};

/** The effects that a line of the log tells. */
export function effectsOf(sentence: string, fields: Record<string, unknown>): [Effect, number][] {
  return sentences[sentence]?.(fields) ?? [];
}

/** How `met` names an effect. */
export function nameOf(effect: Effect): string {
  return `effect: ${effect}`;
}

/** What worlds brought about, as lines of a table, and what they should have brought about besides, in words. */
export interface Reckoning {
  lines: string[];
  lacks: string[];
}

/** Reckons up what so many worlds met. Few worlds are allowed more chance than many. */
export function reckon(met: ReadonlyMap<string, number>, worlds: number): Reckoning {
  const rows = (Object.entries(effects) as [Effect, number][]).map(([effect, perThousand]) => {
    const expected = (perThousand * worlds) / 1_000;
    const least = Math.max(0, Math.floor(expected - 2 * Math.sqrt(expected)));
    return { effect, least, times: met.get(nameOf(effect)) ?? 0 };
  });
  const [idle, busy] = [met.get("idle pipeline") ?? 0, met.get("busy pipeline") ?? 0];
  const mayBeIdle = Math.max(1, ((idle + busy) * mostIdle) / 100);
  const never = worlds < manyWorlds ? [] : kinds.filter((kind) => !met.has(kind));
  return {
    lines: [
      "| effect | met | at least |",
      "| --- | --- | --- |",
      ...rows.map(({ effect, least, times }) => `| ${effect} | ${times} | ${least} |`),
      `${idle} of ${idle + busy} pipelines had no event`,
    ],
    lacks: [
      ...rows.filter(({ least, times }) => times < least).map(({ effect }) => `too seldom: ${effect}`),
      ...(idle > mayBeIdle ? [`too many pipelines without an event: ${idle}`] : []),
      ...never.map((kind) => `never: ${kind}`),
    ],
  };
}
