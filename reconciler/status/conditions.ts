import type { PipelineHealth, RefusedSenders } from "../../engine/index.ts";
import type { Outcome } from "../apply/outcome.ts";
import type { WishedState } from "../desired/desired-state.ts";
import { SourceError } from "../git/revision.ts";
import type { ChangingFiles, Signature } from "../git/revision.ts";
import { type Change, type Stance, waitsForResume } from "../plan/change.ts";
import { reasonText } from "../plan/render/index.ts";
import { printable } from "../language/problem.ts";
import { openTransactionsText } from "./open-transactions.ts";
import { throttlingText } from "./throttling.ts";
import { unmatched } from "./unmatched.ts";

export type ConditionType =
  | "Ready"
  | "Reconciling"
  | "Stalled"
  | "Drifted"
  | "AtLeastOnce"
  | "ProfileSettings"
  | "ForeignMembers"
  | "OpenTransaction"
  | "Throttled"
  | "SendersRefused"
  | "Unmatched"
  | "SecretMissing"
  | "SourceVerified"
  | "Suspended"
  | "Pinned";

/**
 * A condition as kstatus knows it. All but `Ready` and `SourceVerified` exist only while they are True. `Drifted`: it
 * was changed through the engine and not in its file; it may still be Ready. The following do not affect `Ready`: the
 * target cannot drop a repeated insert, so rows may be in the table twice (`AtLeastOnce`); the settings
 * profile of its user may change rows (`ProfileSettings`); the consumer group has members that are not Sluice, and their partitions are not read (`ForeignMembers`); a transaction of a producer has been open for longer than a minute, and what comes behind it is not read (`OpenTransaction`); a client quota of the brokers keeps it from reading for a considerable part of the time (`Throttled`); requests of senders are refused (`SendersRefused`); left events of its join find no right
 * event, so there are no rows (`Unmatched`); a secret is missing, so the pipeline cannot be started again (`SecretMissing`); it is not changed until it is resumed (`Suspended`); it is kept
 * at an earlier commit (`Pinned`).
 */
export interface Condition {
  type: ConditionType;
  status: "True" | "False" | "Unknown";
  /** One word of a closed set: a Cause of the plan, `Paused<Class>`, or one that this file names. */
  reason: string;
  message: string;
}

/** The facts from which the conditions of one pipeline are made. */
export interface Observation {
  change: Change;
  /** Absent where the change makes no calls. */
  outcome?: Outcome;
  /** Absent where the pipeline does not exist in the engine. */
  health?: PipelineHealth;
  /** A change is being carried out at this moment. */
  busy: boolean;
  /** Absent where no good file describes it. */
  wished?: WishedState;
  /** The suspension, where there is one. */
  suspended?: Condition;
  /** Who stopped it, why and until when, where it does not run for that. */
  stopped?: string;
}

/** The conditions of a pipeline. */
export function conditionsOf(observation: Observation): Condition[] {
  const { at_least_once, profile_remark, foreign_members: members = [] } = observation.health ?? {};
  const { consumer_group = "", refused_senders } = observation.health ?? {};
  return [
    ...ownConditions(observation),
    ...drifted(observation),
    ...(at_least_once === undefined ? [] : [atLeastOnce(at_least_once)]),
    ...(profile_remark === undefined ? [] : [profileSettings(profile_remark)]),
    ...(members.length === 0 ? [] : [foreignMembers(consumer_group, members)]),
    ...openTransaction(observation.health),
    ...throttled(observation.health),
    ...(refused_senders === undefined ? [] : [sendersRefused(refused_senders)]),
    ...noMatches(observation.health),
    ...(observation.change.missing_secret === undefined ? [] : [secretMissing(observation.change.missing_secret)]),
    ...(observation.suspended === undefined ? [] : [observation.suspended]),
  ];
}

