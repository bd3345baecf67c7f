import { createRequire } from "node:module";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { patchKafkajs } from "../../../engine/sources/kafka/brokers/kafkajs-patches.ts";

/** The requests of one connection of kafkajs, as far as they are used here. */
interface Requests {
  scheduleRequestTimeoutCheck(): void;
  push(request: object): void;
  fulfillRequest(answer: { correlationId: number; payload: Buffer; size: number }): void;
  destroy(): void;
}

const RequestQueue = createRequire(import.meta.url)("kafkajs/src/network/requestQueue/index.js") as new (
  options: object,
) => Requests;
const requestTimeout = 30_000;
const logger = { namespace: () => logger, debug: () => undefined, warn: () => undefined };

let requests: Requests;
let ended: Map<number, "answered" | "late">;

beforeEach(() => {
  vi.useFakeTimers();
  patchKafkajs();
  const options = { maxInFlightRequests: null, requestTimeout, enforceRequestTimeout: true, logger };
  requests = new RequestQueue({ ...options, clientId: "c", broker: "b:9092" });
  requests.scheduleRequestTimeoutCheck();
  ended = new Map();
});
afterEach(() => {
  requests.destroy();
  vi.useRealTimers();
});

function send(correlationId: number, ofItsOwn?: number): void {
  const entry = {
    correlationId,
    resolve: () => ended.set(correlationId, "answered"),
    reject: () => ended.set(correlationId, "late"),
  };
  requests.push({ entry, expectResponse: true, sendRequest: () => undefined, requestTimeout: ofItsOwn });
}

test("a connection on which no answer is awaited is not looked at", () => {
  expect(vi.getTimerCount()).toBe(0);
  send(1);
  requests.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 });
  vi.advanceTimersByTime(requestTimeout + 1);
  expect(vi.getTimerCount()).toBe(0);
  expect([...ended]).toEqual([[1, "answered"]]);
});

test("each answer that is late is found when it is due, whatever was sent before and after it", () => {
  send(1, 90_000);
  vi.advanceTimersByTime(1_000);
  send(2);
  vi.advanceTimersByTime(1_000);
  send(3);
  vi.advanceTimersByTime(requestTimeout - 1_000);
  expect([...ended]).toEqual([[2, "late"]]);
  vi.advanceTimersByTime(1_000);
  expect([...ended.keys()]).toEqual([2, 3]);
  vi.advanceTimersByTime(59_000);
  expect([...ended.keys()]).toEqual([2, 3, 1]);
  expect(vi.getTimerCount()).toBe(0);
});

test("where the clock was set back, an answer is late after the same time", () => {
  send(1);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(requestTimeout - 1);
  expect([...ended]).toEqual([]);
  vi.advanceTimersByTime(1);
  expect([...ended]).toEqual([[1, "late"]]);
});

test("once the connection is closed, nothing is looked at any more", () => {
  send(1);
  requests.destroy();
  expect(vi.getTimerCount()).toBe(0);
});
