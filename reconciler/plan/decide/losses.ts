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

/** What a pipeline was that is no state to wish for: an inverse of the change leaves it another way. */
export function passedBy({ calls }: Action, { status, intake }: ActualPipeline): Loss[] {
  if (!calls.some((call) => moving.has(call))) return [];
  return [
    ...(status === "Failed" ? [{ code: "Failure" as const, facts: {} }] : []),
    ...(intake === "closed" ? [{ code: "BegunEnd" as const, facts: {} }] : []),
  ];
}

/** Calls after which a pipeline has another status than one that had failed, or takes events. */
const moving: ReadonlySet<Call> = new Set<Call>(["resume", "terminate", "create", "delete"]);

/**
 * Before a deletion what is held is written, and dead letters keep the pipeline, unless it is Terminated. What was read
 * from a log stays there.
 */
function eventsLostBy({ kind, calls }: Action, present: ActualPipeline): Loss[] {
  const { status, held, pending_batches } = present;
  if (kind === "delete" && status === "Terminated")
    return [...droppedOf(present, pending_batches), ...lettersOf(present)];
  if (kind === "recreate") return lettersOf(present);
  // Batches under way are kept.
  return calls.includes("terminate") && held > 0 ? droppedOf(present, 0) : [];
}

function droppedOf({ config, held }: ActualPipeline, pending_batches: number): Loss[] {
  if (!isPushed(config) || held + pending_batches === 0) return [];
  return [{ code: "AcceptedEvents", facts: { held, pending_batches } }];
}

/** Keys, tokens and places in a consumer group. A terminated pipeline has forgotten its keys. */
function memoryLostBy({ kind, calls, fields }: Action, present: ActualPipeline): Loss[] {
  const { pipeline_id, config, options, status } = present;
  const ends = kind === "delete" || kind === "recreate";
  const forgets = ends || calls.includes("terminate") || fields.some(({ effect }) => effect === "forget");
  const bringsToken = fields.some(({ path }) => path === "x-sluice.access_token");
  const isGenerated = hasAccessToken(config) && options.access_token === undefined;
  const run = fields.find(({ path }) => path === "x-sluice.take_over")?.to;
  return [
    ...(forgets && status !== "Terminated" ? keysOf(present) : []),
    ...(isGenerated && (ends || bringsToken) ? [{ code: "AccessToken" as const, facts: { pipeline_id } }] : []),
    ...(typeof run === "string" ? [{ code: "GroupPlace" as const, facts: { run } }] : []),
  ];
}

/** What can be lost by making a pipeline anew, whatever there is of it at this moment. */
export function lossCodesOf(desired: DesiredPipeline, present: ActualPipeline): LossCode[] {
  return ["DeadLetters", ...memoryOf(desired, present).map(({ code }) => code)];
}

/** What making it anew takes away, with the figures of this moment. */
export function lossesOf(desired: DesiredPipeline, present: ActualPipeline): Loss[] {
  return [...lettersOf(present), ...memoryOf(desired, present)];
}

/** What went with a pipeline that was deleted in the engine: how much that was is not known. */
export function lostInEngine({ config, options }: DesiredPipeline): LossCode[] {
  return [
    "AcceptedEvents",
    "DeadLetters",
    ...(hasDedup(config) ? ["DedupKeys" as const] : []),
    ...(hasAccessToken(config) && options.access_token === undefined ? ["AccessToken" as const] : []),
  ];
}

function lettersOf({ dead_letters: count }: ActualPipeline): Loss[] {
  return count === 0 ? [] : [{ code: "DeadLetters", facts: { count } }];
}

function keysOf({ config, keys }: ActualPipeline): Loss[] {
  return hasDedup(config) ? [{ code: "DedupKeys", facts: keys === undefined ? {} : { keys } }] : [];
}

/** What a pipeline remembers besides its events, and the new one does not know. */
function memoryOf(desired: DesiredPipeline, present: ActualPipeline): Loss[] {
  const { pipeline_id, config } = present;
  const keepsToken = hasAccessToken(desired.config);
  const isBrought = keepsToken && desired.options.access_token !== undefined;
  const token: Loss[] =
    hasAccessToken(config) && !isBrought ? [{ code: "AccessToken", facts: keepsToken ? { pipeline_id } : {} }] : [];
  return [...keysOf(present), ...token];
}

function hasDedup({ transforms }: PipelineConfig): boolean {
  return transforms.some(({ type }) => type === "dedup");
}
