import type { Effect } from "./effects.ts";
import { dedupWindow, type PipelineShape } from "./pipelines.ts";
import type { SentEvent } from "./ledger.ts";

export interface TableRow {
  id: number;
  /** The right event of a join, 0 for none. */
  partner: number;
  writtenAt: number;
}

/** What is broken of what was promised, in words, and how often what was looked at. */
export interface Verdict {
  found: string[];
  checked: ReadonlyMap<Effect, number>;
}

/** What is there of one pipeline when its world has come to its end. */
export interface Outcome {
  shape: PipelineShape;
  sent: readonly SentEvent[];
  /** The rows of its table by their events, with when each was written since the world began, in milliseconds. */
  rows: readonly TableRow[];
  /** Where a materialized view hangs on the table: the ids of the rows that it made. */
  view?: { rows: readonly number[]; mayLack: boolean };
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
export const eventsGone = "Events of a pending batch are gone from the source; the batch goes on without them.";
const withoutView = "Batch was written to the table, but not to a materialized view that fails.";

/**
 * What must hold of every event when everything has come to its end; nothing is found where every promise was kept.
 *
 * - What was answered "stored" is there once: as a row, as a dead letter, or dropped on purpose: by the filter, or by
 *   dedup beside a row with its key. A left event of a join is there once if a right one has its key, else not at all.
 * - What was answered "not stored" is not there. What was not answered is there once or not at all.
 * - A view has what its table has.
 * - What the options allow for batches of which nobody knows whether they were written is allowed where that was said.
 */
export function breaches(outcome: Outcome): Verdict {
  const { sent, shape } = outcome;
  const rows = counted(outcome.rows.map(({ id }) => id));
  const letters = counted(outcome.letters);
  // What it repeats may be gone from its topic, of a batch that may be in the table without it or with it.
  const hasGone = (outcome.said.get(eventsGone) ?? 0) > 0;
  const isOriginal = ({ id, mayBeLost }: SentEvent): boolean => rows.has(id) || (hasGone && mayBeLost === true);
  const keys = new Set(sent.filter(isOriginal).map(({ key }) => key));
  const partnersOf = partnersByKey(sent);
  const found = sent.flatMap((event) => {
    const there = { rows: rows.get(event.id) ?? 0, letters: letters.get(event.id) ?? 0 };
    if (shape.source === "join") return joinBreachOf(event, there, outcome, partnersOf.get(event.key) ?? []);
    return breachOf(event, there, outcome, shape.hasDedup && keys.has(event.key));
  });
  const known = new Set(sent.map(({ id }) => id));
  for (const id of [...rows.keys(), ...letters.keys()]) if (!known.has(id)) found.push(`invented: ${id}`);
  const twice = keysTwice(outcome);
  const strange = shape.target.profile === "usual" ? 0 : outcome.rows.length;
  return {
    found: [...found, ...twice.found, ...rowsOfOneToken(outcome), ...strangers(outcome), ...viewBreaches(outcome)],
    checked: new Map<Effect, number>([
      ["dedup key checked", twice.checked],
      ["view row checked", outcome.view?.rows.length ?? 0],
      ["row by a strange profile", strange],
      ["row of OTLP", shape.source === "otlp" ? outcome.rows.length : 0],
      ["row of a join", shape.source === "join" ? outcome.rows.length : 0],
    ]),
  };
}

/** The right events of a join that can be partners. */
function partnersByKey(sent: readonly SentEvent[]): Map<string, SentEvent[]> {
  const partners = new Map<string, SentEvent[]>();
  for (const event of sent) {
    if (event.isRight !== true || event.fate !== "row" || event.answer === "refused") continue;
    partners.set(event.key, [...(partners.get(event.key) ?? []), event]);
  }
  return partners;
}

/** Rows that are joined with what is no right event of their key. */
function strangers({ shape, sent, rows }: Outcome): string[] {
  if (shape.source !== "join") return [];
  const byId = new Map(sent.map((event) => [event.id, event]));
  return rows.flatMap(({ id, partner }) => {
    const [left, right] = [byId.get(id), byId.get(partner)];
    if (right?.isRight === true && left?.key === right.key) return [];
    return [`joined with what is no partner: ${id} with ${partner}`];
  });
}

/** A view has each row of its table, once. */
function viewBreaches({ shape, sent, rows, view, said }: Outcome): string[] {
  if (view === undefined || (said.get(uncertain) ?? 0) > 0 || (said.get(withoutView) ?? 0) > 0) return [];
  const [inTable, inView] = [counted(rows.map(({ id }) => id)), counted(view.rows)];
  const found = sent.flatMap(({ id, mayBeDoubled = false, mayBeLost = false }) => {
    const [of, has] = [inTable.get(id) ?? 0, inView.get(id) ?? 0];
    if (has > Math.max(1, of) && !mayBeDoubled) return [`doubled in the view: ${id}: ${has} rows of ${of}`];
    // A batch of the table alone, as its view failed, is not completed by another Sluice that takes its pipeline over.
    // Nor can one whose events are gone from their topic.
    const mayLack = view.mayLack || mayBeDoubled || mayBeLost;
    return has < Math.min(1, of) && !mayLack ? [`lost in the view: ${id}: ${has} rows of ${of}`] : [];
  });
  return found.map((text) => `${text} (${shape.target.engine})`);
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

/** How often an event is there. */
interface There {
  rows: number;
  letters: number;
}

function joinBreachOf(
  event: SentEvent,
  { rows, letters }: There,
  outcome: Outcome,
  partners: readonly SentEvent[],
): string[] {
  const { id, fate, isRight = false, mayBeLost = false } = event;
  const there = { rows, letters };
  // A dead letter for itself: it never came to the join.
  if (fate === "undeclared") return breachOf(event, there, outcome, false);
  const isMatched = !isRight && partners.length > 0;
  if (!isMatched && rows + letters > 0)
    return [`joined without a partner: ${id}: ${rows} rows, ${letters} dead letters`];
  // The join may have forgotten the partners with the pipeline.
  const mayWait = !isMatched || mayBeLost || partners.every((partner) => partner.mayBeLost === true);
  return mayWait && rows + letters === 0 ? [] : breachOf(event, there, outcome, false);
}

function breachOf(
  event: SentEvent,
  { rows: inTable, letters: dead }: There,
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
function keysTwice({ shape, sent, rows, said, hasForgotten, isAtLeastOnce }: Outcome): {
  found: string[];
  checked: number;
} {
  // A batch that is inserted anew, as it may not be there, may have been judged anew by another config.
  if (!shape.hasDedup || shape.source === "join" || hasForgotten || isAtLeastOnce || (said.get(uncertain) ?? 0) > 0)
    return { found: [], checked: 0 };
  const written = new Map(rows.map(({ id, writtenAt }) => [id, writtenAt]));
  const last = new Map<string, SentEvent>();
  const seen = new Map<string, number>();
  const found = sent.flatMap((event) => {
    seen.set(event.key, (seen.get(event.key) ?? 0) + 1);
    const now = written.get(event.id);
    // One that became a dead letter has given its key up, and may be a row besides. One that its topic has lost may have
    // another event at its offset, whose end its key takes.
    if (now === undefined || event.mayBeDoubled === true || event.mayBeLost === true) return [];
    const before = last.get(event.key);
    last.set(event.key, event);
    if (before === undefined || Math.max(now, written.get(before.id)!) - before.at > dedupWindow) return [];
    return [`doubled key: ${before.id} and ${event.id} have the key ${event.key} and rows`];
  });
  // A key that came once could not be doubled.
  return { found, checked: [...seen].filter(([key, times]) => times > 1 && last.has(key)).length };
}

function counted(ids: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
