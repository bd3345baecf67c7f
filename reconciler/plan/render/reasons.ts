import { allowed, limitText } from "../budget.ts";
import type { Caution, NotRunning, Reason, ReasonCode, ReasonFacts, StateDifference, Suspension } from "../reason.ts";
import { deletionText, hindranceText, triggerText, waitText } from "./ending.ts";
import {
  anewText,
  beginningText,
  joinReplaysText,
  positionText,
  rereadingText,
  rowsTwiceText,
  sharedText,
  unreadText,
} from "./kafka.ts";
import { lossNames, lossText, pastLossNames, writtenFirst } from "./losses.ts";
import { counted, firstOf, listed, someOf } from "./words.ts";

/** The sentence of a reason; that of a refusal names the ways out. */
export function reasonText<Code extends ReasonCode>({ code, facts }: Reason<Code>): string {
  return sentences[code](facts);
}

/** What a person should look at before the plan is carried out. */
export function cautionText(caution: Caution): string {
  if (caution.code === "RowsTwice") return rowsTwiceText(caution.facts);
  if (caution.code === "JoinReplays") return joinReplaysText(caution.facts);
  const { from } = caution.facts;
  return `x-sluice.moved_from names ${listed(from)}, and no pipeline of that id is there: this one begins with nothing`;
}

/** Such as `by ada since 2026-01-01T00:00:00.000Z: the table is being moved`. */
export function suspensionText({ by, since, reason }: Suspension): string {
  const who = by === undefined ? "" : `by ${by} `;
  return `${who}since ${since}${reason === undefined ? "" : `: ${reason}`}`;
}

/** Who stopped it, since when and why. */
function operatorText({ by, ...stop }: Suspension): string {
  return `${by === undefined ? "an operator" : `the operator ${by}`} ${suspensionText(stop)}`;
}

type Sentences = { readonly [Code in ReasonCode]: (facts: ReasonFacts[Code]) => string };

