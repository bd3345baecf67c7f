import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.ts";
import { createTable, webhookPipeline } from "../support/pipelines.ts";

/** Who sends events without a token learns nothing of the pipelines (docs/security.md). */

let engine: TestEngine;

beforeAll(async () => {
  engine = await TestEngine.open();
  await engine.engine.create(webhookPipeline("known"), createTable);
});

afterAll(() => engine.close());

/** All of an answer but its date and the connection's details. */
async function answerTo(pipeline_id: string, headers: Record<string, string>, body: string): Promise<object> {
  const url = `${engine.eventsUrl}/v1/pipelines/${pipeline_id}/topics/input/events`;
  const response = await fetch(url, { method: "POST", headers, body });
  const sent = Object.fromEntries([...response.headers].filter(([name]) => name !== "date"));
  return { status: response.status, headers: sent, body: await response.text() };
}

const json = { "content-type": "application/json" };

test.each([
  ["no token", json, "{}"],
  ["a wrong token", { ...json, "x-pipeline-access-token": "a-token-that-is-guessed" }, "{}"],
  ["an empty token", { ...json, "x-pipeline-access-token": "" }, "{}"],
  ["another content type", { "content-type": "text/plain", "x-pipeline-access-token": "a-token" }, "{}"],
  ["a body that is too large", { ...json, "x-pipeline-access-token": "a-token" }, "x".repeat(1_100_000)],
])("%s is answered 401, the same for a pipeline and for none", async (_what, headers, body) => {
  const answers = await Promise.all(["known", "no-such-one"].map((id) => answerTo(id, headers, body)));
  expect(answers[0]).toMatchObject({ status: 401 });
  expect(answers[1]).toEqual(answers[0]);
});

test("nor does a pipeline that is being recreated show itself", async () => {
  engine.engine.recreating("known", true);
  await engine.engine.stop("known", { intake: "closed" });
  const headers = { ...json, "x-pipeline-access-token": "a-token-that-is-guessed" };
  const answers = await Promise.all(["known", "no-such-one"].map((id) => answerTo(id, headers, "{}")));
  expect(answers[0]).toMatchObject({ status: 401 });
  expect(answers[1]).toEqual(answers[0]);
});
