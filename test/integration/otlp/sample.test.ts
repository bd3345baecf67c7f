/** @module-tag rest */
import { afterEach, beforeEach, expect, test } from "vitest";
import { sampleOf } from "../../../reconciler/pipeline-tests/sample.ts";
import { createTable } from "../../support/pipelines.ts";
import { OtlpScene, otlpPipeline } from "./scene.ts";
import { jsonType, post } from "./senders.ts";

const id = "sampled";

let scene: OtlpScene;

beforeEach(async () => {
  scene = await OtlpScene.open();
});

afterEach(() => scene.close());

test("a record of the stream is sampled as a request, of which the receiver makes the same row", async () => {
  const config = otlpPipeline(id);
  const slow = { ...config, sink: { ...config.sink, max_delay_time: "1h" } };
  const { engine } = scene.running;
  await engine.create(slow, createTable);
  const attributes = [{ key: "shop", value: { intValue: "7" } }];
  const times = { timeUnixNano: "1705315800000000001", observedTimeUnixNano: "1705315800000000002" };
  const record = { ...times, body: { stringValue: "paid" }, attributes };
  const request = { resourceLogs: [{ scopeLogs: [{ scope: { name: "cart" }, logRecords: [record] }] }] };
  const push = (body: unknown) =>
    post(scene.listeners.http, "logs", { "x-sluice-pipeline-id": id, ...jsonType }, Buffer.from(JSON.stringify(body)));
  expect(await push(request)).toMatchObject({ status: 200 });
  const { events } = await engine.sample(id, 10);
  const sample = sampleOf(events, slow.sources, []);
  const again = { ...record, attributes: [{ key: "shop", value: { stringValue: "7" } }] };
  expect(sample).toEqual({
    events: [{ event: { resourceLogs: [{ scopeLogs: [{ scope: { name: "cart" }, logRecords: [again] }] }] } }],
    leftOut: 0,
    absent: [],
  });
  expect(await push(sample.events[0]!.event)).toMatchObject({ status: 200 });
  const [first, second] = (await engine.sample(id, 10)).events;
  expect(second).toEqual(first);
});
