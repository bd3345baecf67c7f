import { isDeepStrictEqual } from "node:util";
import type { NotRead } from "../actual/inventory.ts";
import type { ActualPipeline, ActualState, DeletionLimit } from "../actual/state.ts";
import { claimedButIgnored, withClaimed } from "../desired/claimed.ts";
import { defaultDirectives, type DesiredPipeline, type DesiredState } from "../desired/desired-state.ts";
import { withoutFaulty } from "../desired/faulty.ts";
import { withoutForeign } from "../desired/load.ts";
import { isCandidate } from "../git/limits.ts";
import type { SkippedFile } from "../git/revision.ts";
import type { Problem } from "../language/problem.ts";
import { type Change, doesSomething, type FieldChange, type UnreadFile } from "../plan/change.ts";
import type { Cost, TableNeed } from "../plan/cost.ts";
import { approvalLevelOf, approvalOf, wayBack } from "../holds/approval.ts";
import type { HoldsState } from "../holds/hold.ts";
import { planWithHolds, withStopsOver } from "../holds/held-plan.ts";
import { costsOf } from "../plan/costs/costs.ts";
import { tablesOf } from "../plan/costs/tables.ts";
import { type Kept, notReadOf, unreadFiles, withMoves, withoutSuspicion } from "../plan/decide/index.ts";
import type { Permission } from "../secrets/permissions.ts";
import { type NewSecret, newSecrets } from "../secrets/secret-problems.ts";
import { assumedState } from "./assumed.ts";
import { isAsGrave, levelOf, type Level } from "../plan/level.ts";
import type { TestedEvents } from "./tested-events.ts";
import { withHiddenSecrets, type LiveState } from "./live-state.ts";
import { actualStateOf } from "./read-live-state.ts";

/** What a change of the files would do, once it is merged. Holds no secret. */
export interface Preview {
  /** In the order in which they begin; pipelines of which nothing changes are only counted. */
  changes: PreviewedChange[];
  unchanged: number;
  /** Errors of the head's files. */
  errors: Problem[];
  notes: Note[];
}

export interface PreviewedChange {
  change: Change;
  level: Level;
  costs: Cost[];
  tables: TableNeed[];
  /** Directives to the reconciler alone that change; the engine does not see them. */
  directives: FieldChange[];
  /** The fingerprint by which it is approved; absent where nothing is done. */
  approval?: string;
  /** What runs at this moment; absent where that is not known, or nothing runs. */
  present?: ActualPipeline;
  /** The pipeline before and after; absent where what becomes of events stays the same. */
  sides?: { before: Kept; after: DesiredPipeline };
  /** Secrets that the pipeline did not get before. */
  secrets: NewSecret[];
  /** What becomes of the events of its tests; absent where it has none, or they were not run. */
  tests?: TestedEvents;
}

/** What a reviewer should know besides the changes, as data. */
export type Note =
  | { code: "FileMoved"; facts: { pipeline_id: string; from: string; to: string } }
  /** The base's file cannot be used: what runs of its pipelines is not known. */
  | { code: "BaseUnusable"; facts: { file: string; line: number; pipeline_ids: string[] } }
  | { code: "NotRead"; facts: SkippedFile }
  /** A file of the base that was not read, and is gone: what runs of its pipelines is not known, and is deleted. */
  | { code: "UnreadGone"; facts: SkippedFile }
  /** Secrets in plain text on both sides. */
  | { code: "SecretsNotCompared"; facts: { pipeline_ids: string[] } }
  /** Tests beside changed pipelines whose events were not compared. */
  | { code: "TestsNotCompared"; facts: { pipeline_ids: string[]; why: string } }
  /** The server holds this change back until Git approves it. */
  | { code: "ApprovalNeeded"; facts: { pipeline_id: string; approval: string } }
  /** Without an approval: it was as the files ask for when this revision was applied. */
  | { code: "GoesBack"; facts: { pipeline_id: string; revision: string } }
  /** Of a pipeline that runs: its target cannot drop a repeated insert. */
  | { code: "AtLeastOnce"; facts: { pipeline_id: string; reason: string } }
  /** Of a pipeline that runs: settings of its target's user may change rows. */
  | { code: "ProfileSettings"; facts: { pipeline_id: string; remark: string } }
  | { code: "EverythingSuspended"; facts: { since: string } }
  /** The server stays at a commit, whatever is merged. */
  | { code: "Pinned"; facts: { revision: string } };

/** The files of one side, loaded. */
export interface Side {
  desired: DesiredState;
  skipped: readonly SkippedFile[];
}

/**
 * What the head changes, if everything runs as the files of the base say. `permissions`: the secrets that the operator
 * allows, where they are known.
 */
export function previewOf(base: Side, head: Side, limit: DeletionLimit, permissions?: readonly Permission[]): Preview {
  const read = withoutForeign(base.desired, new Set());
  const { made: actual, desired: before } = withoutFaulty(read, ({ pipelines }) => assumedState(pipelines, limit));
  const known = notReadOf({ before: {}, skipped: base.skipped, ignored: [] }, actual, base.desired);
  const preview = previewAgainst(actual, before.pipelines, head, {
    notReadBefore: withoutSuspicion(known),
    permissions,
  });
  return { ...preview, notes: [...before.refused.map(unusable), ...unreadGone(base, head), ...preview.notes] };
}

