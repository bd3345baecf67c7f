import { afterEach, expect, test } from "vitest";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let engine: TestEngine;

afterEach(() => engine.close());

test("between its deletion and its creation a pipeline asks its senders to try again, and no longer afterwards", async () => {
  engine = await TestEngine.open();
  const post = (): Promise<Response> => engine.post("orders", "the-token-of-mine", { id: 1, level: "info" });
  const options = { ...createTable, access_token: "the-token-of-mine" };
  await engine.engine.create(webhookPipeline("orders"), options);
  expect((await post()).status).toBe(202);
  engine.engine.recreating("orders", true);
  expect((await post()).status).toBe(202);

  await engine.engine.stop("orders", { intake: "closed" });
  const closed = await post();
  expect([closed.status, closed.headers.get("retry-after")]).toEqual([503, "5"]);
  await engine.engine.delete("orders");
  const between = await post();
  expect([between.status, between.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await between.text()).toContain("pipeline orders is being recreated");
  expect((await engine.post("orders", "the-token-of-another", { id: 1, level: "info" })).status).toBe(401);

  await engine.engine.create(webhookPipeline("orders"), options);
  engine.engine.recreating("orders", false);
  expect((await post()).status).toBe(202);
  await engine.engine.stop("orders", { intake: "closed" });
  expect((await post()).status).toBe(409);
  await engine.engine.delete("orders");
  expect((await post()).status).toBe(401);
});
