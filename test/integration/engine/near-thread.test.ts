import { expect, test } from "vitest";
import { TestEngine } from "../../support/engine.ts";
import { NearThread } from "../../support/near-thread.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";

const silent = { host: "127.0.0.1", http_port: "1", database: "default" };

test("threads come from where the settings say, and a pipeline whose thread died runs on the next one", async () => {
  const threads: NearThread[] = [];
  const spawnThread = (): NearThread => {
    const thread = new NearThread();
    threads.push(thread);
    return thread;
  };
  const running = await TestEngine.open({ machine: { spawnThread } });
  try {
    const { sink } = webhookPipeline("near");
    const config = webhookPipeline("near", { sink: { ...sink, connection_params: silent } });
    await running.engine.create(config, createTable);
    const [first] = threads;
    expect(first).toBeDefined();
    await running.until("near", ({ paused }) => paused?.class === "transient");
    first!.die(new Error("killed by the test"));
    await running.until("near", () => threads.length > 1);
    expect(running.log.lines.map(({ fields }) => fields["error"])).toContain("killed by the test");
    await expect.poll(() => [...first!.running]).toEqual([]);
    await running.engine.stop("near");
    expect(running.engine.get("near").status).toBe("Stopped");
  } finally {
    await running.close();
  }
});
