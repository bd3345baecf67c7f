import { createHash } from "node:crypto";
import type { ActualPipeline, ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { fingerprint, fingerprintOf } from "../desired/fingerprint.ts";
import { doesSomething, type Action, type Change, type Plan, type Refusal } from "../plan/change.ts";
import { withInterrupted } from "../plan/decide/index.ts";
import { isAsGrave, levelOf, levels, type Level } from "../plan/level.ts";

/** Which changes wait for an approval, and what is approved. */
export interface ApprovalRule {
  /** This level, and graver ones. */
  from: Level;
  /** Fingerprints of the followed revision. */
  approved: readonly string[];
}

/**
 * The fingerprint by which one change is approved: how grave it is at most, and a digest of the pipeline, of what runs and of
 * what its file asks for. Such as `forget-0123456789abcdef0123456789abcdef`. Figures, such as events held, are no part of it,
 * nor are secrets in plain text.
 */
export function approvalOf(change: Change, present?: ActualPipeline, desired?: DesiredPipeline): string {
  return `${approvalLevelOf(change)}-${digestOf(change.pipeline_id, present, desired)}`;
}

/** How grave a change is for who approves it. Old values of secrets do not count: who replaced them has decided that. */
export function approvalLevelOf(change: Change): Level {
  if (!doesSomething(change)) return levelOf(change);
  return levelOf({ ...change, irreversible: change.irreversible?.filter(({ code }) => code !== "SecretValues") ?? [] });
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
 * fingerprint. Changes that were begun are completed, and an operator needs no approval to stop a pipeline.
 */
export function withApprovals(
  { changes, ...rest }: Plan,
  actual: ActualState,
  pipelines: readonly DesiredPipeline[],
  { from, approved }: ApprovalRule,
): Plan {
  const wanted = new Map(pipelines.map((one) => [one.pipeline_id, one]));
  const heldUnless = (change: Change): Change => {
    const { pipeline_id } = change;
    if (!doesSomething(change) || !isAsGrave(approvalLevelOf(change), from) || isExempt(change, actual)) return change;
    const approval = approvalOf(change, actual.pipelines.get(pipeline_id), wanted.get(pipeline_id));
    const known = approvedLevel(approval, approved);
    if (known !== undefined && isAsGrave(known, approvalLevelOf(change))) return change;
    return withInterrupted(held(change, approval, known), actual);
  };
  return { ...rest, changes: changes.map(heldUnless) };
}

/** The gravest level for which the same change is approved; undefined where it is for none. */
function approvedLevel(approval: string, approved: readonly string[]): Level | undefined {
  const digest = approval.slice(approval.indexOf("-"));
  return levels.toReversed().find((level) => approved.includes(`${level}${digest}`));
}

function isExempt({ pipeline_id, cause, why }: Action, { pipelines, owned }: ActualState): boolean {
  const isEnding = Object.hasOwn(owned, pipeline_id) && owned[pipeline_id]?.ending === true;
  return cause === "Interrupted" || why.code === "StoppedByOperator" || isEnding || isShut(pipelines.get(pipeline_id));
}

function isShut(present: ActualPipeline | undefined): boolean {
  return present?.intake === "closed";
}

function held(change: Action, approval: string, known: Level | undefined): Refusal {
  const { pipeline_id, effect, fields, file, line, column, cautions, drift, missing_secret, why: of } = change;
  const facts = { of, level: approvalLevelOf(change), approval, ...(known !== undefined && { approved: known }) };
  return {
    pipeline_id,
    kind: "refuse",
    cause: "NotApproved",
    why: { code: "NotApproved", facts },
    effect,
    fields,
    calls: [],
    after: [],
    ...(file !== undefined && { file }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    ...(cautions !== undefined && { cautions }),
    ...(drift !== undefined && { drift: { ...drift, stance: "report" as const } }),
    ...(missing_secret !== undefined && { missing_secret }),
  };
}
