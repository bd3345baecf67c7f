/** @module-tag rest */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
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

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  running = await TestEngine.open({
    machine: { spawnThread: throwingThreads([port], `unreadable answer to ${password}`) },
  });
});

afterAll(async () => {
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

test("a pipeline whose server ends its thread is alone soon and not Ready, and one beside it writes every event", async () => {
  const { access_token: token } = await running.engine.create(webhookPipeline("beside"), createTable);
  await createGuilty();

  const shown = new Set<string>();
  let hasDied = false;
  const look = (): void => {
    const { paused, overall_status } = running.engine.health("guilty");
    hasDied ||= paused !== undefined;
    if (hasDied) shown.add(`${overall_status} ${paused?.class ?? "not paused"}`);
  };
  /** For each event, which is a row before the next one is sent: how many deaths there were when it was accepted. */
  const during: number[] = [];
  for (let sent = 1; deathsWith("guilty").length < 5; sent += 1) {
    const { status } = await running.post("beside", token!, { id: sent, level: "fine" });
    expect(status).toBe(202);
    during.push(deathsWith("guilty").length);
    while ((await count("beside").catch(() => 0)) < sent) {
      look();
      await sleep(100);
    }
    look();
  }
  expect(await count("beside")).toBe(during.length);
  // It pauses for the start of a thread at most twice: once to learn that something is wrong, once to learn whose fault it is.
  expect(deathsWith("beside").length).toBeLessThanOrEqual(2);
  // After that, events are accepted and written between the deaths of the other.
  expect(Math.max(...during)).toBeGreaterThanOrEqual(2);
  // It goes on to die, by itself and more and more seldom.
  const deaths = deathsWith("guilty").slice(2);
  expect(deaths).toEqual(deaths.map(() => ["guilty"]));
  // Between two deaths it runs for a moment, and is not said to run well.
  expect([...shown].filter((one) => one.endsWith("not paused"))).toEqual([]);
  expect(running.engine.health("beside").paused).toBeUndefined();
});

test("the exceptions that ended threads show no password of their pipelines", () => {
  expect(deathsWith("guilty").length).toBeGreaterThan(0);
  const said = JSON.stringify([running.log.lines, running.engine.health("guilty")]);
  expect(said).toContain("unreadable answer to ***");
  expect(said).not.toContain(password);
});
