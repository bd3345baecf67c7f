import type { PipelineV3 } from "./pipeline-v3.d.ts";
import type { EngineOptions } from "./pipeline.ts";

/** What the engine does where a file says nothing of it. */
export const defaultOptions: EngineOptions = {
  create_table: false,
  on_uncertain: "insert",
  on_lost: "pause",
  on_view_error: "pause",
};

/** What the engine is told beyond the config. */
export function engineOptions(document: PipelineV3): EngineOptions {
  const {
    create_table = defaultOptions.create_table,
    on_uncertain = defaultOptions.on_uncertain,
    on_lost = defaultOptions.on_lost,
    on_view_error = defaultOptions.on_view_error,
    start,
    take_over,
    access_token,
  } = document["x-sluice"] ?? {};
  return {
    create_table,
    on_uncertain,
    on_lost,
    on_view_error,
    ...(start !== undefined && { start }),
    ...(take_over !== undefined && { take_over }),
    ...(access_token !== undefined && { access_token }),
  };
}
