import { cp, rm, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { open } from "lmdb";
import { createTable } from "../../support/pipelines.ts";
import { EngineOnServer, type ServerPipeline } from "../../support/engine-on-server.ts";
import { joined, ordersOver, records, spans } from "./pipelines.ts";

/** Cuts the room off that the store holds for what it writes next, and its lock. */
async function trim(path: string): Promise<void> {
  const env = open({ path, noSubdir: true, maxDbs: 32 });
  const { lastPageNumber, pageSize } = env.getStats() as { lastPageNumber: number; pageSize: number };
  await env.close();
  await truncate(path, (lastPageNumber + 1) * pageSize);
  await rm(`${path}-lock`);
}

/**
 * `npx tsx test/integration/formats/make.ts FORMAT` keeps a data dir as this version of Sluice writes it, for the tests of
 * later ones: two pipelines that were stopped while their ClickHouse was gone. Run it before the format is raised.
 */
const [format = ""] = process.argv.slice(2);
const folder = fileURLToPath(new URL(`${format}/`, import.meta.url));
const on = await EngineOnServer.start();
const { engine } = on.engine;
const otlp = createServer(engine.handleOtlpHttp);
await new Promise<void>((resolve) => otlp.listen(0, "127.0.0.1", resolve));

async function push(signal: "logs" | "traces", body: object): Promise<void> {
  const headers = { "content-type": "application/json", "x-sluice-pipeline-id": "joined" };
  const url = `http://127.0.0.1:${(otlp.address() as AddressInfo).port}/v1/${signal}`;
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

const written = (pipeline: ServerPipeline, rows: number): Promise<unknown> =>
  pipeline.until(({ counters, pending_batches }) => counters.rows_written === rows && pending_batches === 0);

const orders = await on.create("orders", ordersOver, createTable);
await engine.create(joined(on.connection()), createTable);
await orders.post({ id: 1, level: "a" }, { id: 2, level: "a" });
await written(orders, 2);
await push("traces", spans(1, 2));
await push("logs", records(1));
await on.engine.until(
  "joined",
  ({ counters, pending_batches }) => counters.rows_written === 1 && pending_batches === 0,
);
await on.proxy.close();
await orders.post({ id: 3, level: "a" }, { id: 4, level: "a" }, { id: 5, level: "a" });
await push("traces", spans(3));
await push("logs", records(3));
await on.engine.until("orders", ({ pending_batches }) => pending_batches > 0);
await on.engine.until("joined", ({ pending_batches }) => pending_batches > 0);
await Promise.all([engine.stop("orders"), engine.stop("joined")]);
otlp.close();
await on.engine.close({ keep: true });
await trim(join(on.engine.dataDir, "state", "state.mdb"));
await rm(folder, { recursive: true, force: true });
await cp(on.engine.dataDir, join(folder, "data-dir"), { recursive: true });
await writeFile(join(folder, "beside.json"), `${JSON.stringify({ made_at: Date.now(), token: orders.token })}\n`);
process.exit(0);