const sentences: Sentences = {
  New: (facts) => `it is new${newText(facts)}`,
  CreatedAgain: ({ lost, ...facts }) => `${goneText(lost)}; it is created again${newText(facts)}`,
  Edited: editText,
  Moved: movedText,
  StateDiffers: ({ failure, ...facts }) => `${stateText(facts)}${failure === undefined ? "" : `; ${failure}`}`,
  Recreated: recreationText,
  Adopted: ({ of }) => `it is adopted, because x-sluice.adopt is true: ${reasonText(of)}`,
  Drifted: ({ of }) => driftText(of),
  FileRemoved: ({ file, ...facts }) => `${triggerText({ ending: "prune", file })}${deletionText(facts)}`,
  SecretChanged: ({ secrets }) => secretsText(secrets),
  SecretsToo: ({ of, secrets }) => `${reasonText(of)}; ${secretsText(secrets)}`,
  RunsAgain: ({ of, revision }) =>
    `it goes on as it was: the change of ${revision} that stopped it is no longer asked for; ${reasonText(of)}`,
  RecreationFinished: ({ of, revision }) =>
    `it is created from ${revision}, which had deleted it to recreate it; ${reasonText(of)}`,
  EndTakenBack: ({ of }) => `it goes on as it was, because the file no longer asks for its deletion: ${reasonText(of)}`,
  Replaces: ({ of }) => `${reasonText(of)}; it replaces the change for which the pipeline is being stopped`,
  StopsAfterAll: () => "x-sluice.state is Stopped",
  GoesBack: ({ of, revision }) =>
    `${reasonText(of)}; it goes back to what was applied with ${revision}, so it needs no approval`,

  InSync: ({ status }) => `it is ${status} and matches its file`,
  SuspendedByFile: ({ waits }) => `x-sluice.suspend is true: it is left as it is${waitingText(waits)}`,
  SuspendedByOperator: ({ pipeline_id, waits, ...suspension }) =>
    `suspended ${suspensionText(suspension)}; it is left as it is until "sluice resume ${pipeline_id}"${waitingText(waits)}`,
  StoppedByOperator: ({ until, way, waits, ...stop }) => {
    const later = waits === undefined ? "" : `; then, as it has to run for that: ${reasonText(waits)}`;
    return `${way === undefined ? "stopped" : "terminated"} by ${operatorText(stop)}; it runs again at ${until}, or after "sluice resume"${later}`;
  },
  StopOver: ({ of }) => `it runs again, as the stop by an operator is over; ${reasonText(of)}`,
  SuspendedFileGone: ({ file }) =>
    `${file} no longer has it, but said x-sluice.suspend: true: it is left as it is. To delete it, restore the file ` +
    "without x-sluice.suspend, and remove it again",
  PruneDisabled: ({ file }) => `${file} no longer has it, but said x-sluice.prune: false: it is kept`,
  PruneHeld: heldText,
  FolderChanging: ({ of, after, changed }) => {
    const last = changed === undefined ? "" : `; ${changed} changed last`;
    return `${reasonText(of)}; this waits until the folder has stood still for ${after / 1000} s (--dir-settle), as it may be half of a copy${last}`;
  },
  NotOwned: () => "it was not created from this source: it is left as it is",
  InProgress: () => "an earlier change is still being carried out",
  InProgressMeanwhile: ({ dependency }) =>
    `an earlier change is completed first; then this waits for ${dependency.pipeline_id}, which ${dependencyText(dependency)}`,
  InTransition: ({ status }) => `it is ${status}: this is carried out when that has ended`,
  EndWaits: ({ trigger, wait }) => `${triggerText(trigger)}: ${waitText(trigger, wait)}`,
  DependencyNotReady: ({ dependency }) => {
    const { pipeline_id } = dependency;
    const why = dependencyText(dependency);
    return `blocked by ${pipeline_id}, which ${why}: this is carried out when ${pipeline_id} runs`;
  },
  DriftLeft: ({ of, mode }) =>
    mode === "ignore"
      ? `${reasonText(of)}, which x-sluice.drift: ignore accepts`
      : `${driftText(of)}, which x-sluice.drift: report leaves as it is`,
  DriftWaits: ({ of, times, next }) =>
    `${correctedText(of, times)}, and is corrected again at ${new Date(next).toISOString()}`,

  FieldsDiffer: ({ paths }) => `${firstOf(paths)} changed`,
  StatusDiffers: ({ status }) => `it is ${status}`,
  DeletedInEngine: ({ lost }) => goneText(lost),

  FileUnusable: fileText,
  ImmutableField: immutableText,
  NotAdopted: notAdoptedText,
  DriftFight: ({ of, times }) =>
    `${correctedText(of, times)}: another writer keeps changing it, and it is left as it is. Ways out: find that writer; or ` +
    "write the intended values into the file; or set x-sluice.drift: report; or suspend it for one turn, after which it is " +
    "corrected again",
  IdChanged: idText,
  NotMoved: notMovedText,
  EmptySource: () =>
    "the source holds no valid pipeline at all, which looks like a mistake: nothing is deleted. Ways out: check --path " +
    "and the branch, or the folder of --dir; or, to remove the last pipelines on purpose, keep one file with x-sluice.state: Terminated",
  DeletionBudget: budgetText,
  SourceChanged: sourceText,
  NotApproved: approvalText,
  EndHindered: ({ trigger, hindrance }) => `${triggerText(trigger)}: ${hindranceText(hindrance)}`,
  SuccessorLost: ({ of, revision }) =>
    `${reasonText(of)}; ${revision} had deleted it to recreate it, and its new config was not stored, because its file holds a secret in ` +
    "plain text: correct the file",
  Undoes: ({ kind, lost }) => {
    const missing = lost.map((loss) => lossText(loss));
    return `it undoes the ${kind}${missing.length === 0 ? "" : `, but does not bring back ${listed(missing)}`}`;
  },
};

function waitingText(waits: Reason | undefined): string {
  return waits === undefined ? "" : `; what waits for that: ${reasonText(waits)}`;
}

function newText({ state, topics, shared }: ReasonFacts["New"]): string {
  const wish = state === "Running" ? "" : `, and x-sluice.state is ${state}`;
  return `${wish}${beginningText(topics)}${shared.map((topic) => `; ${sharedText(topic)}`).join("")}`;
}

