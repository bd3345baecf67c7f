import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestEngine } from "../../support/engine.ts";

let engine: TestEngine;
let server: Server;
let client: Client;
/** What the listener is told of the calls, in order. */
let told: string[];

beforeEach(async () => {
  told = [];
  engine = await TestEngine.open();
  const progress = { received: () => void told.push("received"), ended: () => void told.push("ended") };
  server = createServer((socket) =>
    engine.engine.handleOtlpGrpc(socket, () => {
      told.push("begun");
      return progress;
    }),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  client = new Client(`127.0.0.1:${(server.address() as AddressInfo).port}`, credentials.createInsecure());
});

afterEach(async () => {
  client.close();
  await engine.close();
  await once(server.close(), "close");
});

const asItIs = (bytes: Buffer): Buffer => bytes;

/** The code of gRPC of the answer. */
function call(path: string): Promise<number> {
  const metadata = new Metadata();
  metadata.set("x-sluice-pipeline-id", "no-such-one");
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, asItIs, asItIs, Buffer.alloc(0), metadata, (error) => resolve(error?.code ?? 0));
  });
}

test.each([
  ["an export that is refused before its message", "/opentelemetry.proto.collector.logs.v1.LogsService/Export", 5],
  ["a check of health", "/grpc.health.v1.Health/Check", 0],
])("%s is a request of its connection, and ends", async (_what, path, code) => {
  expect(await call(path)).toBe(code);
  expect(told).toEqual(["begun", "ended"]);
});

test("a call of a method that there is not is no request: a connection without another one is closed", async () => {
  expect(await call("/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export")).toBe(12);
  expect(told).toEqual([]);
});

test("a connection that its peer resets while gRPC is being loaded harms nothing", async () => {
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const peer = connect(port, "127.0.0.1");
  const [socket] = await accepted;
  const closed = new Promise((resolve) => socket.once("close", resolve));
  // As the system reports it, in the same turn of the event loop.
  socket.destroy(new Error("read ECONNRESET"));
  await closed;
  peer.destroy();
  expect(await call("/grpc.health.v1.Health/Check")).toBe(0);
  expect(told).toEqual(["begun", "ended"]);
});
