/** @module-tag rest */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PipelineHealth } from "../../engine/index.ts";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import type { TestClickHouse } from "../support/clickhouse.ts";
import { useClickHouse } from "../support/shared-clickhouse.ts";
import { ClickHouseProxy } from "../support/clickhouse-proxy.ts";
import { token, tokenEnv, Workplace } from "../support/daemon.ts";

/** The whole program on a folder of files, with a ClickHouse server that says no while a batch is on its way. */
let place: Workplace;
let server: TestClickHouse;
let proxy: ClickHouseProxy;
let daemon: Daemon;

beforeEach(async () => {
  place = await Workplace.make();
  server = await useClickHouse();
  proxy = await ClickHouseProxy.start(server.url);
  await run("CREATE DATABASE shop");
});

afterEach(async () => {
  await place.clean();
  await proxy.close();
  await server.stop();
});

const run = (query: string): Promise<unknown> => server.client.command({ query });
const columns = "(n Int64) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100";

interface Said {
  table: string;
  /** A reference. */
  password: string;
}

/** What the file of a pipeline says. Two events fill a batch, and nothing else does. */
function file(pipeline_id: string, { table, password }: Said): Promise<void> {
  return place.write(
    `${pipeline_id}.yaml`,
    `version: v3
pipeline_id: ${pipeline_id}
sources:
  - type: webhook
    source_id: input
    schema_fields: [{ name: n, type: int }]
sink:
  type: clickhouse
  connection_params:
    host: 127.0.0.1
    port: "9000"
    http_port: "${proxy.port}"
    database: shop
    username: default
    password: ${password}
  table: ${table}
  mapping: [{ name: n, column_name: n, column_type: Int64 }]
  max_batch_size: 2
  max_delay_time: 1h
x-sluice:
  access_token: \${env:SLUICE_SECRET_TOKEN}
`,
  );
}

async function post(pipeline_id: string, ...events: number[]): Promise<void> {
  for (const n of events) {
    const response = await fetch(`${daemon.events}/v1/pipelines/${pipeline_id}/topics/input/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": token },
      body: JSON.stringify({ n }),
    });
    expect(response.status).toBe(202);
  }
}

/** Resolves when a batch waits in a pause, and `sluice` tells everybody why. */
async function paused(pipeline_id: string, reason: RegExp): Promise<void> {
  await daemon.until(async () => {
    const { paused: pause, pending_batches } = (await daemon.health(pipeline_id)) as unknown as PipelineHealth;
    return pause?.class === "setup" && reason.test(pause.text) && pending_batches > 0 ? true : undefined;
  }, `to pause ${pipeline_id}`);
  await daemon.until(async () => {
    const { pipelines } = await daemon.get<Reconcile>("/api/v1/reconcile");
    const { conditions = [] } = pipelines.find((pipeline) => pipeline.pipeline_id === pipeline_id) ?? {};
    const ready = conditions.find(({ type }) => type === "Ready");
    return ready?.status === "False" && ready.reason === "PausedSetup" && reason.test(ready.message) ? true : undefined;
  }, `to say that ${pipeline_id} is not ready`);
}

async function settled(pipeline_id: string): Promise<void> {
  const { dead_letters, counters } = await daemon.settled(pipeline_id);
  expect(dead_letters.total_messages).toBe(0);
  expect(counters.rows_written).toBe(6);
  expect(counters.batches_replayed).toBeGreaterThan(0);
}

async function numbers(table: string): Promise<number[]> {
  const rows = await server.query<{ n: string }>(`SELECT n FROM shop.${table} ORDER BY n`);
  return rows.map(({ n }) => Number(n));
}

const basic = (password: string): string => `Basic ${Buffer.from(`default:${password}`).toString("base64")}`;

test(
  "files that name another table and another password let the batches go on that waited",
  { timeout: 180_000 },
  async () => {
    const secret = join(place.path, "password");
    await writeFile(secret, "the-new-password\n");
    const said = { table: "orders", password: "${env:SLUICE_SECRET_OLD}" };
    await run(`CREATE TABLE shop.orders ${columns}`);
    await run(`CREATE TABLE shop.events ${columns}`);
    await file("moves", said);
    await file("logs-in", { ...said, table: "events" });
    const allowed = ["${env:SLUICE_SECRET_*}=*", `\${file:${secret}}=logs-in towards 127.0.0.1`];
    daemon = await place.start({
      args: ["--dir", place.pipelines, ...allowed.flatMap((one) => ["--reference", one])],
      env: { ...tokenEnv, SLUICE_SECRET_OLD: server.password },
    });
    for (const pipeline_id of ["moves", "logs-in"]) {
      await daemon.until(() => daemon.health(pipeline_id), `to run ${pipeline_id}`);
      await post(pipeline_id, 1, 2);
      await daemon.settled(pipeline_id);
    }

    await run("RENAME TABLE shop.orders TO shop.orders_2026");
    await post("moves", 3, 4);
    await paused("moves", /shop\.orders does not exist/);
    await post("moves", 5, 6);
    await file("moves", { ...said, table: "orders_2026" });
    await settled("moves");
    expect(await numbers("orders_2026")).toEqual([1, 2, 3, 4, 5, 6]);

    proxy.decide(({ headers }) => {
      const isRight = headers.authorization === basic("the-new-password");
      return { kind: "pass", headers: { authorization: basic(isRight ? server.password : "wrong") } };
    });
    await post("logs-in", 3, 4);
    await paused("logs-in", /AUTHENTICATION_FAILED/);
    await post("logs-in", 5, 6);
    await file("logs-in", { table: "events", password: `\${file:${secret}}` });
    await settled("logs-in");
    expect(await numbers("events")).toEqual([1, 2, 3, 4, 5, 6]);
    for (const password of ["the-new-password", server.password]) {
      expect(daemon.log.join("\n")).not.toContain(password);
    }
  },
);
