import { expect, test } from "vitest";
import { immutableChange } from "../../../engine/catalog/immutable.ts";
import { consumerGroup } from "../../../engine/core/names.ts";
import { kafkaPipeline } from "../../support/pipelines.ts";
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
  const [before, after] = [from, to].map((signals) => ({ config: receiving(...signals), options: {} }));
  const refused = immutableChange(before!, after!)?.split(" ", 1)[0];
  expect(refused).toBe(field);
});

test("a consumer group keeps its name, which it has without one in the file as well", () => {
  const config = kafkaPipeline("orders", { topic: "orders", connection_params: {} });
  const own = consumerGroup("orders");
  const change = (from?: string, to?: string): string | undefined => {
    const [before, after] = [from, to].map((name) => ({
      config,
      options: name === undefined ? {} : { consumer_group: name },
    }));
    return immutableChange(before!, after!);
  };
  expect(change(undefined, "shop")).toBe(
    `x-sluice.consumer_group cannot change after creation: it is ${own}, and the new config has shop`,
  );
  expect(change("shop")).toContain(`it is shop, and the new config has ${own}`);
  expect([change(undefined, own), change("shop", "shop"), change()]).toEqual([undefined, undefined, undefined]);
});

test("a move may change the id, and the name of a group that follows from it; no other group", () => {
  const config = kafkaPipeline("orders", { topic: "orders", connection_params: {} });
  const moved = { ...config, pipeline_id: "sales" };
  const change = (from?: string, to?: string, isMove = true): string | undefined => {
    const [before, after] = [
      { config, options: from === undefined ? {} : { consumer_group: from } },
      { config: moved, options: to === undefined ? {} : { consumer_group: to } },
    ];
    return immutableChange(before, after, isMove)?.split(" ", 1)[0];
  };
  expect(change(undefined, undefined, false)).toBe("pipeline_id");
  expect([change(), change("shop", "shop"), change(undefined, consumerGroup("orders"))]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect([change("shop"), change(undefined, "shop"), change("shop", "market")]).toEqual(
    Array(3).fill("x-sluice.consumer_group"),
  );
});
