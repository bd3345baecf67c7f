import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TestEngine } from "../support/engine.ts";
import { createTable, webhookPipeline } from "../support/pipelines.ts";
import { throwingThreads } from "./throwing-peer.ts";

/** What a server whose answers end a thread cannot do to the pipelines beside its own (docs/security.md). */

vi.setConfig({ testTimeout: 120_000 });

const server = createServer((_request, response) => response.end("no ClickHouse"));
/** What the server gets, and the exception repeats. */
const password = "hunter2-of-guilty";
let port = 0;
let running: TestEngine;

beforeEach(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  running = await TestEngine.open({
    machine: { spawnThread: throwingThreads([port], `unreadable answer to ${password}`) },
  });
});

afterEach(async () => {
  await running.close();
  server.closeAllConnections();
  server.close();
});

const count = async (table: string): Promise<number> =>
  Number((await running.rows<{ n: string }>(`SELECT count() AS n FROM ${table}`))[0]?.n);

/** Deaths of threads with a pipeline, each with the pipelines of the thread. */
function deathsWith(pipeline_id: string): string[][] {
  const deaths = running.log.lines.filter(({ sentence }) => sentence.startsWith("A pipeline thread died"));
  return deaths.map(({ fields }) => fields["pipelines"] as string[]).filter((names) => names.includes(pipeline_id));
}

/** The pipeline whose server ends its thread. */
function createGuilty(): Promise<unknown> {
  const connection_params = { host: "127.0.0.1", port: String(port), http_port: String(port), database: "default" };
  const login = { username: "sluice", password, secure: false };
  const sink = { ...webhookPipeline("guilty").sink, connection_params: { ...connection_params, ...login } };
  return running.engine.create(webhookPipeline("guilty", { sink }), createTable);
}

test("the exception that ends a thread shows no password of its pipelines", async () => {
  await createGuilty();
  await running.until("guilty", ({ paused }) => paused !== undefined);
  expect(deathsWith("guilty").length).toBeGreaterThan(0);
  const said = JSON.stringify([running.log.lines, running.engine.health("guilty")]);
  expect(said).toContain("unreadable answer to ***");
  expect(said).not.toContain(password);
});

test("a pipeline whose server ends its thread is alone soon and not Ready, and one beside it writes every event", async () => {
  const { access_token: token } = await running.engine.create(webhookPipeline("beside"), createTable);
  await createGuilty();

  const began = performance.now();
  const gaps: number[] = [];
  const shown = new Set<string>();
  let [sent, seen, since] = [0, 0, began];
  let hasDied = false;
  while (deathsWith("guilty").length < 5 || performance.now() - began < 10_000) {
    const { status } = await running.post("beside", token!, { id: (sent += 1), level: "fine" });
    expect(status).toBe(202);
    const rows = await count("beside").catch(() => 0);
    if (rows > seen) [seen, since] = [rows, performance.now()];
    gaps.push(performance.now() - since);
    const { paused, overall_status } = running.engine.health("guilty");
    hasDied ||= paused !== undefined;
    if (hasDied) shown.add(`${overall_status} ${paused?.class ?? "not paused"}`);
    await sleep(50);
  }
  await running.until("beside", ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
  expect(await count("beside")).toBe(sent);
  // It pauses for the start of a thread at most twice: once to learn that something is wrong, once to learn whose fault it is.
  expect(deathsWith("beside").length).toBeLessThanOrEqual(2);
  expect(Math.max(...gaps)).toBeLessThan(30_000);
  // It goes on to die, by itself and more and more seldom.
  const deaths = deathsWith("guilty").slice(2);
  expect(deaths).toEqual(deaths.map(() => ["guilty"]));
  // Between two deaths it runs for a moment, and is not said to run well.
  expect([...shown].filter((one) => one.endsWith("not paused"))).toEqual([]);
  expect(running.engine.health("beside").paused).toBeUndefined();
});