/** In this order: a change under way, what an operator must resolve, what is retried, the health of the pipeline. */
function ownConditions(observation: Observation): Condition[] {
  const { change, outcome, health, busy, suspended } = observation;
  if (busy || outcome?.result === "under way") {
    return progressing(`a change is under way: ${change.calls.join(", ") || "stop"}`, health);
  }
  if (change.kind === "refuse" || change.cause === "InvalidFile") return stalled(change.cause, placed(change));
  if (waitsForResume(change)) return [ready("False", "Suspended", reasonText(change.why))];
  if (suspended !== undefined && change.calls.length > 0 && hasNotBegun(outcome)) {
    return [ready("False", "Suspended", `${change.kind}: ${reasonText(change.why)}; ${suspended.message}`)];
  }
  if (outcome?.result === "held") return stalled(outcome.cause ?? "EventsHeld", outcome.message ?? outcome.kind);
  if (outcome?.result === "refused") return stalled(outcome.cause ?? "ReconciliationFailed", retry(outcome));
  if (outcome?.result === "blocked") return retrying("DependencyNotReady", outcome.message ?? "");
  if (outcome?.result === "waiting" && outcome.cause === "InTransition") return progressing(retry(outcome), health);
  if (outcome !== undefined && outcome.result !== "applied")
    return retrying(outcome.cause ?? "ReconciliationFailed", retry(outcome));
  if (change.cause === "DependencyNotReady" || change.cause === "FolderChanging")
    return retrying(change.cause, reasonText(change.why));
  if (change.drift?.stance === "wait") return retrying("Drifted", reasonText(change.why));
  if (change.cause === "InTransition" || change.cause === "InProgress")
    return progressing(reasonText(change.why), health);
  return [fromHealth(observation)];
}

const stances: Readonly<Record<Stance, string>> = {
  correct: "DriftCorrected",
  wait: "DriftWaits",
  report: "DriftReported",
  fight: "DriftFight",
};

/** The drifted fields with their values in the file and in the engine, until they are corrected. */
function drifted({ change: { cause, why, drift, fields }, outcome, stopped }: Observation): Condition[] {
  const stop = cause === "StoppedByOperator" ? reasonText(why) : stopped;
  if (stop !== undefined) return [{ type: "Drifted", status: "True", reason: "StoppedByOperator", message: stop }];
  if (drift === undefined || outcome?.result === "applied") return [];
  const shown = fields.slice(0, 5).map(({ path, from, to, secret }) => {
    const values = secret === true ? "a secret" : `${text(from)} in the engine, ${text(to)} in its file`;
    return `${path}: ${values}`;
  });
  const more = fields.length > 5 ? `; and ${fields.length - 5} more` : "";
  return [{ type: "Drifted", status: "True", reason: stances[drift.stance], message: shown.join("; ") + more }];
}

/** A value, cut to one line. */
function text(value: unknown): string {
  if (value === undefined) return "nothing";
  const all = JSON.stringify(value);
  return printable(all.length > 200 ? `${all.slice(0, 200)}…` : all);
}

function hasNotBegun(outcome: Outcome | undefined): boolean {
  return outcome === undefined || outcome.result === "suspended" || outcome.result === "blocked";
}

function placed({ file, line, column, why }: Change): string {
  const reason = reasonText(why);
  return file === undefined || line === undefined ? reason : `${file}:${line}:${column ?? 1}: ${reason}`;
}

function retry({ message = "", next_attempt }: Outcome): string {
  return next_attempt === undefined ? message : `${message}; next attempt at ${next_attempt}`;
}

/** Ready compares the status in the engine with the state that the file asks for. */
function fromHealth({ change, health, wished, stopped }: Observation): Condition {
  if (health === undefined) return ready("False", "NotFound", "the pipeline does not exist in the engine");
  const { overall_status: status, paused, failure } = health;
  const isNoted = notes.has(change.cause) || change.drift?.stance === "report";
  const note = isNoted ? `; ${reasonText(change.why)}` : "";
  if (status === "Failed") return ready("False", "Failed", `${failure ?? "it failed"}${note}`);
  if (paused !== undefined && status === "Running") {
    const reason = `Paused${paused.class.charAt(0).toUpperCase()}${paused.class.slice(1)}`;
    return ready("False", reason, `${paused.text}. ${paused.way_out}${note}`);
  }
  if (status === "Running" && (wished ?? status) === "Running") {
    if (readsNothing(health)) return ready("Unknown", "Progressing", `it runs, and reads no partition yet${note}`);
    return ready("True", isNoted ? change.cause : "ReconciliationSucceeded", `it runs${note}`);
  }
  if (stopped !== undefined && wished === undefined)
    return ready("False", "StoppedByOperator", `it is ${status}; ${stopped}${note}`);
  if (status === (wished ?? status) && (status === "Stopped" || status === "Terminated")) {
    return ready("True", status, `it is ${status}${wished === undefined ? "" : ", as its file says"}${note}`);
  }
  if (isNoted) return ready("False", change.cause, `it is ${status}${note}`);
  return ready("Unknown", "Progressing", `it is ${status}`);
}

