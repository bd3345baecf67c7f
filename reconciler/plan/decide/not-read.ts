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
 * to where it is not read, and is kept as long as no file has it again.
 */
export function notReadOf(
  { before, skipped, ignored }: Unread,
  actual: ActualState,
  wanted: Pick<WantedState, "pipelines" | "refused">,
): NotRead {
  if (skipped.length === 0) return {};
  const missing = vanished(actual, { ...wanted, skipped });
  const left = new Set(ignored);
  const suspectedOf = (path: string): readonly string[] => (Object.hasOwn(before, path) ? before[path]!.may_hold : []);
  const elsewhere = new Set(skipped.flatMap(({ path }) => suspectedOf(path)));
  const fresh = missing.filter((id) => !elsewhere.has(id));
  const entries = skipped.map(({ path, version }): [string, NotReadEntry] => {
    const known = Object.hasOwn(before, path) ? before[path] : undefined;
    const isIgnored = left.has(path) || left.has(`${path}/`);
    const isNew = known === undefined || !isSame(known.version, version);
    const suspected = [...suspectedOf(path), ...(isNew ? fresh : [])];
    const may_hold = isIgnored ? [] : suspected.filter((id) => missing.includes(id));
    return [path, { ...(version !== undefined && { version }), may_hold }];
  });
  return Object.fromEntries(entries);
}

/** What was not read before, where no pipeline is suspected in it. */
export function withoutSuspicion(found: NotRead): NotRead {
  return Object.fromEntries(Object.entries(found).map(([path, entry]) => [path, { ...entry, may_hold: [] }]));
}

/** What is not read, as a plan considers it. */
export function unreadFiles(skipped: readonly SkippedFile[], found: NotRead): UnreadFile[] {
  return skipped.map((one) => {
    const mayHold = found[one.path]?.may_hold ?? [];
    return mayHold.length === 0 ? one : { ...one, mayHold };
  });
}

/** A side whose versions are not known, such as a work tree, is taken to be the same. */
function isSame(before: string | undefined, now: string | undefined): boolean {
  return before === undefined || now === undefined || before === now;
}