/** What a running Sluice would do, if the files were merged at this moment. */
export function previewOfLive(live: LiveState, head: Side, permissions?: readonly Permission[]): Preview {
  const actual = actualStateOf(live);
  const pipelines = head.desired.pipelines.map(withHiddenSecrets);
  const hiding = pipelines.filter((one, index) => hidesSecrets(one, head.desired.pipelines[index]));
  const preview = previewAgainst(
    actual,
    filesOf(live),
    { ...head, desired: { ...head.desired, pipelines } },
    { notReadBefore: live.not_read, holds: live.holds, permissions },
  );
  const changes = preview.changes.map((one): PreviewedChange => {
    const { pipeline_id, moved_from = pipeline_id } = one.change;
    const present = actual.pipelines.get(moved_from);
    return present === undefined ? one : { ...one, present };
  });
  const now = withMoves(actual, { pipelines, refused: head.desired.refused }).pipelines;
  const alike = hiding.map(({ pipeline_id }) => pipeline_id).filter((id) => now.has(id));
  const ofTargets = pipelines.flatMap(({ pipeline_id }) => targetNotes(now.get(pipeline_id)));
  const notes = [
    ...notesOf(live, alike),
    ...approvalNotes(live, changes, byId(pipelines)),
    ...ofTargets,
    ...preview.notes,
  ];
  return { ...preview, changes, notes };
}

function hidesSecrets({ config, options }: DesiredPipeline, plain?: DesiredPipeline): boolean {
  return !isDeepStrictEqual([config, options], [plain?.config, plain?.options]);
}

function notesOf({ holds: { everything, pin } }: LiveState, pipeline_ids: string[]): Note[] {
  return [
    ...(everything === undefined ? [] : [{ code: "EverythingSuspended" as const, facts: { since: everything.since } }]),
    ...(pin === undefined ? [] : [{ code: "Pinned" as const, facts: { revision: pin.revision } }]),
    ...(pipeline_ids.length === 0 ? [] : [{ code: "SecretsNotCompared" as const, facts: { pipeline_ids } }]),
  ];
}

/** What the engine knows of the target of a pipeline. */
function targetNotes({
  pipeline_id = "",
  at_least_once: reason,
  profile_remark: remark,
}: Partial<ActualPipeline> = {}): Note[] {
  return [
    ...(reason === undefined ? [] : [{ code: "AtLeastOnce" as const, facts: { pipeline_id, reason } }]),
    ...(remark === undefined ? [] : [{ code: "ProfileSettings" as const, facts: { pipeline_id, remark } }]),
  ];
}

function approvalNotes(
  { approve = "none", before = {} }: LiveState,
  changes: readonly PreviewedChange[],
  desired: Files<DesiredPipeline>,
): Note[] {
  const earlier = new Map(Object.entries(before));
  return changes.flatMap(({ change, approval }): Note[] => {
    const { pipeline_id, moved_from = pipeline_id } = change;
    if (approval === undefined || !doesSomething(change) || !isAsGrave(approvalLevelOf(change), approve)) return [];
    const revision = wayBack(change, desired.get(pipeline_id), earlier.get(moved_from));
    if (revision !== undefined) return [{ code: "GoesBack", facts: { pipeline_id, revision } }];
    return [{ code: "ApprovalNeeded", facts: { pipeline_id, approval } }];
  });
}

/** A pipeline as its file had it before, as far as that is known. */
type Before = Pick<DesiredPipeline, "pipeline_id" | "file" | "directives">;

function filesOf({ pipelines, owned }: LiveState): Before[] {
  return pipelines.flatMap(({ pipeline_id, directives }) => {
    const file = Object.hasOwn(owned, pipeline_id) ? owned[pipeline_id]?.file : undefined;
    return file === undefined || directives === undefined ? [] : [{ pipeline_id, file, directives }];
  });
}

const noHolds: HoldsState = { version: 1, pipelines: {} };

/** What is known besides the two sides. */
interface Known {
  notReadBefore: NotRead | undefined;
  holds?: HoldsState;
  permissions: readonly Permission[] | undefined;
}

/** The changes against this actual state; `before` are the files from which it was made, as far as they are known. */
function previewAgainst(now: ActualState, before: readonly Before[], head: Side, knowing: Known): Preview {
  const read = withClaimed(head.desired, now.owned);
  const { made, desired } = withoutFaulty(read, (some) => changesTo(some, now, before, head, knowing));
  const shown = made.filter(isShown);
  const changes = made.map(({ change }) => change);
  return {
    changes: shown,
    unchanged: made.length - shown.length,
    errors: desired.problems.filter(({ severity }) => severity === "error"),
    notes: [...fileMoves(filesBefore(before, changes), byId(desired.pipelines)), ...head.skipped.map(notRead)],
  };
}

