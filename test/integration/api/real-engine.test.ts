import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PureCalls } from "../../../reconciler/api/pure/pure-calls.ts";
import { statusApi } from "../../../reconciler/api/status-api.ts";
import { ControlClient } from "../../../reconciler/cli/control/client.ts";
import { controlApi } from "../../../reconciler/cli/control/routes.ts";
import { listenControl } from "../../../reconciler/cli/control/server.ts";
import type { ControlServer } from "../../../reconciler/cli/control/server.ts";
import { TestEngine } from "../../support/engine.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { actual, info, snapshot, unaskedOperator } from "./sample.ts";

let engine: TestEngine;
let control: ControlServer;
let server: Server;
const pure = new PureCalls();
let token = "";

beforeAll(async () => {
  engine = await TestEngine.open();
  const sources = {
    engine: engine.engine,
    reconciler: {
      snapshot: () => snapshot("ended"),
      history: () => ({ records: [] }),
      actual,
      operator: unaskedOperator,
    },
    registry: engine.registry,
    info: () => info,
    log: engine.log,
  };
  control = await listenControl(engine.dataDir, controlApi(sources));
  server = createServer(statusApi({ ...sources, pure })).listen(0, "127.0.0.1");
  await once(server, "listening");
  token = (await engine.engine.create(webhookPipeline("first-one"), createTable)).access_token ?? "";
  await engine.engine.create(webhookPipeline("second-one"), createTable);
  for (const body of [
    { id: 1, level: "info" },
    { id: "x", level: "info" },
    { id: 2, level: "warn" },
  ]) {
    expect((await engine.post("first-one", token, body)).status).toBe(202);
  }
  await engine.until(
    "first-one",
    ({ counters, dead_letters }) => counters.rows_written + dead_letters.total_messages === 3,
  );
});

afterAll(async () => {
  await control.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await pure.close();
  await engine.close();
});

async function get(path: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  expect(response.status).toBe(200);
  return response.json();
}

const ask = (): ControlClient => new ControlClient(engine.dataDir);

test("the newest pipeline comes first", async () => {
  const records = (await get("/api/v1/pipeline")) as { pipeline_id: string; status: string }[];
  expect(records.map(({ pipeline_id, status }) => [pipeline_id, status])).toEqual([
    ["second-one", "Running"],
    ["first-one", "Running"],
  ]);
});

test("a pipeline is shown as the v3 file that makes it", async () => {
  expect(await get("/api/v1/pipeline/first-one")).toEqual(webhookPipeline("first-one"));
});

test("health and dead letters are those of the engine", async () => {
  expect(await get("/api/v1/pipeline/first-one/health")).toMatchObject({
    pipeline_id: "first-one",
    overall_status: "Running",
    counters: { rows_written: 2, dead_lettered: 1 },
    dead_letters: { total_messages: 1, unconsumed_messages: 1 },
  });
  expect(await get("/api/v1/pipeline/first-one/dlq/state")).toMatchObject({
    total_messages: 1,
    last_consumed_at: null,
  });
});

test("the control socket shows the letters, and asks the embedded ClickHouse", async () => {
  expect(await ask().get("/control/v1/pipeline/first-one/dlq/list")).toMatchObject({
    messages: [{ component: "ingestor", original_message: '{"id":"x","level":"info"}' }],
    has_more: false,
  });
  const query = { query: "SELECT id, level FROM first_one ORDER BY id", format: "TSV" };
  expect(await ask().postForText("/control/v1/sql", query)).toBe("1\tinfo\n2\twarn\n");
});

test("a statement that ClickHouse refuses is told with its reason", async () => {
  const query = { query: "SELECT * FROM nowhere" };
  await expect(ask().postForText("/control/v1/sql", query)).rejects.toThrow("UNKNOWN_TABLE");
});

test("a rotated token is accepted at once, and its value is told only then", async () => {
  const rotated = (await ask().post("/control/v1/pipeline/first-one/token/rotate")) as { access_token: string };
  expect((await engine.post("first-one", rotated.access_token, { id: 3, level: "info" })).status).toBe(202);
  const shown = JSON.stringify([
    await ask().get("/control/v1/pipeline/first-one/token"),
    await get("/api/v1/pipeline/first-one"),
    await get("/api/v1/pipeline/first-one/health"),
    engine.log.lines,
  ]);
  for (const value of [token, rotated.access_token]) expect(shown).not.toContain(value);
});

test.each(["get", "health", "deadLetters"] as const)("%s of an unknown pipeline is 404", async (what) => {
  const paths = { get: "", health: "/health", deadLetters: "/dlq/state" };
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/pipeline/nobody${paths[what]}`);
  expect([response.status, await response.json()]).toEqual([
    404,
    { status: 404, code: "not_found", message: "there is no pipeline nobody" },
  ]);
});
