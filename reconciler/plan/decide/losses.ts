import { hasAccessToken, isPushed } from "../../../engine/language.ts";
import type { PipelineConfig } from "../../../schemas/index.ts";
import type { ActualPipeline, ActualState } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { renewing } from "../calls.ts";
import type { Call } from "../calls.ts";
import { doesSomething } from "../change.ts";
import type { Action, Change } from "../change.ts";
import type { Loss, LossCode } from "../loss.ts";

/** A change that says what its inverse does not bring back. */
export function withLosses(change: Change, { pipelines }: ActualState): Change {
  const present = pipelines.get(change.pipeline_id);
  if (present === undefined || !doesSomething(change)) return change;
  const irreversible = irreversibleOf(change, present);
  return irreversible.length === 0 ? change : { ...change, irreversible };
}

function irreversibleOf(change: Action, present: ActualPipeline): Loss[] {
  const { calls } = change;
  const { status, secrets } = present;
  const renews = status !== "Terminated" && calls.some((call) => renewing.has(call));
  const values = [...new Set(secrets?.changed)];
  return [
    ...eventsLostBy(change, present),
    ...memoryLostBy(change, present),
    ...(renews && values.length > 0 ? [{ code: "SecretValues" as const, facts: { secrets: values } }] : []),
  ];
}

/** States that no file can wish for: an inverse of the change does not restore them. */
export function passedBy({ calls }: Action, { status, intake }: ActualPipeline): Loss[] {
  if (!calls.some((call) => moving.has(call))) return [];
  return [
    ...(status === "Failed" ? [{ code: "Failure" as const, facts: {} }] : []),
    ...(intake === "closed" ? [{ code: "BegunEnd" as const, facts: {} }] : []),
  ];
}

/** Calls that end the status Failed, or let a pipeline take events again. */
const moving: ReadonlySet<Call> = new Set<Call>(["resume", "terminate", "create", "delete"]);

/**
 * Unless a pipeline is Terminated, held events are written before its deletion, and dead letters block it. Events of a
 * log stay in the log.
 */
function eventsLostBy({ kind, calls }: Action, present: ActualPipeline): Loss[] {
  const { status, pending_batches } = present;
  if (kind === "delete" && status === "Terminated")
    return [...droppedOf(present, pending_batches), ...lettersOf(present)];
  if (kind === "recreate") return lettersOf(present);
  // Prepared batches are kept.
  return calls.includes("terminate") ? [...droppedOf(present, 0), ...rowsOf(present)] : [];
}

/** The offsets of joined rows in prepared batches may be committed, so these are not read again. */
function droppedOf({ config, held }: ActualPipeline, pending_batches: number): Loss[] {
  const isKept = !isPushed(config) && config.join === undefined;
  if (isKept || (held === 0 && pending_batches === 0)) return [];
  return [{ code: "AcceptedEvents", facts: { held, pending_batches } }];
}

/** Rows of a join that are in no prepared batch are dropped with what it buffers. */
function rowsOf({ config, join, status }: ActualPipeline): Loss[] {
  if (config.join === undefined || status === "Terminated" || join?.rows === 0) return [];
  return [{ code: "JoinRows", facts: join === undefined ? {} : { rows: join.rows } }];
}

/** Keys, buffered events, tokens and committed offsets. A terminated pipeline has forgotten its keys and events. */
function memoryLostBy({ kind, calls, fields }: Action, present: ActualPipeline): Loss[] {
  const { pipeline_id, config, options, status } = present;
  const ends = kind === "delete" || kind === "recreate";
  const forgets = (section: string): boolean =>
    ends ||
    calls.includes("terminate") ||
    fields.some(({ events, path }) => events === "forget" && path.startsWith(section));
  const bringsToken = fields.some(({ path }) => path === "x-sluice.access_token");
  const isGenerated = hasAccessToken(config) && options.access_token === undefined;
  const run = fields.find(({ path }) => path === "x-sluice.take_over")?.to;
  return [
    ...(forgets("transforms") && status !== "Terminated" ? keysOf(present) : []),
    ...(forgets("join") && status !== "Terminated" ? bufferedOf(present) : []),
    ...(isGenerated && (ends || bringsToken) ? [{ code: "AccessToken" as const, facts: { pipeline_id } }] : []),
    ...(typeof run === "string" ? [{ code: "GroupPlace" as const, facts: { run } }] : []),
  ];
}

/** What a recreation can lose, without the figures of this moment. */
export function lossCodesOf(desired: DesiredPipeline, present: ActualPipeline): LossCode[] {
  return ["DeadLetters", ...memoryOf(desired, present).map(({ code }) => code)];
}

/** What a recreation loses, with the figures of this moment. */
export function lossesOf(desired: DesiredPipeline, present: ActualPipeline): Loss[] {
  return [...lettersOf(present), ...memoryOf(desired, present)];
}

/** What was lost with a pipeline that was deleted in the engine; the amounts are not known. */
export function lostInEngine({ config, options }: DesiredPipeline): LossCode[] {
  return [
    "AcceptedEvents",
    "DeadLetters",
    ...(hasDedup(config) ? ["DedupKeys" as const] : []),
    ...(config.join === undefined ? [] : ["JoinEvents" as const]),
    ...(hasAccessToken(config) && options.access_token === undefined ? ["AccessToken" as const] : []),
  ];
}

function lettersOf({ dead_letters: count }: ActualPipeline): Loss[] {
  return count === 0 ? [] : [{ code: "DeadLetters", facts: { count } }];
}

function keysOf({ config, keys }: ActualPipeline): Loss[] {
  return hasDedup(config) ? [{ code: "DedupKeys", facts: keys === undefined ? {} : { keys } }] : [];
}

function bufferedOf({ config, join }: ActualPipeline): Loss[] {
  if (config.join === undefined) return [];
  return [{ code: "JoinEvents", facts: join?.events === undefined ? {} : { events: join.events } }];
}

/** The state besides accepted events that a recreated pipeline does not have. */
function memoryOf(desired: DesiredPipeline, present: ActualPipeline): Loss[] {
  const { pipeline_id, config } = present;
  const keepsToken = hasAccessToken(desired.config);
  const isBrought = keepsToken && desired.options.access_token !== undefined;
  const token: Loss[] =
    hasAccessToken(config) && !isBrought ? [{ code: "AccessToken", facts: keepsToken ? { pipeline_id } : {} }] : [];
  return [...keysOf(present), ...bufferedOf(present), ...token];
}

function hasDedup({ transforms }: PipelineConfig): boolean {
  return transforms.some(({ type }) => type === "dedup");
}
