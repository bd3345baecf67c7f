import type { FollowedSource } from "../actual/inventory.ts";
import type { ActualState } from "../actual/state.ts";
import type { Revision, SourceDescription } from "../git/revision.ts";
import { nothing } from "../plan/decide/changes.ts";
import {
  doesSomething,
  isStopByOperator,
  placeOf,
  type Cause,
  type Change,
  type Plan,
  type Refusal,
  type WantedState,
} from "../plan/change.ts";
import type { ReasonFacts } from "../plan/reason.ts";

/**
 * Another source than the one that was followed before on this data dir: it lacks pipelines of that, or the server
 * redirects to it, which no setting says, and its files differ.
 */
export interface SourceChange {
  from: FollowedSource;
  to: FollowedSource;
  /** Pipelines that would be deleted, in the order of the plan. */
  removes: string[];
  /** Other pipelines that would be created or changed; none where no redirect leads there. */
  edits: string[];
}

/** What tells a source from another one. A tag or a commit does not: a new one is how such a source changes. */
export function followedSource(
  { kind, url, path, branch }: SourceDescription,
  { branch: read, redirected }: Revision,
): FollowedSource {
  const followed = read ?? branch;
  return {
    kind,
    url,
    path,
    ...(followed !== undefined && { branch: followed }),
    ...(redirected !== undefined && { redirected }),
  };
}

/**
 * What is followed after a turn that followed `to`, where nothing had to wait for a person. A redirect is an answer of the
 * network, and no one asked for it: equal files at one look say nothing of the next, so it is followed only for that look.
 */
export function followedAfter(before: FollowedSource | undefined, to: FollowedSource): FollowedSource {
  if (before === undefined || to.redirected === undefined || to.redirected === before.redirected) return to;
  const { redirected: _redirected, ...configured } = to;
  return configured;
}

/**
 * The change of the source that a plan, and what comes after it, has to wait for; undefined where it is the same, or does
 * nothing that no one asked for.
 */
export function sourceChange(
  { changes }: Plan,
  [actual, wanted]: readonly [ActualState, WantedState],
  from: FollowedSource | undefined,
  to: FollowedSource,
): SourceChange | undefined {
  if (from === undefined || isSameSource(from, to)) return undefined;
  const lacking = lackedBy(wanted, actual);
  const removed = changes.filter(({ kind, pipeline_id }) => kind === "delete" || lacking.has(pipeline_id));
  const edited = isNewRedirect(from, to) ? changes.filter((one) => isEdit(one) && !removed.includes(one)) : [];
  if (removed.length + edited.length === 0) return undefined;
  const [removes = [], edits = []] = [removed, edited].map((some) => some.map(({ pipeline_id }) => pipeline_id));
  return { from, to, removes, edits };
}

/**
 * Pipelines that no file has which can be used, and that may so be deleted sooner or later, whatever holds that up now: it
 * ends, and then this source would be the followed one.
 */
function lackedBy({ pipelines: wanted }: WantedState, { pipelines, owned }: ActualState): ReadonlySet<string> {
  const described = new Set(wanted.map(({ pipeline_id }) => pipeline_id));
  const lacking = Object.entries(owned).filter(
    ([id, { prune, suspend, ending }]) =>
      prune && !suspend && ending !== true && pipelines.has(id) && !described.has(id),
  );
  return new Set(lacking.map(([id]) => id));
}

/** Whether it is made because of its file. */
function isEdit(change: Change): boolean {
  return doesSomething(change) && !isStopByOperator(change) && !causesElsewhere.has(change.cause);
}

/** Causes of changes that no file asks for. */
const causesElsewhere: ReadonlySet<Cause> = new Set<Cause>(["Drifted", "SecretChanged", "Interrupted"]);

function isNewRedirect(from: FollowedSource, to: FollowedSource): boolean {
  return to.redirected !== undefined && to.redirected !== from.redirected;
}

/** The plan in which nothing is changed but what an interrupted change left half done, and what an operator stops. */
export function withoutChanges({ changes, ...rest }: Plan, change: SourceChange): Plan {
  const { from, to, removes, edits } = change;
  const facts = { from: sourceText(from), to: sourceText(to), isRedirected: isNewRedirect(from, to), removes, edits };
  return { ...rest, changes: changes.map((one) => (isHeld(one) ? held(one, facts) : one)) };
}

function isHeld(change: Change): boolean {
  const { cause, why } = change;
  // An approval of the source is one of what is not read there.
  if (cause === "DeletionBudget" || (why.code === "PruneHeld" && "mayHold" in why.facts)) return true;
  if (isStopByOperator(change)) return false;
  const isOwed = cause === "Interrupted" && change.kind !== "delete" && change.kind !== "recreate";
  return doesSomething(change) && !isOwed;
}

function held(change: Change, facts: ReasonFacts["SourceChanged"]): Refusal {
  const why = { code: "SourceChanged", facts } as const;
  return { ...placeOf(change), ...nothing(), kind: "refuse", cause: "SourceChanged", why };
}

export function isSameSource(one: FollowedSource, other: FollowedSource): boolean {
  return (["kind", "url", "redirected", "path", "branch"] as const).every((name) => one[name] === other[name]);
}

/** Such as `https://example.com/shop.git, branch main, path pipelines`. */
function sourceText({ kind, url, redirected, path, branch }: FollowedSource): string {
  if (kind === "dir") return `the folder ${url}`;
  const place = redirected === undefined ? url : `${redirected} (to which ${url} redirects)`;
  return `${place}${branch === undefined ? "" : `, branch ${branch}`}, path ${path}`;
}
