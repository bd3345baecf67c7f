import { openSource, type OpenedSource, type SourceTools } from "./sources/open.ts";
import type { PipelineSpec } from "./thread/protocol.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** The source of a config, with its secrets resolved. */
export function createSource(spec: PipelineSpec, tools: Omit<SourceTools, "pause">): OpenedSource {
  return openSource(spec, { ...tools, pause: new WaitingRoom(spec.pipeline_id, tools.telemetry) });
}