function sourceText({ from, to, isRedirected, removes, edits }: ReasonFacts["SourceChanged"]): string {
  const does = [...pipelinesText("lacks", removes), ...pipelinesText("changes", edits)].join(", and ");
  const back = isRedirected ? "correct the redirect" : "run with the earlier source";
  const deleting = removes.length === 0 ? "which follows it" : "which deletes what this source lacks";
  return (
    `the source is ${to}, and was ${from}; it ${does}, so nothing is changed. Ways out: ${back}; or "sluice approve", ` +
    deleting
  );
}

function pipelinesText(verb: string, ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [`${verb} ${counted(ids.length, "pipeline")} (${someOf(ids)})`];
}

function approvalText({ of, level, approval, approved }: ReasonFacts["NotApproved"]): string {
  const found = approved === undefined ? "none" : `one of class ${approved}`;
  return (
    `${reasonText(of)}; it is of class ${level}, and --approve holds it back: expected an approval, found ${found}. To approve it, ` +
    `commit a file with ${approval} in the folder approvals of the repository, or the trailer "Sluice-Approve: ${approval}" in its newest commit`
  );
}

function goneText(lost: ReasonFacts["DeletedInEngine"]["lost"]): string {
  return `it was deleted in the engine, and with it ${pastLossNames(lost)}`;
}

function driftText(of: Reason): string {
  return `it drifted from its file: ${reasonText(of)}`;
}

function correctedText(of: Reason, times: number): string {
  return `${driftText(of)}; it was corrected ${counted(times, "time")} within an hour`;
}

function secretsText(secrets: readonly string[]): string {
  const have = secrets.length === 1 ? "has another value" : "have other values";
  const how = "it restarts with that, and sends prepared batches again with the same deduplication tokens";
  return `${listed(secrets)} ${have} now: ${how}`;
}

function editText({ paths, reading, state, writes, adds = [], isDrifted }: ReasonFacts["Edited"]): string {
  const status = state === undefined ? "" : `; ${stateText(state)}`;
  const effects = `${rereadingText(reading)}${addedText(adds)}${status}${writtenFirst(writes)}`;
  return `${paths.length === 0 ? "" : `${firstOf(paths)} changed`}${effects}${alsoText(isDrifted)}`;
}

function movedText({ from, isAsked, group, of }: ReasonFacts["Moved"]): string {
  const why = isAsked
    ? `from ${from}, which x-sluice.moved_from names,`
    : `back from ${from} to an id that it had before,`;
  const groups =
    group === undefined ? "" : `; its consumer group is ${group.to} from now on, and was ${group.from}: it reads on`;
  const rest = reasonText(of);
  return (
    `it is moved ${why} with what is stored of it: events, offsets, token, dedup keys, dead letters and history` +
    `${groups}${rest === "" || rest.startsWith(";") ? rest : `; ${rest}`}`
  );
}

function notMovedText({ to, from, ...obstacle }: ReasonFacts["NotMoved"]): string {
  const [old = ""] = from;
  switch (obstacle.is) {
    case "taken":
      return (
        `x-sluice.moved_from names ${listed(from)}, and there is a pipeline ${to} already: both stay as they are. Ways out: remove ` +
        `moved_from, after which ${to} is as its file says, and ${old}, which has no file, is deleted; or restore the file of ${old}`
      );
    case "several":
      return (
        `${listed(from)} are there, and one of them alone can become ${to}: all stay as they are. Name that one in ` +
        "x-sluice.moved_from, and restore the files of the others, which are deleted without"
      );
    case "contested":
      return (
        `${old} had this pipeline_id before, and that of another file: it stays as it is. Set x-sluice.moved_from: ${old} in the ` +
        "file of the pipeline that goes on with what is stored of it"
      );
    case "described":
      return `${old}, which is to become ${to}, may be described in ${obstacle.file}, which cannot be used: it stays as it is until that file is corrected or removed`;
    default:
      return (
        `${obstacle.path} changed as well, for which x-sluice.recreate would delete what is kept of ${old}: it stays as it is. ` +
        "Change one after the other, in two commits"
      );
  }
}

