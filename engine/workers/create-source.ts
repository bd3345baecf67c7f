import { openSource, type OpenedSource, type SourceTools } from "../sources/open.ts";
import type { PipelineSpec } from "./protocol.ts";
import { RetryPause } from "../flow/retry-pause.ts";

/** The source of a config, with its secrets resolved. */
export function createSource(spec: PipelineSpec, tools: Omit<SourceTools, "pause">): OpenedSource {
  return openSource(spec, { ...tools, pause: new RetryPause(spec.pipeline_id, tools.telemetry) });
}
