import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createHookTelemetry } from "../../../reconciler/status/hook-telemetry.ts";
import { refusalReasons } from "../../../reconciler/listeners/connection-limit.ts";
import { createListenersTelemetry } from "../../../reconciler/status/listener-telemetry.ts";
import { createTelemetry } from "../../../reconciler/status/telemetry.ts";
import { exposeHoldings } from "../../../engine/telemetry/held.ts";
import { engineMetrics } from "../../../engine/telemetry/metrics.ts";
import { Recorder } from "../../../engine/telemetry/recorder.ts";
import { emptySnapshot } from "../../support/empty-snapshot.ts";
import { keptLog } from "../../support/engine.ts";

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

const file = new URL("../../../examples/monitoring/alerts.yaml", import.meta.url);
const { groups } = parse(readFileSync(file, "utf8")) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** What Prometheus adds to every series that it scrapes. */
const scraped = new Set(["instance", "job"]);

/** Label names of every metric that is exported, by its name. */
function exported(): Map<string, ReadonlySet<string>> {
  const registry = new Registry();
  engineMetrics(registry, keptLog());
  exposeHoldings(registry, {
    freeBytes: () => Promise.resolve(0),
    pipelines: () => [],
    deadLetters: () => expect.unreachable(),
    stream: () => undefined,
    freshness: () => undefined,
  });
  createTelemetry(keptLog(), registry).exposeState(() => emptySnapshot);
  createHookTelemetry(keptLog(), registry);
  createListenersTelemetry(keptLog(), registry, refusalReasons);
  return new Map(
    registry.getMetricsAsArray().map(({ name }) => {
      // The library keeps them, and its types do not say so.
      const { labelNames = [] } = registry.getSingleMetric(name) as { labelNames?: string[] };
      return [name, new Set(labelNames)];
    }),
  );
}

/** The nodes of an expression by kind: their texts. Throws where it is no PromQL. */
function nodesOf(expr: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  parser.parse(expr).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) throw new Error(`${expr}: no PromQL at ${from}`);
      found.set(type.name, [...(found.get(type.name) ?? []), expr.slice(from, to)]);
    },
  });
  return found;
}

describe("the alert rules that come with it", () => {
  test.each(rules)("$alert names metrics and labels that are exported", ({ expr }) => {
    const metrics = exported();
    const nodes = nodesOf(expr);
    const names = (nodes.get("VectorSelector") ?? []).map((text) => /^\w+/.exec(text)?.[0] ?? text);
    expect(names).not.toEqual([]);
    for (const name of names) expect(metrics.keys(), expr).toContain(name);
    const labels = (nodes.get("LabelName") ?? []).filter((label) => !scraped.has(label));
    for (const label of labels)
      expect(
        names.some((name) => metrics.get(name)?.has(label)),
        `${label} in ${expr}`,
      ).toBe(true);
  });

  test.each(rules)(
    "$alert says what is wrong, and what to do, with labels that its series have",
    ({ expr, annotations }) => {
      const nodes = nodesOf(expr);
      const metrics = nodes
        .get("VectorSelector")
        ?.flatMap((text) => [...(exported().get(/^\w+/.exec(text)?.[0] ?? "") ?? [])]);
      // An aggregation keeps the labels that it names, and everything else keeps them all.
      const kept = nodes.has("AggregateExpr") ? nodes.get("LabelName") : metrics;
      const told = `${annotations.summary} ${annotations.description}`;
      for (const [, label] of told.matchAll(/\$labels\.(\w+)/g)) expect(kept).toContain(label);
      expect(annotations.description).not.toBe("");
    },
  );

  test.each(rules.filter(({ expr }) => expr.includes("increase(")))(
    "$alert counts what is exported as 0 before its first event, since increase does not see a series begin",
    async ({ expr }) => {
      const registry = new Registry();
      new Recorder(keptLog(), registry).observed("orders");
      createTelemetry(keptLog(), registry);
      createHookTelemetry(keptLog(), registry);
      createListenersTelemetry(keptLog(), registry, refusalReasons).of("events", () => 0);
      for (const text of nodesOf(expr).get("VectorSelector") ?? []) {
        const [name = ""] = /^\w+/.exec(text) ?? [];
        const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
        const wanted = [...text.matchAll(/(\w+)=~?"([^"]+)"/g)].flatMap(([, label = "", of = ""]) =>
          of.split("|").map((value) => [label, value] as const),
        );
        expect(values, text).not.toEqual([]);
        for (const { value } of values) expect(value).toBe(0);
        for (const [label, value] of wanted) {
          expect(values.some(({ labels }) => (labels as Record<string, unknown>)[label] === value)).toBe(true);
        }
      }
    },
  );

  test("no name is used twice", () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
  });

  test("a rule with a metric that nobody exports would be found", () => {
    expect(exported().has("sluice_gitops_no_such_thing")).toBe(false);
    expect(() => nodesOf("sum by (")).toThrow("no PromQL");
  });
});
