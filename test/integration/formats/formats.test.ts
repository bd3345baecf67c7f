import { cp, mkdtemp, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { dataDirFormat } from "../../../engine/state/data-dir.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { TestEngine } from "../../support/engine.ts";
import { EngineOnServer } from "../../support/engine-on-server.ts";
import { createTable } from "../../support/pipelines.ts";
import { joined, ordersOver, records, spans } from "./pipelines.ts";

/** Data dirs as earlier versions of Sluice wrote them, by their formats; see make.ts. */
const kept = fileURLToPath(new URL("./", import.meta.url));
const formats = (await readdir(kept)).filter((name) => /^\d+$/.test(name));

interface Beside {
  made_at: number;
  token: string;
}

let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
beforeEach(() => on.run("DROP DATABASE IF EXISTS d SYNC").then(() => on.run("CREATE DATABASE d")));
afterAll(() => on.stop());

/** An engine on a copy of a data dir, a minute after it was written: what dedup and the join remember has not expired. */
async function opened(format: string): Promise<{ running: TestEngine; token: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-format-"));
  await cp(join(kept, format, "data-dir"), dataDir, { recursive: true });
  const { made_at, token } = JSON.parse(await readFile(join(kept, format, "beside.json"), "utf8")) as Beside;
  vi.useFakeTimers({ toFake: ["Date"], now: made_at + 60_000 });
  const running = await TestEngine.open({ dataDir, secrets: on.secrets });
  onTestFinished(async () => {
    await running.close();
    vi.useRealTimers();
  });
  return { running, token };
}

/** Lets a pipeline that was stopped go on, with the ClickHouse of the test. */
async function goOn({ engine }: TestEngine, config: PipelineConfig): Promise<void> {
  await engine.update(config.pipeline_id, config, createTable);
  await engine.resume(config.pipeline_id);
}

test("there is one of each format that is read", () => {
  expect(formats.map(Number).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: dataDirFormat - 2 }, (_, index) => index + 3),
  );
});

test.each(formats)("format %s: what was pending is written once, and dedup knows what was written", async (format) => {
  const { running, token } = await opened(format);
  await goOn(running, on.config("orders", ordersOver));
  for (const id of [1, 4, 5, 6]) {
    expect((await running.post("orders", token, { id, level: "b" })).status).toBe(202);
  }
  const { counters } = await running.until(
    "orders",
    ({ stream, pending_batches }) => stream!.messages + pending_batches === 0,
  );
  expect(counters).toMatchObject({ rows_written: 4 });
  expect(await on.ids("d.orders")).toEqual([3, 4, 5, 6]);
});

test.each(formats.filter((format) => Number(format) > 3))(
  "format %s: a join goes on with what it holds, and its dedup knows what came",
  async (format) => {
    const { running } = await opened(format);
    const listener = createServer(running.engine.handleOtlpHttp);
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void listener.close());
    const push = async (signal: "logs" | "traces", body: object): Promise<void> => {
      const headers = { "content-type": "application/json", "x-sluice-pipeline-id": "joined" };
      const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/v1/${signal}`;
      const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      expect(answer.status).toBe(200);
    };
    await goOn(running, joined(on.connection()));
    await push("traces", spans(2));
    await push("logs", records(2));
    await running.until(
      "joined",
      ({ counters, pending_batches }) => counters.rows_written === 2 && pending_batches === 0,
    );
    const rows = await on.server.query<{ message: string; span: string }>("SELECT * FROM d.joined ORDER BY message");
    expect(rows).toEqual([
      { message: "record 2", span: "span 2" },
      { message: "record 3", span: "span 3" },
    ]);
  },
);
