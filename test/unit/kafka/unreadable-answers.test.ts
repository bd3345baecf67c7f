import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { keptLog } from "../../support/engine.ts";

let server: Server;
let closed = 0;

afterEach(() => new Promise((resolve) => server.close(resolve)));

/** Brokers that answer every request with these bytes. */
async function brokersThatAnswer(bytes: Buffer): Promise<Brokers> {
  closed = 0;
  server = createServer((socket) => {
    socket.on("data", () => socket.write(bytes));
    socket.on("error", () => undefined).on("close", () => (closed += 1));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = { brokers: [`127.0.0.1:${port}`], protocol: "PLAINTEXT", mechanism: "NO_AUTH" } as const;
  return new Brokers(kafkaClient(connection as never, "test", keptLog()), defaultKafkaSettings);
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

// What a listener of a socket throws ends the process, and fails this test as an uncaught error.
test.each([
  ["four zero bytes", int32(0)],
  ["a length that is too short for the number of a request", Buffer.concat([int32(3), Buffer.alloc(3)])],
  ["a negative length, which kafkajs reads for ever", Buffer.concat([int32(-4), Buffer.alloc(64)])],
  ["the least length", Buffer.concat([int32(-(2 ** 31)), Buffer.alloc(64)])],
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
      /expected an answer of 4 to 268435456 bytes, found the length -?\d+: is it a Kafka broker/,
    );
    expect(closed).toBeGreaterThan(0);
    await brokers.close();
  },
  30_000,
);