function addedText(columns: readonly string[]): string {
  if (columns.length === 0) return "";
  const [noun, pronoun] = columns.length === 1 ? ["column", "it"] : ["columns", "them"];
  return `; adds the ${noun} ${someOf(columns)} to its table, where that lacks ${pronoun}`;
}

function recreationText({ path, writes, losses, position, isDrifted }: ReasonFacts["Recreated"]): string {
  const lost = losses.map((loss) => lossText(loss)).join(", ");
  const loses = lost === "" ? "" : `; lost: ${lost}`;
  const anew = `the pipeline is recreated${writtenFirst(writes)}${loses}${positionText(position)}`;
  return `${triggerText({ ending: "recreate", path })}: ${anew}${alsoText(isDrifted)}`;
}

function alsoText(isDrifted: boolean): string {
  return isDrifted ? "; it was also changed in the engine meanwhile, which this undoes" : "";
}

function fileText({ obstacle, status }: ReasonFacts["FileUnusable"]): string {
  const until = status === "Running" ? ", as its last good file said" : " until the file can be used";
  const goesOn = status === undefined ? "it is not created" : `it stays ${status}${until}`;
  return `${obstacleText(obstacle)}; ${goesOn}`;
}

function obstacleText(obstacle: ReasonFacts["FileUnusable"]["obstacle"]): string {
  if ("skipped" in obstacle) return `${obstacle.path} is ${obstacle.skipped}`;
  if ("file" in obstacle) return `${obstacle.file} cannot be used`;
  return `${obstacle.problem}${obstacle.more > 0 ? ` (and ${obstacle.more} more)` : ""}`;
}

function immutableText({ path, from, to, reads, recreation_loses, anew }: ReasonFacts["ImmutableField"]): string {
  const another = reads ? ", which reads its topic in a consumer group of its own" : "";
  const values = `${JSON.stringify(from)} to ${JSON.stringify(to)}`;
  return (
    `${path} cannot change after creation, and was changed from ${values}: the pipeline runs on unchanged. Ways out: restore ` +
    `the old value; or give the new config to a new pipeline with another pipeline_id${another}; or set ` +
    "x-sluice.recreate: true, which writes what was accepted and recreates the pipeline, without " +
    lossNames(recreation_loses) +
    (anew === undefined ? "" : anewText(anew))
  );
}

function notAdoptedText({ paths, calls, level, moved_from }: ReasonFacts["NotAdopted"]): string {
  const way = calls.length === 0 ? "" : ` by ${calls.join(", ")}${level === "none" ? "" : ` (${level})`}`;
  if (moved_from !== undefined) {
    return (
      `${moved_from}, from which it is to be moved, was not created from this source: it runs on unchanged. Ways out: set ` +
      `x-sluice.adopt: true, which moves it${way}; or remove moved_from, which creates another pipeline`
    );
  }
  return (
    `a pipeline with this pipeline_id exists already and was not created from this source; ${firstOf(paths)} ` +
    `${paths.length > 1 ? "differ" : "differs"}: it runs on unchanged. Ways out: set x-sluice.adopt: true, which changes it ` +
    `to match the file${way}; or change the file to match what runs, which adopts it as it is; or choose another pipeline_id`
  );
}

function idText({ file, from, to, isReader }: ReasonFacts["IdChanged"]): string {
  const [old, now] = [from.join(", "), to.join(", ")];
  const again = isReader ? ": its topic is then read again, by another consumer group" : "";
  const moves =
    from.length * to.length === 1
      ? `set x-sluice.moved_from: ${old}, by which ${now} goes on with what is stored of ${old}`
      : "set x-sluice.moved_from to the former id of each, which goes on with what is stored of that";
  return (
    `pipeline_id cannot change by itself, and ${file} had ${old} where it now has ${now}: ${old} runs on unchanged. Ways out: ${moves}; or put ` +
    `${old} back, and change name instead; or put ${now} into a file of its own, which creates it and deletes ${old}${again}`
  );
}