/** Whether it is to read partitions, and holds none. */
function readsNothing({ consumer_group, source }: PipelineHealth): boolean {
  return consumer_group !== undefined && (source?.partitions ?? 0) === 0;
}

/** Causes that an operator should see although the pipeline runs well. */
const notes: ReadonlySet<string> = new Set([
  "Suspended",
  "StoppedByOperator",
  "DriftIgnored",
  "PruneDisabled",
  "PruneHeld",
  "NotOwned",
]);

/** What is known of a source after a turn. */
export interface SourceObservation {
  /** The error that ended the turn. */
  error?: Error;
  /** Why the newest revision could not be fetched, while the last good one stays in effect. */
  fetchError?: Error;
  /** The last good one. */
  revision?: string;
  /** Where the server redirected when it was read. */
  redirected?: string;
  /** Files of a folder that do not count as they are yet. */
  changing?: ChangingFiles;
  /** Of `revision`; absent where signatures are not verified. */
  signature?: Signature;
  /** The number of its pipelines, valid or not; absent before it was loaded. */
  documents?: number;
}

/** Conditions of the whole source, after a turn. `open` are pipelines that are not as their files say. */
export function sourceConditions(seen: SourceObservation, open: Open): Condition[] {
  const verified = verification(seen);
  return [...ownSourceConditions(seen, open), ...(verified === undefined ? [] : [verified])];
}

function ownSourceConditions(seen: SourceObservation, open: Open): Condition[] {
  const { documents, error = seen.fetchError } = seen;
  if (error !== undefined) {
    const message = error === seen.fetchError ? `${seen.revision} stays in effect: ${error.message}` : error.message;
    if (!(error instanceof SourceError)) return retrying("ReconciliationFailed", message);
    return error.stalls ? stalled(error.reason, message) : retrying(error.reason, message);
  }
  if (seen.revision === undefined) return progressing("the source was not fetched yet");
  const revision = seen.redirected === undefined ? seen.revision : `${seen.revision}, ${redirectedTo(seen.redirected)}`;
  const changing = seen.changing && changingText(seen.changing);
  if (open.stalled.length === 0 && open.retrying.length === 0) {
    if (changing !== undefined) return retrying("FolderChanging", `${revision}: ${changing}`);
    if (documents === 0) return stalled("NoPipelines", `${revision}: no file describes a pipeline: ${whereToLook}`);
    const left = [
      ...(open.suspended.length === 0 ? [] : [`what is suspended: ${listed(open.suspended)}`]),
      ...(open.kept.length === 0 ? [] : [`what is kept (PruneHeld): ${listed(open.kept)}`]),
    ];
    const but = left.length === 0 ? "" : `, but for ${left.join("; ")}`;
    return [ready("True", "ReconciliationSucceeded", `every pipeline matches ${revision}${but}`)];
  }
  const message = `${revision}: these differ from their files: ${listed([...open.stalled, ...open.retrying])}${changing === undefined ? "" : `; ${changing}`}`;
  return open.retrying.length > 0 || changing !== undefined
    ? retrying("ReconciliationIncomplete", message)
    : stalled("ReconciliationIncomplete", message);
}

function changingText({ paths, after }: ChangingFiles): string {
  return `these files have just changed, and count when they have stood still for ${after / 1000} s, as they may be half of what is written: ${listed(paths.map((one) => printable(one)))}`;
}

function redirectedTo(place: string): string {
  return `read at ${place}, to which the server redirects (if that is intended, name it with --repo)`;
}

const whereToLook = "check --path and --branch, or the folder of --dir";

