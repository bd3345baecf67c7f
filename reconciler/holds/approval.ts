import { createHash } from "node:crypto";
import type { AppliedBefore } from "../actual/inventory.ts";
import type { ActualPipeline, ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { fingerprint, fingerprintOf } from "../desired/fingerprint.ts";
import { commitIn, type Revision } from "../git/revision.ts";
import { doesSomething, placeOf, type Action, type Change, type Plan, type Refusal } from "../plan/change.ts";
import { undone } from "../plan/decide/changes.ts";
import { blocked, withInterrupted } from "../plan/decide/index.ts";
import { isAsGrave, levelOf, levels, type Level } from "../plan/level.ts";

/** Which changes wait for an approval, and what is approved. */
export interface ApprovalRule {
  /** This level, and graver ones. */
  from: Level;
  /** The fingerprints that count for a pipeline, by the id that it has until then. */
  approved: (pipeline_id: string) => readonly string[];
  /** What pipelines were as before, the oldest first. Read from the whole history, so at most once, where a change is held. */
  before: () => ReadonlyMap<string, readonly AppliedBefore[]>;
}

/**
 * The fingerprints that a revision approves for a pipeline which was last as its file said at the revision `applied`: what
 * an earlier commit approves was for what came before.
 */
export function approvalsFor(
  { sha, approvals = [], earlier = [] }: Pick<Revision, "sha" | "approvals" | "earlier">,
  applied: string | undefined,
): string[] {
  const last = applied === undefined ? undefined : commitIn(applied);
  const end = last === sha ? 0 : earlier.findIndex(({ commit }) => commit === last);
  const since = end === -1 ? earlier : earlier.slice(0, end);
  return [...approvals, ...since.flatMap((one) => one.approvals)];
}

/**
 * The revision to whose configuration a change goes back: that was approved, or needed no approval, and so does the way
 * back. Undefined for another change, where something is lost on the way, and for a drift, which no commit made.
 */
export function wayBack(
  change: Action,
  desired: DesiredPipeline | undefined,
  before: readonly AppliedBefore[] = [],
): string | undefined {
  if (desired === undefined || change.drift !== undefined || isAsGrave(approvalLevelOf(change), "forget"))
    return undefined;
  const asked = fingerprintOf(desired);
  return before.find(({ applied }) => applied === asked)?.revision;
}

/**
 * The fingerprint by which one change is approved: how grave it is at most, and a digest of the pipeline, of what runs and of
 * what its file asks for. Such as `forget-0123456789abcdef0123456789abcdef`. Figures, such as events held, are no part of it,
 * nor are secrets in plain text.
 */
export function approvalOf(change: Change, present?: ActualPipeline, desired?: DesiredPipeline): string {
  return `${approvalLevelOf(change)}-${digestOf(change.pipeline_id, present, desired)}`;
}

/**
 * How grave a change is for who approves it. Old values of secrets do not count: who replaced them has decided that. The
 * stop of a change that it replaces counts as its own.
 */
export function approvalLevelOf(change: Change): Level {
  if (!doesSomething(change)) return levelOf(change);
  const irreversible = change.irreversible?.filter(({ code }) => code !== "SecretValues") ?? [];
  const level = levelOf({ ...change, irreversible });
  return level === "change" && change.replaces === true && change.effect === "restart" ? "restart" : level;
}

function digestOf(pipeline_id: string, present?: ActualPipeline, desired?: DesiredPipeline): string {
  const sides = [present && fingerprint(present), desired && fingerprintOf(desired)];
  return createHash("sha256")
    .update(JSON.stringify([pipeline_id, ...sides]))
    .digest("hex")
    .slice(0, 32);
}

/**
 * The plan without changes that are as grave as the rule says and not approved: each is a refusal that names its
 * fingerprint. Changes that were begun are completed, the way back is free below `forget`, and an operator needs no
 * approval to stop a pipeline.
 */
export function withApprovals(
  { changes, ...rest }: Plan,
  actual: ActualState,
  pipelines: readonly DesiredPipeline[],
  { from, approved, before }: ApprovalRule,
): Plan {
  const wanted = new Map(pipelines.map((one) => [one.pipeline_id, one]));
  let earlier: ReturnType<typeof before> | undefined;
  const heldUnless = (change: Change): Change => {
    const { pipeline_id, moved_from = pipeline_id } = change;
    const desired = wanted.get(pipeline_id);
    if (!doesSomething(change) || !isAsGrave(approvalLevelOf(change), from) || isExempt(change, actual, desired))
      return change;
    const approval = approvalOf(change, actual.pipelines.get(pipeline_id), desired);
    const known = approvedLevel(approval, approved(moved_from));
    if (known !== undefined && isAsGrave(known, approvalLevelOf(change))) return change;
    const revision = wayBack(change, desired, (earlier ??= before()).get(moved_from));
    if (revision !== undefined) return { ...change, why: { code: "GoesBack", facts: { of: change.why, revision } } };
    return withInterrupted(held(change, approval, known), actual);
  };
  return { ...rest, changes: afterHeld(changes.map(heldUnless), actual) };
}

/** A change that comes after one that waits, of a pipeline that does not run, waits as well. In the order of the plan. */
export function afterHeld(changes: readonly Change[], { pipelines }: ActualState): Change[] {
  const waiting = new Map<string, Change>();
  return changes.map((change) => {
    const other = doesSomething(change) ? change.after.map((id) => waiting.get(id)).find(Boolean) : undefined;
    const left = other === undefined ? change : dependent(change, other, pipelines.get(other.pipeline_id));
    const isLeft = left.kind === "refuse" || left.cause === "DependencyNotReady" || left.cause === "FolderChanging";
    if (isLeft && pipelines.get(left.pipeline_id)?.status !== "Running") waiting.set(left.pipeline_id, left);
    return left;
  });
}

function dependent(change: Change, { pipeline_id, kind, cause }: Change, present: ActualPipeline | undefined): Change {
  const why = { is: "left", isRefused: kind === "refuse", cause } as const;
  return blocked(change, { pipeline_id, ...(present !== undefined && { status: present.status }), why });
}

/** The gravest level for which the same change is approved; undefined where it is for none. */
function approvedLevel(approval: string, approved: readonly string[]): Level | undefined {
  const digest = approval.slice(approval.indexOf("-"));
  return levels.toReversed().find((level) => approved.includes(`${level}${digest}`));
}

/** Whether it is none that waits: it was begun, or an operator asks for it. `desired` is absent where the file was removed. */
export function isExempt(change: Action, actual: ActualState, desired: DesiredPipeline | undefined): boolean {
  const { cause, why } = change;
  return cause === "Interrupted" || why.code === "StoppedByOperator" || completes(change, actual, desired);
}

/** Whether it is the move or the end that was begun, or takes that back and changes nothing else. */
function completes(
  { pipeline_id, kind, fields, calls }: Action,
  { pipelines, owned, interrupted }: ActualState,
  desired: DesiredPipeline | undefined,
): boolean {
  const isAsked = desired !== undefined && interrupted?.get(pipeline_id)?.asks === fingerprintOf(desired);
  if (calls.includes("move")) return isAsked;
  const isEnding = Object.hasOwn(owned, pipeline_id) && owned[pipeline_id]?.ending === true;
  const isShut = pipelines.get(pipeline_id)?.intake === "closed";
  if (!isEnding && !isShut) return false;
  if (kind === "delete") return true;
  if (kind !== "recreate") return fields.length === 0 && !calls.includes("terminate");
  return isAsked;
}

function held(change: Action, approval: string, known: Level | undefined): Refusal {
  const { drift, why: of } = change;
  const facts = { of, level: approvalLevelOf(change), approval, ...(known !== undefined && { approved: known }) };
  return {
    ...placeOf(change),
    kind: "refuse",
    cause: "NotApproved",
    why: { code: "NotApproved", facts },
    ...undone(change),
    ...(drift !== undefined && { drift: { ...drift, stance: "report" as const } }),
  };
}
