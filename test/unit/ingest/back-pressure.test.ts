import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackPressure } from "../../../engine/ingest/gate.ts";
import type { Push } from "../../../engine/core/push.ts";
import type { CatalogEntry } from "../../../engine/catalog/catalog.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

const config = webhookPipeline("orders", { resources: { nats: { stream: { max_msgs: 10, max_bytes: "1Mi" } } } });

/** What the stream holds, whether the pipeline is there, and what was told. */
let held: { messages: number; bytes: number; max_bytes?: number };
let isThere: boolean;
let told: string[];
let backPressure: BackPressure;

beforeEach(() => {
  vi.useFakeTimers();
  held = { messages: 10, bytes: 1000 };
  isThere = true;
  told = [];
  backPressure = new BackPressure({
    registry: { find: () => (isThere ? ({ config } as CatalogEntry) : undefined) },
    streams: { state: () => ({ ...held, first: 1, last: held.messages }) },
    telemetry: { backpressure: ({ active, seconds }) => void told.push(active ? "begins" : `over after ${seconds} s`) },
  });
});

afterEach(() => {
  backPressure.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

function push(events: number): Push {
  const ends = Array.from({ length: events }, (_, index) => 2 * index + 2);
  return { bytes: Buffer.from("{}".repeat(events)), ends, receivedAt: 0 };
}

const refuse = (events = 1): void => backPressure.refused("orders", push(events), "ingestor");

test("an episode is told once, however many pushes are refused", () => {
  for (let second = 0; second < 60; second += 1) {
    refuse();
    vi.advanceTimersByTime(1_000);
  }
  expect(told).toEqual(["begins"]);
});

test("it ends when room came, although nobody pushes", () => {
  refuse();
  vi.advanceTimersByTime(30_000);
  held = { messages: 9, bytes: 900 };
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["begins", "over after 30.1 s"]);
});

test("the room that the disk leaves to the stream counts as well", () => {
  held = { messages: 5, bytes: 1000, max_bytes: 1000 };
  refuse();
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["begins"]);
  held = { ...held, max_bytes: 2000 };
  vi.advanceTimersByTime(2_000);
  expect(told).toEqual(["begins", "over after 60.1 s"]);
});

test("room for less than was refused is no end", () => {
  refuse(5);
  held = { messages: 6, bytes: 600 };
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["begins"]);
  held = { messages: 5, bytes: 500 };
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["begins", "over after 60.1 s"]);
});

test("an empty stream has room, whatever was refused", () => {
  refuse(10);
  held = { messages: 0, bytes: 0 };
  vi.advanceTimersByTime(2_000);
  expect(told).toEqual(["begins", "over after 0.1 s"]);
});

test("a sink that makes room bit by bit makes one episode", () => {
  for (let bit = 0; bit < 50; bit += 1) {
    refuse();
    held = { messages: 9, bytes: 900 };
    vi.advanceTimersByTime(200);
    backPressure.stored("orders");
    held = { messages: 10, bytes: 1000 };
    vi.advanceTimersByTime(200);
  }
  expect(told).toEqual(["begins"]);
  held = { messages: 9, bytes: 900 };
  vi.advanceTimersByTime(2_000);
  expect(told).toHaveLength(2);
});

test("the next refusal after an episode is the next episode", () => {
  refuse();
  backPressure.stored("orders");
  vi.advanceTimersByTime(1_000);
  refuse();
  expect(told).toEqual(["begins", "over after 0 s", "begins"]);
});

test("nothing more is told of a pipeline that was deleted", () => {
  refuse();
  isThere = false;
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual(["begins"]);
});
