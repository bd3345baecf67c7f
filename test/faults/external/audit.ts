import type { Fate } from "../ledger.ts";
import { compare, type Span } from "../spans.ts";
import type { PreparedBatch } from "../witness.ts";
import type { UncertainBatch } from "./batch-notes.ts";

/** Rows of a table with one id that one insert brought. */
export interface FoundRows {
  id: string;
  token: string;
  times: number;
}

/** Everything that is known of one pipeline in the end. */
export interface Evidence {
  rows: readonly FoundRows[];
  /** Ids of dead letters, and how often they are there. */
  letters: ReadonlyMap<string, number>;
  expected: Record<Fate, ReadonlyMap<string, Span>>;
  /** Ids of the other writer. */
  others: ReadonlyMap<string, Span>;
  /** Every token of every batch that was prepared. */
  prepared: readonly PreparedBatch[];
  /** The batches of which it was said that they may have been written: once for each time that it was said. */
  uncertain: readonly UncertainBatch[];
}

export interface ExternalAudit {
  rows: number;
  /** Batches that are there more often than once, as they may be, and the rows that this are too many. */
  doubledBatches: number;
  doubledRows: number;
  /** Rows of events that are not there, as they may be. */
  lostRows: number;
  /** What must not be, a sentence each. */
  broken: string[];
}

/** So many ids are named. */
const named = 5;

/**
 * Holds what is there against what was sent. An event is there exactly once, with two exceptions: the rows of an uncertain
 * batch that was inserted anew may be there once more for each time that it was, and those of one that was skipped may be
 * missing. What another writer inserted is there once.
 */
export function audit({ rows, letters, expected, others, prepared, uncertain }: Evidence): ExternalAudit {
  const own = rows.filter(({ id }) => !others.has(id));
  const copies = new Copies(own, prepared, uncertain);
  const events = compare(expected.row, copies.once);
  const dead = compare(expected.letter, letters);
  const other = compare(others, timesOf(rows.filter(({ id }) => others.has(id))));
  const isExcused = events.lost.length <= copies.skippedRows;
  return {
    rows: own.reduce((sum, { times }) => sum + times, 0),
    doubledBatches: copies.doubledBatches,
    doubledRows: copies.doubledRows,
    lostRows: events.lost.length,
    broken: [
      ...copies.broken,
      ...(isExcused ? [] : sentence(`rows lost, of which ${copies.skippedRows} may be`, events.lost)),
      ...sentence("rows doubled", events.doubled),
      ...sentence("rows of events that were never sent", events.strangers),
      ...sentence("dead letters lost", dead.lost),
      ...sentence("dead letters doubled", dead.doubled),
      ...sentence("dead letters of events that were never sent", dead.strangers),
      ...sentence("rows of the other writer lost", other.lost),
      ...sentence("rows of the other writer doubled", other.doubled),
    ],
  };
}

/** The rows of a pipeline by the batches that brought them. */
class Copies {
  readonly broken: string[] = [];
  /** How often each id is there, when what may be there once more is left out. */
  readonly once = new Map<string, number>();
  /** Rows of batches that were skipped and are not there. */
  skippedRows = 0;
  doubledBatches = 0;
  doubledRows = 0;

  constructor(rows: readonly FoundRows[], prepared: readonly PreparedBatch[], uncertain: readonly UncertainBatch[]) {
    const inserts = grouped(rows, ({ token }) => token);
    const batches = grouped(prepared, ({ batch }) => batch);
    for (const [batch, records] of batches) {
      const tokens = [...new Set(records.map(({ token }) => token))];
      const there = tokens.flatMap((token) => {
        const found = inserts.get(token);
        inserts.delete(token);
        return found === undefined ? [] : [found];
      });
      const said = uncertain.filter((line) => line.batch === batch);
      this.#take(batch, there, said);
    }
    for (const [token, found] of inserts) {
      this.broken.push(
        ...sentence(
          `rows with the token "${token}" of no batch`,
          found.map(({ id }) => id),
        ),
      );
    }
  }

  #take(batch: number, there: readonly FoundRows[][], said: readonly UncertainBatch[]): void {
    const [first = [], ...more] = there;
    for (const { id, times } of first) this.once.set(id, (this.once.get(id) ?? 0) + times);
    const inserted = said.filter(({ choice }) => choice === "insert").length;
    const skipped = said.find(({ choice }) => choice === "skip");
    if (skipped !== undefined && there.length === 0) this.skippedRows += skipped.rows;
    if (more.length === 0) return;
    this.doubledBatches += 1;
    this.doubledRows += more.length * first.length;
    if (more.length > inserted)
      this.broken.push(`batch ${batch} is there ${there.length} times, and was inserted anew ${inserted} times`);
    if (more.some((copy) => idsOf(copy) !== idsOf(first)))
      this.broken.push(`batch ${batch} is there ${there.length} times, each time with other rows`);
  }
}

function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function timesOf(rows: readonly FoundRows[]): Map<string, number> {
  const all = new Map<string, number>();
  for (const { id, times } of rows) all.set(id, (all.get(id) ?? 0) + times);
  return all;
}

function idsOf(rows: readonly FoundRows[]): string {
  const texts = rows.map(({ id, times }) => `${id} ${times}`);
  return texts.toSorted().join();
}

function sentence(what: string, ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const more = ids.length > named ? ", ..." : "";
  return [`${ids.length} ${what}: ${ids.slice(0, named).join(", ")}${more}`];
}
