import Broker from "kafkajs/src/broker/index.js";
import apiKeys from "kafkajs/src/protocol/requests/apiKeys.js";
import { requests } from "kafkajs/src/protocol/requests/index.js";
import RequestQueue from "kafkajs/src/network/requestQueue/index.js";
import scram from "kafkajs/src/broker/saslAuthenticator/scram.js";
import { afterEach, expect, test, vi } from "vitest";
import { patchKafkajs } from "../../../engine/sources/kafka/brokers/kafkajs-patches.ts";

patchKafkajs();

afterEach(() => void vi.useRealTimers());

interface Queue {
  throttledUntil: number;
  maybeThrottle(milliseconds: number | null): void;
}

function queue(): Queue {
  const logger = { debug: () => undefined };
  return new (RequestQueue as unknown as new (options: object) => Queue)({ requestTimeout: 1, logger });
}

test("an answer that asks for silence of 24 days is obeyed for half a minute", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const own = queue();
  own.maybeThrottle(2 ** 31 - 1);
  expect(own.throttledUntil - Date.now()).toBe(30_000);
});

test.each([0, null, -1])("an answer that asks for no silence (%s) is not throttled", (milliseconds) => {
  const own = queue();
  own.maybeThrottle(milliseconds);
  expect(own.throttledUntil).toBe(-1);
});

const digest = { length: 32, type: "sha256" };

test("a login with 2^31 iterations is refused, and takes no thread of the process", async () => {
  const key = scram.SCRAM.hi("secret", Buffer.from("salt"), 2 ** 31 - 1, digest);
  await expect(key).rejects.toThrow("expected at most 100000 iterations, found 2147483647");
});

test("a login with the iterations of a broker derives its key", async () => {
  const key = await scram.SCRAM.hi("secret", Buffer.from("salt"), 4096, digest);
  expect(key).toHaveLength(32);
});

/** A broker that gives these answers to the request for its versions, one after the other. */
function brokerOf(answers: unknown[]): Broker {
  const socket = { destroy: () => (connectionPool.isOpen = false) };
  const connection = { getSupportAuthenticationProtocol: () => null, authenticate: () => Promise.resolve(), socket };
  const connectionPool = {
    isOpen: false,
    isConnected: () => connectionPool.isOpen,
    getConnection: () => Promise.resolve(((connectionPool.isOpen = true), connection)),
    send: () => Promise.resolve({ apiVersions: answers.shift() }),
    setVersions: () => undefined,
    setSupportAuthenticationProtocol: () => undefined,
    map: (work: (one: typeof connection) => void) => work(connection),
  };
  const logger = { namespace: () => ({ debug: () => undefined }) };
  return new (Broker as unknown as new (options: object) => Broker)({ connectionPool, logger });
}

const right = [{ apiKey: apiKeys.Fetch, minVersion: 4, maxVersion: 11 }];

test.each([
  ["lacks a request", []],
  ["names versions that nobody knows", [{ apiKey: apiKeys.Fetch, minVersion: -9, maxVersion: -5 }]],
])("an answer about versions that %s is asked for again, also on the same connection", async (_what, wrong) => {
  const broker = brokerOf([wrong, right]);
  await broker.connect();
  expect(() => broker.lookupRequest(apiKeys.Fetch, requests.Fetch)).toThrow(/support/);
  expect(broker.isConnected()).toBe(false);
  await broker.connect();
  expect(() => broker.lookupRequest(apiKeys.Fetch, requests.Fetch)).not.toThrow();
});

test("an answer about versions that cannot be read ends its connection, and the next one asks again", async () => {
  const broker = brokerOf([undefined, right]);
  await expect(broker.connect()).rejects.toThrow();
  expect(broker.isConnected()).toBe(false);
  await broker.connect();
  expect(() => broker.lookupRequest(apiKeys.Fetch, requests.Fetch)).not.toThrow();
});
