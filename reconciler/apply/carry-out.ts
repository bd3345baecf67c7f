import type { Engine, Readiness } from "../../engine/index.ts";
import type { PipelineConfig } from "../../schemas/index.ts";
import { normalise } from "../../schemas/index.ts";
import { presentOf } from "../actual/snapshot.ts";
import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { endsLater, idAt } from "../plan/calls.ts";
import type { Call } from "../plan/calls.ts";
import type { Recreation } from "../plan/change.ts";
import { hindranceOf } from "../plan/decide/index.ts";
import type { Hindrance } from "../plan/reason.ts";
import { hindranceText } from "../plan/render/index.ts";

/** Whether new events are accepted, or refused from the beginning of the call on. */
export interface Intake {
  intake?: "closed";
}

/** The calls that a change makes to the engine. */
export interface AppliedEngine extends Pick<
  Engine,
  | "get"
  | "list"
  | "health"
  | "staleSecrets"
  | "check"
  | "recreating"
  | "create"
  | "terminate"
  | "update"
  | "move"
  | "configure"
  | "rename"
  | "tag"
  | "delete"
> {
  /** Drains and stops. With a closed intake, which a pipeline at rest may be given too, no event comes in any more. */
  stop(pipeline_id: string, intake?: Intake): Promise<void>;
  /** Starts a pipeline at rest. Without a closed intake it takes events again. */
  resume(pipeline_id: string, intake?: Intake): Promise<void>;
}

/** What a call reports besides its success. */
export interface CallResult {
  /** A webhook token was generated. Its value is not shown: `sluice token rotate` prints a new one. */
  generatedToken?: boolean;
}

/** A deletion that would lose events, offsets or dead letters, and has to wait. */
export class DeletionBlockedError extends Error {
  readonly hindrance: Hindrance;

  constructor(pipeline_id: string, hindrance: Hindrance) {
    super(`pipeline ${pipeline_id} is not deleted: ${hindranceText(hindrance)}`);
    this.hindrance = hindrance;
  }
}

/** The wanted pipeline. Without its document where its file no longer describes it. */
export type Wanted = Pick<DesiredPipeline, "pipeline_id" | "config" | "options"> & Partial<DesiredPipeline>;

/** The change whose calls are made, and its context. */
export interface MadeChange extends Partial<Pick<Recreation, "loses" | "moved_from">> {
  pipeline_id: string;
  calls: readonly Call[];
}

/**
 * Makes the lifecycle call of a change at `index`. `desired` is there for every change but a deletion. A pipeline that
 * is about to be deleted takes no event. Throws DeletionBlockedError where the deletion has to wait.
 */
export async function carryOut(
  engine: AppliedEngine,
  change: MadeChange,
  index: number,
  desired: Wanted | undefined,
): Promise<CallResult> {
  const { calls } = change;
  const pipeline_id = idAt(change, index);
  const call = calls[index];
  if (call === undefined) throw new RangeError(`pipeline ${pipeline_id}: expected a call at ${index}, found none`);
  if (call === "stop" || call === "resume")
    await engine[call](pipeline_id, endsLater(calls, index) ? { intake: "closed" } : {});
  else if (call === "terminate") await engine.terminate(pipeline_id);
  else if (call === "delete") await deleteEmpty(engine, change);
  else if (desired === undefined)
    throw new Error(`pipeline ${pipeline_id}: ${call} needs a pipeline file, and there is none`);
  else if (call === "move") await engine.move(pipeline_id, editedConfig(engine, desired, pipeline_id), desired.options);
  else return fromFile(engine, call, desired);
  return {};
}

async function fromFile(
  engine: AppliedEngine,
  call: "create" | "update" | "configure" | "rename" | "tag",
  { pipeline_id, config, document, options }: Wanted,
): Promise<CallResult> {
  if (call === "create") {
    const { access_token } = await engine.create(config, options);
    return access_token === undefined ? {} : { generatedToken: true };
  }
  if (call === "configure") await engine.configure(pipeline_id, options);
  else if (call === "rename") await engine.rename(pipeline_id, config.name);
  else if (call === "tag") await engine.tag(pipeline_id, config.metadata.tags);
  else await engine.update(pipeline_id, editedConfig(engine, { pipeline_id, config, document }), options);
  return {};
}

/** The config that an edit gives a pipeline: what its file leaves out stays as it is. `id` is that which the engine has it by. */
function editedConfig(
  engine: Pick<AppliedEngine, "get">,
  {
    pipeline_id,
    config,
    document,
  }: Pick<Wanted, "pipeline_id" | "config"> & { document?: Wanted["document"] | undefined },
  id = pipeline_id,
): PipelineConfig {
  return document === undefined ? config : normalise(document, engine.get(id).config);
}

/**
 * Whether the pipeline of a change could run as its file says, asked before the first call of a change that takes a
 * running pipeline down for it. Undefined for any other change.
 */
export async function readinessFor(
  engine: AppliedEngine,
  change: MadeChange,
  desired: Wanted | undefined,
): Promise<Readiness | undefined> {
  const { calls } = change;
  const isEdited = calls.includes("update") || calls.includes("move");
  const runsAgain = calls.includes("create") || (isEdited && calls.includes("resume"));
  if (desired === undefined || calls[0] !== "stop" || !runsAgain) return undefined;
  const config = calls.includes("create") ? desired.config : editedConfig(engine, desired, idAt(change, 0));
  return engine.check(config, desired.options);
}

/** Deletes a pipeline that holds no accepted events, no uncommitted offsets and no dead letters that must be kept. */
async function deleteEmpty(engine: AppliedEngine, { pipeline_id, loses }: MadeChange): Promise<void> {
  const present = presentOf(engine, pipeline_id);
  if (present === undefined) return;
  const hindrance = hindranceOf(present, loses === undefined ? "prune" : "recreate") ?? moreLetters(present, loses);
  if (hindrance !== undefined) throw new DeletionBlockedError(pipeline_id, hindrance);
  await engine.delete(pipeline_id);
}

/** Dead letters that arrived after the plan had counted those that are lost: the next plan counts them again. */
function moreLetters({ dead_letters }: ActualPipeline, loses: MadeChange["loses"]): Hindrance | undefined {
  if (loses === undefined || dead_letters <= loses.dead_letters) return undefined;
  const facts = { planned: loses.dead_letters, present: dead_letters };
  return { cause: "DeadLettersHeld", why: { code: "MoreDeadLetters", facts } };
}
