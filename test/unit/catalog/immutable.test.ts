import { expect, test } from "vitest";
import { immutableChange } from "../../../engine/catalog/immutable.ts";
import { normalise } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";

function receiving(...signals: string[]): PipelineConfig {
  return normalise({
    version: "v3",
    pipeline_id: "telemetry",
    sources: signals.map((signal) => ({ type: `otlp.${signal}`, source_id: signal })),
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "default" },
      table: "t",
      mapping: [{ name: "flags", column_name: "flags", column_type: "UInt8" }],
    },
  } as never);
}

test.each([
  ["a signal may come to others", ["logs"], ["traces", "logs"], undefined],
  ["signals may change their order", ["logs", "traces"], ["traces", "logs"], undefined],
  ["a signal may not go: its events may be in the stream", ["logs", "traces"], ["logs"], "sources[1].type"],
  ["a signal may not become another one", ["logs"], ["traces"], "sources[0].type"],
])("%s", (_title, from, to, field) => {
  const refused = immutableChange(receiving(...from), receiving(...to))?.split(" ", 1)[0];
  expect(refused).toBe(field);
});