function budgetText({ file, waiting, begun, of, limit }: ReasonFacts["DeletionBudget"]): string {
  const most = allowed(limit, of);
  const count = begun === 0 ? `${waiting}` : `${begun + waiting} (${begun} of them begun already)`;
  const restoring =
    most === 0 ? "restore the file" : `restore files until at most ${most} ${most === 1 ? "is" : "are"} missing`;
  return (
    `${file} no longer has it, but the files of ${count} of ${of} pipelines are missing, and --max-deletions ` +
    `(${limitText(limit)}) allows ${most}: no further deletion is begun. Ways out: ${restoring}; or run with a greater --max-deletions; or set x-sluice.state: Terminated first, which drops ` +
    "what a pipeline holds, and remove its file in a later commit"
  );
}

/** The present status of a pipeline, the wished one, and what the calls between them do to its events. */
function stateText({ status, wish, ending, leaves }: StateDifference): string {
  return `it is ${status}${endingText(ending)}, x-sluice.state is ${wish}${leavesText(leaves)}`;
}

/** A deletion or recreation that was begun and is no longer wished for. */
function endingText(ending: StateDifference["ending"]): string {
  if (ending === undefined) return "";
  return ending === "reads" ? " and its deletion had begun" : " and takes no events, because its deletion had begun";
}

function leavesText(leaves: StateDifference["leaves"]): string {
  if (leaves === undefined) return "";
  if (leaves.way === "unread") return unreadText(leaves.topics, leaves.lag);
  if (leaves.way === "written") return `${writtenFirst(leaves.writes)}${keptText(leaves.max_age)}`;
  if (leaves.held === 1) return "; 1 accepted event is dropped unless it is in a prepared batch";
  return leaves.held === "unknown"
    ? "; the accepted events of a stream that cannot be opened are dropped, except those in prepared batches"
    : `; of ${leaves.held} accepted events those are dropped that are in no prepared batch`;
}

function heldText(facts: ReasonFacts["PruneHeld"]): string {
  const { file } = facts;
  if ("unread" in facts)
    return `${file} no longer has it, but ${facts.unread} cannot be used and may have it: it is kept until that file is corrected`;
  const [{ path, reason } = { path: "" }, ...others] = facts.mayHold;
  const more = others.map((one) => `${one.path} (${one.reason ?? goneSince})`);
  const paths = facts.mayHold.map((one) => one.path);
  return (
    `${file} no longer has it, but ${path} came or changed with the same revision, may have it, and is ${reason ?? goneSince}` +
    `${more.length === 0 ? "" : `; so did ${someOf(more)}`}. It is kept. Ways out: restore the file; or, to delete the ` +
    `pipeline, name ${paths.length > 5 ? someOf(paths) : listed(paths)} in .sluiceignore`
  );
}

const goneSince = "gone since";

/** How long a stream keeps the events that are pushed to a stopped pipeline. */
function keptText(max_age: string): string {
  return (
    `; events that arrive while it is stopped are kept for at most ${max_age} (resources.nats.stream.max_age), then ` +
    "removed unwritten, and counted"
  );
}

/** Why a dependency will not run after this plan: a clause about it. */
function dependencyText({ status, why }: NotRunning): string {
  if (why.is === "planned") return `is to be ${why.state ?? "gone"}`;
  const is = status === undefined ? "is not there" : `is ${status}`;
  if (why.is === "left") return `${is}${leftText(why)}`;
  if (why.is === "unusable") return `${is}, and its file cannot be used`;
  return status === undefined ? "no valid file describes" : `${is}, and no valid file describes it`;
}

function leftText({ isRefused, cause, state }: NotRunning["why"] & { is: "left" }): string {
  if (isRefused) return `, and its change was refused (${cause})`;
  if (cause === "Suspended") return ", and is suspended";
  if (cause === "DriftIgnored") return ", and its x-sluice.drift is ignore";
  if (cause === "Drifted") return ", unlike in its file (Drifted)";
  return cause === "InSync" && state !== undefined ? `, as its x-sluice.state is ${state}` : ` (${cause})`;
}