function changesTo(
  desired: DesiredState,
  now: ActualState,
  before: readonly Before[],
  head: Side,
  { notReadBefore, holds = noHolds, permissions }: Known,
): PreviewedChange[] {
  const actual = withMoves(now, desired);
  const skipped = [...unread(head, desired, actual, notReadBefore), ...claimedButIgnored(desired, actual.owned)];
  const { plan, pipelines } = planWithHolds(actual, { ...desired, skipped }, holds);
  const { changes } = withStopsOver(plan, actual, pipelines, holds);
  const [old, wanted] = [filesBefore(before, changes), byId(desired.pipelines)];
  return changes.map((change) => previewed(change, actual, [old, wanted], permissions));
}

/** The files of before by the ids that their pipelines have now. */
function filesBefore(before: readonly Before[], changes: readonly Change[]): Files<Before> {
  const moved = new Map(changes.map(({ pipeline_id, moved_from = pipeline_id }) => [moved_from, pipeline_id]));
  return byId(before.map((one) => ({ ...one, pipeline_id: moved.get(one.pipeline_id) ?? one.pipeline_id })));
}

function unreadGone(base: Side, { skipped, desired: { pipelines, refused } }: Side): Note[] {
  const there = new Set([...skipped.map(({ path }) => path), ...[...pipelines, ...refused].map(({ file }) => file)]);
  return base.skipped
    .filter(({ path }) => isCandidate(path) && !there.has(path))
    .map((one) => ({ code: "UnreadGone", facts: shownOf(one) }));
}

function notRead(one: SkippedFile): Note {
  return { code: "NotRead", facts: shownOf(one) };
}

function shownOf({ version: _version, ...facts }: SkippedFile): SkippedFile {
  return facts;
}

/** What was not read of the head. `before` is undefined where that is not known of the base. */
function unread(
  { skipped }: Side,
  desired: DesiredState,
  actual: ActualState,
  before: NotRead | undefined,
): readonly UnreadFile[] {
  if (before === undefined) return skipped;
  return unreadFiles(skipped, notReadOf({ before, skipped, ignored: desired.ignored ?? [] }, actual, desired));
}

/** By pipeline_id. */
type Files<One> = ReadonlyMap<string, One>;

function byId<One extends Before>(pipelines: readonly One[]): Files<One> {
  return new Map(pipelines.map((one) => [one.pipeline_id, one]));
}

function previewed(
  change: Change,
  actual: ActualState,
  [old, now]: readonly [Files<Before>, Files<DesiredPipeline>],
  permissions: readonly Permission[] | undefined,
): PreviewedChange {
  const { pipeline_id } = change;
  const [present, desired] = [actual.pipelines.get(pipeline_id), now.get(pipeline_id)];
  return {
    change,
    level: levelOf(change),
    costs: costsOf(change, present, desired),
    tables: tablesOf(change, present, desired),
    directives: directivesBetween(old.get(pipeline_id), desired),
    secrets: desired === undefined ? [] : newSecrets(desired, present, permissions),
    ...(doesSomething(change) && { approval: approvalOf(change, present, desired) }),
    ...sidesOf(change, present, desired),
  };
}

function sidesOf(
  change: Change,
  before: ActualPipeline | undefined,
  after: DesiredPipeline | undefined,
): Pick<PreviewedChange, "sides"> {
  if (!doesSomething(change) || change.events === "same" || before === undefined || after === undefined) return {};
  return { sides: { before, after } };
}

/** Whether there is something to say: a pipeline that stays as it is, by a file that stays, is only counted. */
function isShown({ change: { kind, why }, directives }: PreviewedChange): boolean {
  if (kind !== "no-op" || directives.length > 0) return true;
  if (why.code === "SuspendedByFile") return why.facts.waits !== undefined;
  return why.code !== "InSync";
}

/** The state is part of the change itself. */
const compared = ["suspend", "prune", "depends_on", "drift", "adopt", "recreate", "moved_from"] as const;

function directivesBetween(before: Before | undefined, after: DesiredPipeline | undefined): FieldChange[] {
  if (before === undefined || after === undefined) return [];
  return compared.flatMap((name): FieldChange[] => {
    // A server of an earlier version does not know each of them.
    const [from, to] = [before.directives[name] ?? defaultDirectives[name], after.directives[name]];
    return isDeepStrictEqual(from, to) ? [] : [{ path: `x-sluice.${name}`, effect: "none", events: "same", from, to }];
  });
}

function fileMoves(old: Files<Before>, now: Files<Before>): Note[] {
  return [...now].flatMap(([pipeline_id, { file: to }]): Note[] => {
    const from = old.get(pipeline_id)?.file ?? to;
    return from === to ? [] : [{ code: "FileMoved", facts: { pipeline_id, from, to } }];
  });
}

function unusable({ file, line, pipeline_ids }: DesiredState["refused"][number]): Note {
  return { code: "BaseUnusable", facts: { file, line, pipeline_ids } };
}
