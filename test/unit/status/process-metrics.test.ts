import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { exposeProcess } from "../../../reconciler/status/metrics.ts";

test("the metrics of the process are there, but for those that would wake it up every ten milliseconds", async () => {
  const registry = new Registry();
  exposeProcess(registry);
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining([
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "nodejs_eventloop_lag_seconds",
      "nodejs_gc_duration_seconds",
    ]),
  );
  expect(names.filter((name) => /^nodejs_eventloop_lag_\w+_seconds$/.test(name))).toEqual([]);
  expect(await registry.metrics()).toMatch(/^nodejs_eventloop_lag_seconds \d/m);
});
