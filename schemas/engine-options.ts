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
    access_token,
  } = document["x-sluice"] ?? {};
  const said = { create_table, on_uncertain, on_lost, on_view_error };
  return access_token === undefined ? said : { ...said, access_token };
}