/** Whether the newest commit is signed by an accepted key; Unknown where that cannot be checked. */
function verification(seen: SourceObservation): Condition | undefined {
  const { revision = "", signature, error = seen.fetchError } = seen;
  const { reason = "", message = "" } = error instanceof SourceError ? error : {};
  if (reason.startsWith("Signature")) return { type: "SourceVerified", status: "False", reason, message };
  if (reason === "VerificationUnavailable") return { type: "SourceVerified", status: "Unknown", reason, message };
  if (signature === undefined) return undefined;
  const { kind, fingerprint, signer } = signature;
  const who = `${printable(signer)} signed ${revision} with the ${kind === "gpg" ? "GPG" : "SSH"} key ${fingerprint}`;
  return {
    type: "SourceVerified",
    status: "True",
    reason: "SignatureVerified",
    message: `${who}; earlier commits are not verified`,
  };
}

/**
 * Why a source is not Ready: pipelines and files that wait for a person (`stalled`), and pipelines that are retried.
 */
export interface Open {
  stalled: string[];
  retrying: string[];
  /** With a change that waits for the end of their suspension. */
  suspended: string[];
  /** Without a file, and kept as something that is not read may have it. */
  kept: string[];
}

/** The first of them, and how many more there are. */
function listed(names: readonly string[]): string {
  const more = names.length > 5 ? `, and ${names.length - 5} more` : "";
  return `${names.slice(0, 5).join(", ")}${more}`;
}

function ready(status: Condition["status"], reason: string, message: string): Condition {
  return { type: "Ready", status, reason, message };
}

function stalled(reason: string, message: string): Condition[] {
  return [ready("False", reason, message), { type: "Stalled", status: "True", reason, message }];
}

function retrying(reason: string, message: string): Condition[] {
  const going: Condition = { type: "Reconciling", status: "True", reason: "ProgressingWithRetry", message };
  return [ready("False", reason, message), going];
}

function progressing(what: string, health?: PipelineHealth): Condition[] {
  const batches = pendingBatches(health);
  const reason = batches === undefined ? "Progressing" : "PendingBatch";
  const message = batches === undefined ? what : `${what}; ${batches}`;
  return [ready("Unknown", reason, message), { type: "Reconciling", status: "True", reason, message }];
}

/** What a stop waits for, where the change waits for that stop. */
function pendingBatches(health: PipelineHealth | undefined): string | undefined {
  if (health?.overall_status !== "Stopping" || health.pending_batches === 0) return undefined;
  const { pending_batches: count, paused } = health;
  const batches = count === 1 ? "1 prepared batch" : `${count} prepared batches`;
  return `it stops after ${batches}${paused === undefined ? "" : `: ${paused.text}`}`;
}

function atLeastOnce(message: string): Condition {
  return { type: "AtLeastOnce", status: "True", reason: "TargetCannotDeduplicate", message };
}

function profileSettings(message: string): Condition {
  return { type: "ProfileSettings", status: "True", reason: "SettingsMayChangeRows", message };
}

/** Their names are any text, and there may be any number of them. */
function foreignMembers(group: string, members: readonly string[]): Condition {
  const message =
    `consumer group ${group} has members that are not Sluice, whose partitions are not read here: ` +
    `${listed(members.map((one) => printable(one)))}. Give them a group of their own`;
  return { type: "ForeignMembers", status: "True", reason: "NotSluice", message };
}

function openTransaction(health: PipelineHealth | undefined): Condition[] {
  const message = health && openTransactionsText(health);
  return message === undefined ? [] : [{ type: "OpenTransaction", status: "True", reason: "NotEnded", message }];
}

function throttled(health: PipelineHealth | undefined): Condition[] {
  const message = health && throttlingText(health);
  return message === undefined ? [] : [{ type: "Throttled", status: "True", reason: "ClientQuota", message }];
}

/** Such as `DiskFull`. */
function sendersRefused({ reason, count, since, text: answered }: RefusedSenders): Condition {
  const word = reason.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const requests = count === 1 ? "1 request of a sender was" : `${count} requests of senders were`;
  const message = `${requests} refused since ${since}: ${answered}`;
  return { type: "SendersRefused", status: "True", reason: word, message };
}

function noMatches(health: PipelineHealth | undefined): Condition[] {
  const found = health && unmatched(health);
  return found === undefined ? [] : [{ type: "Unmatched", status: "True", ...found }];
}

function secretMissing(why: string): Condition {
  const message = `it runs with its old value and cannot be started again: ${why}`;
  return { type: "SecretMissing", status: "True", reason: "SecretNotFound", message };
}
