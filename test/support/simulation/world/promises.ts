import { dedupWindow, type PipelineShape } from "./pipelines.ts";
import type { SentEvent } from "./ledger.ts";

/** What is there of one pipeline when its world has come to its end. */
export interface Outcome {
  shape: PipelineShape;
  sent: readonly SentEvent[];
  /** Ids of the rows of its table. */
  rows: readonly number[];
  /** When each row was written since the world began, in milliseconds. */
  times: readonly { id: number; writtenAt: number }[];
  /** The rows of every insert that reached its ClickHouse, also where nothing came of it. */
  received: readonly { id: number; token: string | undefined; row: string }[];
  /** Ids of its dead letters. */
  letters: readonly number[];
  /** Log lines that allow what would be broken otherwise, by their sentence. */
  said: ReadonlyMap<string, number>;
  /** Its file said `on_uncertain: skip` at some time. */
  hasSkipped: boolean;
  /** The table took at some time what its constraint refuses. */
  hadNoConstraint: boolean;
  /** The target recognises no repeat. */
  isAtLeastOnce: boolean;
  /** Dedup has forgotten: the pipeline was terminated, or deleted, or the clock was moved. */
  hasForgotten: boolean;
}

const uncertain = "Batch may already be in the table, and the table may no longer drop a repeated insert.";

/**
 * What must hold of every event when everything has come to its end, in words; empty where every promise was kept.
 *
 * - What was answered "stored" is there once: as a row, as a dead letter, or dropped on purpose: by the filter, or by
 *   dedup beside a row with its key.
 * - What was answered "not stored" is not there. What was not answered is there once or not at all.
 * - What the options allow for batches of which nobody knows whether they were written is allowed where that was said.
 */
export function breaches(outcome: Outcome): string[] {
  const { sent, shape } = outcome;
  const rows = counted(outcome.rows);
  const letters = counted(outcome.letters);
  const keys = new Set(sent.filter(({ id }) => rows.has(id)).map(({ key }) => key));
  const found = sent.flatMap((event) => {
    const [inTable, dead] = [rows.get(event.id) ?? 0, letters.get(event.id) ?? 0];
    return breachOf(event, inTable, dead, outcome, shape.hasDedup && keys.has(event.key));
  });
  const known = new Set(sent.map(({ id }) => id));
  for (const id of [...rows.keys(), ...letters.keys()]) if (!known.has(id)) found.push(`invented: ${id}`);
  return [...found, ...keysTwice(outcome), ...rowsOfOneToken(outcome)];
}

/** Under one token an event has one row, with one time, however often its batch is made again. */
function rowsOfOneToken({ received }: Outcome): string[] {
  const known = new Map<string, string>();
  return received.flatMap(({ id, token, row }) => {
    if (token === undefined) return [];
    const name = `${id} under ${token}`;
    const before = known.get(name) ?? row;
    known.set(name, row);
    return before === row ? [] : [`two rows under one token: ${before} and ${row}`];
  });
}

function breachOf(
  event: SentEvent,
  inTable: number,
  dead: number,
  { isAtLeastOnce, said, hasSkipped, hadNoConstraint }: Outcome,
  hasTwin: boolean,
): string[] {
  const { id, fate, answer, mayBeLost = false, mayBeDoubled = false } = event;
  const times = inTable + dead;
  const what = `${id} (${fate}, ${answer}): ${inTable} rows, ${dead} dead letters`;
  const wasUncertain = (said.get(uncertain) ?? 0) > 0;
  if (answer === "refused" && times > 0) return [`stored although refused: ${what}`];
  if (times > 1 && !mayBeDoubled && !isAtLeastOnce && !wasUncertain) return [`doubled: ${what}`];
  const canBeRow = fate === "row" || fate === "even" || (fate === "constraint" && hadNoConstraint);
  if (inTable > 0 && !canBeRow) return [`written although it cannot be: ${what}`];
  if (times > 0 || answer !== "stored" || mayBeLost || hasTwin) return [];
  if (fate === "filtered" || fate === "even" || (hasSkipped && wasUncertain)) return [];
  return [`lost: ${what}`];
}

/**
 * Rows with one key of which the later one was written within the window of when the earlier one was sent: their batches,
 * whose times decide, are no further from each other. An event that waits in its topic for longer than the window, as its
 * pipeline is paused, may be a row again.
 */
function keysTwice({ shape, sent, times, said, hasForgotten, isAtLeastOnce }: Outcome): string[] {
  // A batch that is inserted anew, as it may not be there, may have been judged anew by another config.
  if (!shape.hasDedup || hasForgotten || isAtLeastOnce || (said.get(uncertain) ?? 0) > 0) return [];
  const written = new Map(times.map(({ id, writtenAt }) => [id, writtenAt]));
  const last = new Map<string, SentEvent>();
  return sent.flatMap((event) => {
    const now = written.get(event.id);
    // One that became a dead letter has given its key up, and may be a row besides. One that its topic has lost may have
    // another event at its offset, whose end its key takes.
    if (now === undefined || event.mayBeDoubled === true || event.mayBeLost === true) return [];
    const before = last.get(event.key);
    last.set(event.key, event);
    if (before === undefined || Math.max(now, written.get(before.id)!) - before.at > dedupWindow) return [];
    return [`doubled key: ${before.id} and ${event.id} have the key ${event.key} and rows`];
  });
}

function counted(ids: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
