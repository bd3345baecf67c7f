import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import KafkaConnection from "kafkajs/src/network/connection.js";
import Encoder from "kafkajs/src/protocol/encoder.js";
import { afterEach, expect, test, vi } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { patchKafkajs } from "../../../engine/sources/kafka/brokers/kafkajs-patches.ts";
import { socketsWithin } from "../../../engine/sources/kafka/brokers/sockets.ts";
import { AnswerRoom } from "../../../engine/peers/answer-room.ts";
import { TargetPolicy } from "../../../engine/peers/targets.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { keptLog } from "../../support/engine.ts";
import { int32 } from "../../support/kafka/wire-bytes.ts";

let server: Server;
let closed = 0;

afterEach(() => new Promise((resolve) => server.close(resolve)));

/** Answers every request with these bytes; resolves with the port. */
async function answering(bytes: Buffer | ((request: Buffer) => Buffer)): Promise<number> {
  closed = 0;
  server = createServer((socket) => {
    socket.on("data", (asked) => socket.write(typeof bytes === "function" ? bytes(asked) : bytes));
    socket.on("error", () => undefined).on("close", () => (closed += 1));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Brokers that answer every request with these bytes. */
async function brokersThatAnswer(bytes: Buffer): Promise<Brokers> {
  const port = await answering(bytes);
  const connection = { brokers: [`127.0.0.1:${port}`], protocol: "PLAINTEXT", mechanism: "NO_AUTH" } as const;
  return new Brokers(kafkaClient(connection as never, "test", keptLog()), defaultKafkaSettings);
}

// What a listener of a socket throws ends the process, and fails this test as an uncaught error.
test.each([
  ["four zero bytes", int32(0)],
  ["a length that is too short for the number of a request", Buffer.concat([int32(3), Buffer.alloc(3)])],
  ["a negative length, which kafkajs reads for ever", Buffer.concat([int32(-4), Buffer.alloc(64)])],
  ["the least length", Buffer.concat([int32(-(2 ** 31)), Buffer.alloc(64)])],
  ["a length above 1 MiB before anything long was asked for", Buffer.concat([int32((1 << 20) + 1), Buffer.alloc(64)])],
  ["a length of 2 GiB", Buffer.concat([int32(2 ** 31 - 1), Buffer.alloc(64)])],
  [
    "an answer to a request that nobody sent, then no length",
    Buffer.concat([int32(8), int32(999), int32(1), int32(0)]),
  ],
])(
  "%s: ends the connection and nothing else",
  async (_, bytes) => {
    const brokers = await brokersThatAnswer(bytes);
    await expect(brokers.connect()).rejects.toThrow(
      /expected an answer of 4 to 1048576 bytes, found the length -?\d+: is it a Kafka broker/,
    );
    await expect.poll(() => closed).toBeGreaterThan(0);
    await brokers.close();
  },
  60_000,
);

interface TestedConnection {
  /** Those of requests that the broker knows. */
  versions: object | null;
  disconnect(): Promise<unknown>;
  connect(): Promise<boolean>;
  isConnected(): boolean;
  send(request: object): Promise<unknown>;
}

const socketFactory = ({ host, port, onConnect }: { host: string; port: number; onConnect: () => void }): Socket =>
  connect({ host, port }, onConnect);

const request = { apiKey: 3, apiVersion: 6, apiName: "Metadata", encode: () => Promise.resolve(new Encoder()) };
const response = {
  decode: (payload: Buffer) => Promise.resolve(payload.length),
  parse: (length: number) => Promise.resolve(length),
};

test("a length that is too large ends the connection with the answer that is late, not with each one after it", async () => {
  patchKafkajs();
  const port = await answering(Buffer.concat([int32(1_000), int32(1), Buffer.alloc(16)]));
  const logger = { namespace: () => logger, debug: vi.fn<() => void>(), error: vi.fn<() => void>() };
  const options = { host: "127.0.0.1", port, logger, requestTimeout: 50, connectionTimeout: 5_000 };
  const connection = new (KafkaConnection as unknown as new (of: object) => TestedConnection)({
    ...options,
    socketFactory,
  });
  await connection.connect();
  await expect(connection.send({ request, response })).rejects.toThrow("timed out");
  await expect.poll(() => closed).toBe(1);
  expect(connection.isConnected()).toBe(false);
});

test("a long answer waits while those of other clients take the memory for such", async () => {
  patchKafkajs();
  const logger = { namespace: () => logger, debug: vi.fn<() => void>(), error: vi.fn<() => void>() };
  const length = 20 * 1024 * 1024;
  const port = await answering((asked) => {
    return Buffer.concat([int32(length + 4), asked.subarray(8, 12), Buffer.alloc(length)]);
  });
  // It says that it sends much, and sends nothing.
  const open: Socket[] = [];
  const greedy = createServer((socket) => {
    open.push(socket);
    socket.on("error", () => undefined).on("data", () => socket.write(int32(250 * 1024 * 1024)));
  });
  greedy.listen(0, "127.0.0.1");
  await once(greedy, "listening");
  const connected = async (to: number): Promise<TestedConnection> => {
    const options = { host: "127.0.0.1", port: to, logger, requestTimeout: 60_000, connectionTimeout: 5_000 };
    const connection = new (KafkaConnection as unknown as new (of: object) => TestedConnection)({
      ...options,
      socketFactory: socketsWithin(new TargetPolicy()),
    });
    await connection.connect();
    connection.versions = {};
    return connection;
  };
  const [theirs, ours] = [await connected((greedy.address() as AddressInfo).port), await connected(port)];
  const never = theirs.send({ request, response }).catch(String);
  const isTaken = (): boolean => {
    const give = new AnswerRoom().take(length);
    give?.();
    return give === undefined;
  };
  await expect.poll(isTaken).toBe(true);
  let answer: unknown;
  void ours.send({ request, response }).then((found) => (answer = found));
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(answer).toBeUndefined();
  for (const socket of open) socket.destroy();
  await expect.poll(() => answer, { timeout: 10_000 }).toBe(length);
  expect(await never).toMatch(/closed/i);
  await ours.disconnect();
  await new Promise((resolve) => greedy.close(resolve));
});
