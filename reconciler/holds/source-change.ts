import type { FollowedSource } from "../actual/inventory.ts";
import type { Revision, SourceDescription } from "../git/revision.ts";
import { nothing } from "../plan/decide/changes.ts";
import { doesSomething, type Cause, type Change, type Plan, type Refusal } from "../plan/change.ts";
import type { ReasonFacts } from "../plan/reason.ts";

/** A source that lacks pipelines of the one that was followed before on this data dir. */
export interface SourceChange {
  from: FollowedSource;
  to: FollowedSource;
  /** Pipelines that would be deleted, in the order of the plan. */
  removes: string[];
}

/** Changes that delete a pipeline, or would if nothing else kept it. */
const removing: ReadonlySet<Cause> = new Set<Cause>([
  "FileRemoved",
  "DeletionBudget",
  "EmptySource",
  "PruneHeld",
  "IdChanged",
]);

/** What tells a source from another one. A tag or a commit does not: a new one is how such a source changes. */
export function followedSource({ kind, url, path, branch }: SourceDescription, revision: Revision): FollowedSource {
  const followed = revision.branch ?? branch;
  return { kind, url, path, ...(followed !== undefined && { branch: followed }) };
}

/** The change of the source that a plan has to wait for; undefined where it is the same, or every pipeline is in it. */
export function sourceChange(
  { changes }: Plan,
  from: FollowedSource | undefined,
  to: FollowedSource,
): SourceChange | undefined {
  if (from === undefined || isSame(from, to)) return undefined;
  const removed = changes.filter(({ kind, cause }) => kind === "delete" || removing.has(cause));
  if (removed.length === 0) return undefined;
  return { from, to, removes: removed.map(({ pipeline_id }) => pipeline_id) };
}

/** The plan in which nothing is changed but what an interrupted change left half done. */
export function withoutChanges({ changes, ...rest }: Plan, change: SourceChange): Plan {
  const { from, to, removes } = change;
  const facts = { from: sourceText(from), to: sourceText(to), removes };
  return { ...rest, changes: changes.map((one) => (isHeld(one) ? held(one, facts) : one)) };
}

function isHeld(change: Change): boolean {
  if (change.cause === "DeletionBudget") return true;
  const isOwed = change.cause === "Interrupted" && change.kind !== "delete" && change.kind !== "recreate";
  return doesSomething(change) && !isOwed;
}

function held({ pipeline_id, file, line, column }: Change, facts: ReasonFacts["SourceChanged"]): Refusal {
  const place = {
    ...(file !== undefined && { file }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
  const why = { code: "SourceChanged", facts } as const;
  return { pipeline_id, ...place, ...nothing(), kind: "refuse", cause: "SourceChanged", why };
}

function isSame(one: FollowedSource, other: FollowedSource): boolean {
  return (["kind", "url", "path", "branch"] as const).every((name) => one[name] === other[name]);
}

/** Such as `https://example.com/shop.git, branch main, path pipelines`. */
function sourceText({ kind, url, path, branch }: FollowedSource): string {
  if (kind === "dir") return `the folder ${url}`;
  return `${url}${branch === undefined ? "" : `, branch ${branch}`}, path ${path}`;
}
