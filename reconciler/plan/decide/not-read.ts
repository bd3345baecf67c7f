import type { NotRead, NotReadEntry } from "../../actual/inventory.ts";
import type { ActualState } from "../../actual/state.ts";
import type { SkippedFile } from "../../git/revision.ts";
import type { UnreadFile, WantedState } from "../change.ts";
import { vanished } from "./plan.ts";

/** A revision, and what was not read of the one before. */
export interface Unread {
  before: NotRead;
  skipped: readonly SkippedFile[];
  /** Paths that a `.sluiceignore` names: what is there holds no pipeline. */
  ignored: readonly string[];
}

/**
 * What is not read of a revision. A file that came, or changed, as files of pipelines went may hold these: such a pipeline most likely moved
 * to where it is not read, and is kept as long as no file has it again, also where that file is gone since.
 */
export function notReadOf(
  { before, skipped, ignored }: Unread,
  actual: ActualState,
  wanted: Pick<WantedState, "pipelines" | "refused">,
): NotRead {
  if (skipped.length === 0 && Object.keys(before).length === 0) return {};
  const missing = vanished(actual, { ...wanted, skipped });
  const left = new Set(ignored);
  const suspectedOf = (path: string): readonly string[] => (Object.hasOwn(before, path) ? before[path]!.may_hold : []);
  const elsewhere = new Set(Object.keys(before).flatMap(suspectedOf));
  const fresh = missing.filter((id) => !elsewhere.has(id));
  const holding = (path: string, suspected: readonly string[]): string[] => {
    const isIgnored = left.has(path) || left.has(`${path}/`);
    return isIgnored ? [] : suspected.filter((id) => missing.includes(id));
  };
  const entries = skipped.map(({ path, version }): [string, NotReadEntry] => {
    const known = Object.hasOwn(before, path) ? before[path] : undefined;
    const isNew = known === undefined || !isSame(known.version, version);
    const may_hold = holding(path, [...suspectedOf(path), ...(isNew ? fresh : [])]);
    return [path, { ...(version !== undefined && { version }), may_hold }];
  });
  const there = new Set(skipped.map(({ path }) => path));
  const gone = Object.entries(before).flatMap(([path, entry]): [string, NotReadEntry][] => {
    const may_hold = there.has(path) ? [] : holding(path, entry.may_hold);
    return may_hold.length === 0 ? [] : [[path, { ...entry, may_hold }]];
  });
  return Object.fromEntries([...entries, ...gone]);
}

/** What was not read before, where no pipeline is suspected in it. */
export function withoutSuspicion(found: NotRead): NotRead {
  return Object.fromEntries(Object.entries(found).map(([path, entry]) => [path, { ...entry, may_hold: [] }]));
}

/** What is not read, as a plan considers it, and what was not and is gone. */
export function unreadFiles(skipped: readonly SkippedFile[], found: NotRead): UnreadFile[] {
  const there = new Set(skipped.map(({ path }) => path));
  const gone = Object.keys(found).filter((path) => !there.has(path));
  return [...skipped, ...gone.map((path): UnreadFile => ({ path }))].map((one) => {
    const mayHold = found[one.path]?.may_hold ?? [];
    return mayHold.length === 0 ? one : { ...one, mayHold };
  });
}

/** A side whose versions are not known, such as a work tree, is taken to be the same. */
function isSame(before: string | undefined, now: string | undefined): boolean {
  return before === undefined || now === undefined || before === now;
}
