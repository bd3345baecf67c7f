import type { Engine } from "../../engine/index.ts";
import { normalise } from "../../schemas/index.ts";
import { healthOf } from "../actual/snapshot.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Call } from "../plan/calls.ts";

/** What is done to the engine. */
export type AppliedEngine = Pick<
  Engine,
  | "get"
  | "list"
  | "health"
  | "create"
  | "stop"
  | "terminate"
  | "resume"
  | "update"
  | "configure"
  | "rename"
  | "tag"
  | "delete"
>;

/** What a call brought to light. */
export interface CallResult {
  /** A webhook token was generated. It is shown to nobody here: `sluice token rotate` prints a new one. */
  generatedToken?: boolean;
}

/** Makes one lifecycle call. `desired` is there for every call but those of a deletion. */
export async function carryOut(
  engine: AppliedEngine,
  call: Call,
  pipeline_id: string,
  desired: DesiredPipeline | undefined,
): Promise<CallResult> {
  if (call === "stop" || call === "terminate" || call === "resume") await engine[call](pipeline_id);
  else if (call === "delete") await deleteDrained(engine, pipeline_id);
  else if (desired === undefined)
    throw new Error(`pipeline ${pipeline_id}: ${call} needs a pipeline file, and there is none`);
  else return fromFile(engine, call, desired);
  return {};
}

async function fromFile(
  engine: AppliedEngine,
  call: "create" | "update" | "configure" | "rename" | "tag",
  { pipeline_id, config, document, options }: DesiredPipeline,
): Promise<CallResult> {
  if (call === "create") {
    const { access_token } = await engine.create(config, options);
    return access_token === undefined ? {} : { generatedToken: true };
  }
  if (call === "configure") await engine.configure(pipeline_id, options);
  else if (call === "rename") await engine.rename(pipeline_id, config.name);
  else if (call === "tag") await engine.tag(pipeline_id, config.metadata.tags);
  else await engine.update(pipeline_id, normalise(document, engine.get(pipeline_id).config), options);
  return {};
}

/** Deletes a pipeline that holds nothing which a sender was told is safe. A terminated one has let go of it already. */
async function deleteDrained(engine: AppliedEngine, pipeline_id: string): Promise<void> {
  const health = healthOf(engine, pipeline_id);
  if (health === undefined) return;
  if (health.overall_status !== "Terminated" && health.stream.messages > 0) {
    const why = health.paused === undefined ? "" : ` (${health.paused.text})`;
    throw new Error(
      `pipeline ${pipeline_id} holds ${health.stream.messages} accepted events that are not written yet: it is deleted ` +
        `when they are, which needs its senders to stop and its target to take them${why}`,
    );
  }
  await engine.delete(pipeline_id);
}
