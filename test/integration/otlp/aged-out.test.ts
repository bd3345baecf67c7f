/** @module-tag rest */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Repository } from "../../../reconciler/git/repository.ts";
import { reasonText } from "../../../reconciler/plan/render/index.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { Listeners } from "./listeners.ts";
import { logs, post, protobufType } from "./senders.ts";

const id = "app-logs";
const hour = 3_600_000;

let engine: TestEngine;
let listeners: Listeners;
let repository: GitRepository;
let reconciler: Reconciler;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  repository = await GitRepository.create();
  // The streams of pipelines at rest are looked at so often, in milliseconds that really go by.
  engine = await TestEngine.open({ sweepEvery: 50 });
  const { dataDir, log, registry } = engine;
  const { handleOtlpHttp: http, handleOtlpGrpc: grpc } = engine.engine;
  listeners = await Listeners.open({ http, grpc });
  const source = new Repository({ url: repository.path, branch: "main", dataDir, env: process.env });
  reconciler = new Reconciler({ source, engine: engine.engine, dataDir, log, registry, interval: 60_000 });
});

afterEach(async () => {
  vi.useRealTimers();
  await listeners.close();
  await engine.close();
  await repository.remove();
});

/** Commits the state that is wished for and makes it so; gives what the plan said of the pipeline. */
async function commit(state: "Running" | "Stopped"): Promise<string | undefined> {
  await repository.commit({ [`${id}.yaml`]: fileOf(state) });
  const { plan, outcomes, error } = await reconciler.turn("manual", new AbortController().signal);
  expect({ error, outcomes }).toMatchObject({ error: undefined, outcomes: [{ pipeline_id: id, result: "applied" }] });
  const change = plan?.changes.find(({ pipeline_id }) => pipeline_id === id);
  return change && reasonText(change.why);
}

async function send(records: number): Promise<void> {
  const headers = { ...protobufType, "x-sluice-pipeline-id": id };
  expect((await post(listeners.http, "logs", headers, logs(records))).status).toBe(200);
}

function fileOf(state: string): string {
  return `version: v3
pipeline_id: ${id}
sources:
  - { type: otlp.logs, source_id: input }
sink:
  type: clickhouse
  connection_params: { host: embedded, database: default }
  table: app_logs
  mapping:
    - { name: body, column_name: body, column_type: String }
  max_delay_time: 50ms
resources: { nats: { stream: { max_age: 2h } } }
x-sluice: { state: ${state}, create_table: true }
`;
}

test("what comes while a commit stops it ages out as the plan of the stop said: counted, and shown in health", async () => {
  await commit("Running");
  await send(3);
  await engine.until(id, ({ counters }) => counters.rows_written === 3);

  expect(await commit("Stopped")).toContain(
    "events that arrive while it is stopped are kept for at most 2h0m0s (resources.nats.stream.max_age), then removed " +
      "unwritten, and counted",
  );
  await send(5);
  vi.setSystemTime(Date.now() + 1.5 * hour);
  await send(2);
  expect(engine.engine.health(id)).toMatchObject({ stream: { messages: 7 }, counters: { events_aged_out: 0 } });

  vi.setSystemTime(Date.now() + hour);
  const { counters } = await engine.until(id, ({ stream }) => stream!.messages < 7);
  expect(counters.events_aged_out).toBe(5);

  await commit("Running");
  const health = await engine.until(id, ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
  expect(health.counters).toMatchObject({ events_aged_out: 5, rows_written: 5, dead_lettered: 0 });
  expect(await engine.rows("SELECT toUInt32(count()) AS rows FROM app_logs")).toEqual([{ rows: 5 }]);
  expect(await engine.registry.metrics()).toContain(`sluice_events_aged_out_total{pipeline_id="${id}"} 5`);
});
