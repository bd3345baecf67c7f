import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerToLateReader } from "../../support/late-reader.ts";
import { createTable, kafkaPipeline, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

/** The largest event. */
const mebibyte = 1024 * 1024;

let running: TestEngine;
let token: string;

const good = { id: 1, level: "info" };
const nested = (depth: number): string => `{"id":1,"level":"a","deep":${"[".repeat(depth)}${"]".repeat(depth)}}`;
/** Values that make a body long. */
const many = Array.from({ length: 20_000 }, () => "1e-5").join(" , ");

beforeAll(async () => {
  running = await TestEngine.open();
  token = (await running.engine.create(webhookPipeline("door-test"), createTable)).access_token!;
});

afterAll(async () => {
  await running.close();
});

describe("what a sender is answered", () => {
  const json = "application/json";

  test.each([
    [202, "an object", JSON.stringify(good), { "content-type": json }],
    [
      202,
      "an object with a charset in its type",
      JSON.stringify(good),
      { "content-type": "application/json; charset=utf-8" },
    ],
    [
      202,
      "an object over several lines, with empty ones",
      '{\n\n"id": 1,\n\n"level": "a"\n}',
      { "content-type": json },
    ],
    [202, "an object that breaks the schema: a dead letter, later", "{}", { "content-type": json }],
    [202, "an object with deep values", nested(90), { "content-type": json }],
    [400, "an empty body", "", { "content-type": json }],
    [400, "an array", "[{}]", { "content-type": json }],
    [400, "null", "null", { "content-type": json }],
    [400, "a number", "17", { "content-type": json }],
    [400, "text that is not JSON", "level=info", { "content-type": json }],
    [400, "a long array", `[${many}]`, { "content-type": json }],
    [400, "a long object that breaks off", `{"m":[${many}]`, { "content-type": json }],
    [400, "a long number", "7".repeat(100_000), { "content-type": json }],
    [400, "an object that breaks off", '{"id": 1, ', { "content-type": json }],
    [400, "two objects", "{} {}", { "content-type": json }],
    [400, "an object with a statement behind it", '{"id":3}\n\nDROP TABLE door_test', { "content-type": json }],
    [
      400,
      "bytes that are not UTF-8",
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      { "content-type": json },
    ],
    [400, "an object nested too deeply", nested(5_000), { "content-type": json }],
    [413, "an event of more than 1 MiB", JSON.stringify({ text: "x".repeat(mebibyte + 1) }), { "content-type": json }],
    [415, "another content type", JSON.stringify(good), { "content-type": "text/plain" }],
    [415, "a compressed body", JSON.stringify(good), { "content-type": json, "content-encoding": "gzip" }],
    [401, "a wrong token", JSON.stringify(good), { "x-pipeline-access-token": "wrong" }],
  ])("%i for %s", async (status, _title, body, headers) => {
    const response = await running.post("door-test", token, body, headers);
    expect(response.status).toBe(status);
    if (status >= 400)
      expect(await response.json()).toMatchObject({ status, message: expect.stringMatching(/expected|found/) });
  });

  test("413 also where a sender reads no answer before it has sent all", async () => {
    const url = `${running.eventsUrl}/v1/pipelines/door-test/topics/input/events`;
    const headers = { "X-Pipeline-Access-Token": token, "Content-Type": json };
    expect(await answerToLateReader(url, headers, 2 * mebibyte)).toMatch(/^HTTP\/1\.1 413 /);
  });

  test.each([
    [401, "no token at all", "POST", "/v1/pipelines/door-test/topics/input/events"],
    [401, "an unknown pipeline", "POST", "/v1/pipelines/no-such-one/topics/input/events"],
    [404, "another topic", "POST", "/v1/pipelines/door-test/topics/output/events"],
    [404, "another path", "POST", "/"],
    [404, "a path that climbs", "POST", "/v1/pipelines/../../topics/input/events"],
    [405, "another method", "GET", "/v1/pipelines/door-test/topics/input/events"],
  ])("%i for %s", async (status, _title, method, path) => {
    expect((await fetch(`${running.eventsUrl}${path}`, { method })).status).toBe(status);
  });
});

test("everything that was answered 202 is accounted for, and the table is intact", async () => {
  const health = await running.until(
    "door-test",
    ({ stream, pending_batches }) => stream!.messages + pending_batches === 0,
  );
  expect(health.counters.events_read).toBe(5);
  expect(health.counters.rows_written).toBe(4);
  expect(health.dead_letters.total_messages).toBe(1);
  expect(await running.rows("SELECT count() AS n FROM door_test")).toEqual([{ n: 4 }]);
});

test("a rotated token opens, the one before it still does, a made-up one never", async () => {
  const fresh = await running.engine.tokens.rotate("door-test");
  const answers = await Promise.all([fresh, token, "made-up"].map((one) => running.post("door-test", one, good)));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 401]);
  expect(running.engine.tokens.show("door-test").last_used_at).not.toBeNull();
});

test("a token that can be guessed is refused, in words that do not hold it", async () => {
  const options = { ...createTable, access_token: "0123456789abcde" };
  const created: unknown = await running.engine.create(webhookPipeline("short-test"), options).catch((error) => error);
  expect(created).toMatchObject({ code: "SECRET_NOT_ALLOWED", message: expect.stringContaining("fewer than 16") });
  expect(String(created)).not.toContain("0123");
});

test("an address that two parsers could read differently is refused, and what was allowed for it is not given", async () => {
  const brokers = ["kafka:9092", "127.0.0.1:47002:.kafka.example.com"];
  const config = kafkaPipeline("address-test", { topic: "t", connection_params: { brokers, protocol: "PLAINTEXT" } });
  const created: unknown = await running.engine.create(config, createTable).catch((error: unknown) => error);
  expect(created).toMatchObject({
    code: "ADDRESS_INVALID",
    message:
      'pipeline address-test: sources[0].connection_params.brokers[1]: expected host:port or [IPv6]:port, such as kafka-1:9092, got "127.0.0.1:47002:.kafka.example.com"',
  });
  expect(running.engine.list().map(({ pipeline_id }) => pipeline_id)).not.toContain("address-test");
});

test("after a rotation at once only the new token opens, and none of those before it", async () => {
  const second = await running.engine.tokens.rotate("door-test");
  const third = await running.engine.tokens.rotate("door-test", { now: true });
  const answers = await Promise.all([third, second, token].map((one) => running.post("door-test", one, good)));
  expect(answers.map(({ status }) => status)).toEqual([202, 401, 401]);
});

test("a full stream is answered 429 with Retry-After, and a terminated pipeline 409", async () => {
  const resources = { nats: { stream: { max_msgs: 3 } } };
  const { access_token } = await running.engine.create(webhookPipeline("full-test", { resources }), createTable);
  await running.engine.stop("full-test");
  const answers = [];
  for (let n = 0; n < 5; n += 1) answers.push(await running.post("full-test", access_token!, good));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 429, 429]);
  expect(answers[3]!.headers.get("retry-after")).toBe("1");
  expect(await running.registry.getSingleMetricAsString("gfm_component_backpressure_events_total")).toContain(
    'pipeline_id="full-test",component="ingestor"} 1',
  );

  await running.engine.terminate("full-test");
  expect((await running.post("full-test", access_token!, good)).status).toBe(409);
});

test("no token, nor its hash, is in any log line or view", () => {
  const everything = JSON.stringify([running.log.lines, running.engine.list(), running.engine.health("door-test")]);
  expect(everything).not.toContain(token);
  expect(everything).not.toContain("hash");
});
