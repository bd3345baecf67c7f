import { validatorOf } from "#validators";
import { documentOf, normalise, schemaErrors } from "../../schemas/index.ts";
import type { ActualPipeline, ActualState } from "../actual/state.ts";
import type { LivePipeline, LiveState } from "./live-state.ts";

/** An answer that does not describe what runs. The message names the part that is wrong, and no value of it. */
export class LiveStateError extends Error {}

/**
 * The answer of `GET /api/v1/actual`, checked: what another process says is input like any other. Throws a
 * LiveStateError.
 */
export function readLiveState(answer: unknown): LiveState {
  const validate = validatorOf<LiveState>("live-state");
  try {
    if (!validate(answer)) {
      const [first] = validate.errors ?? [];
      throw new LiveStateError(`${first?.instancePath || "the document"} ${first?.message ?? "is of another shape"}`);
    }
    return { ...answer, pipelines: answer.pipelines.map(canonical) };
  } catch (error) {
    // Ajv and the normal form follow the document as deep as it is.
    if (error instanceof RangeError) throw new LiveStateError("the document is nested too deeply", { cause: error });
    throw error;
  }
}

/** Its config is checked as a file is; its canonical form is again itself. */
function canonical(pipeline: LivePipeline): LivePipeline {
  const { pipeline_id, config, options, directives } = pipeline;
  const document = documentOf(config, { ...options, ...directives });
  const [first] = schemaErrors(document);
  if (first !== undefined) {
    const at = `pipeline ${JSON.stringify(pipeline_id.slice(0, 200))}, ${first.instancePath || "config"}`;
    throw new LiveStateError(`${at}: ${first.message ?? "is of another shape"}`);
  }
  return { ...pipeline, config: normalise(document) };
}

/** The actual state that an answer describes. A change under way is completed, whatever it is. */
export function actualStateOf(live: LiveState): ActualState {
  const { at, owned, pipelines, under_way, interrupted, max_deletions: limit } = live;
  // Without a prototype: `constructor` is an id that a pipeline may have.
  const known = Object.assign(Object.create(null) as ActualState["owned"], owned);
  return {
    pipelines: new Map(pipelines.map((one) => [one.pipeline_id, actualOf(one)])),
    owned: known,
    busy: new Map(under_way.map((id) => [id, { isStopping: false }])),
    now: Date.parse(at),
    budget: { limit, begun: 0, of: Object.keys(known).length },
    interrupted: new Map(Object.entries(interrupted)),
  };
}

function actualOf({ directives: _directives, ...pipeline }: LivePipeline): ActualPipeline {
  return pipeline;
}
