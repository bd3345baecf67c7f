import type { DesiredState } from "./desired-state.ts";
import { withHidden } from "./hidden.ts";
import { ignoreFile } from "./ignore.ts";
import { withoutForeign } from "./load.ts";

/** The pipelines that are owned, each with the file that held it. */
type Owned = Readonly<Record<string, { file: string }>>;

/** What is desired of all that was read: files of other tools are left out, unless they held a pipeline before. */
export function withClaimed(read: DesiredState, owned: Owned): DesiredState {
  return withHidden(withoutForeign(read, filesOf(owned)), Object.keys(owned));
}

/** Files that held a pipeline and are ignored now: they count as unread, so that a line of a pattern deletes nothing. */
export function claimedButIgnored({ ignored = [] }: DesiredState, owned: Owned): { path: string; reason: string }[] {
  if (ignored.length === 0) return [];
  const claimed = filesOf(owned);
  const reason = `named in ${ignoreFile}, although it held a pipeline: take that line out, or remove the file`;
  return ignored.filter((path) => claimed.has(path)).map((path) => ({ path, reason }));
}

function filesOf(owned: Owned): ReadonlySet<string> {
  return new Set(Object.values(owned).map(({ file }) => file));
}
