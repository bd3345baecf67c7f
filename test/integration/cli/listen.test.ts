import { EventEmitter, once } from "node:events";
import { Agent, createServer, get } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listenGrpc, listenHttp } from "../../../reconciler/cli/daemon/listen.ts";
import type { Connections, Listener } from "../../../reconciler/cli/daemon/listen.ts";
import { resolveSettings } from "../../../reconciler/cli/invocation/resolve-settings.ts";

const open: Listener[] = [];

afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close();
});

async function listen(api: string, answer: RequestListener = (_req, res) => res.end("ok")): Promise<Listener> {
  const flags = { api, insecure: true };
  const listener = await listenHttp("api", resolveSettings("run", { flags, env: {}, file: [] }), answer);
  open.push(listener);
  return listener;
}

const dropped: Connections = { accept: (connection) => void connection.destroy(), drain: () => {} };

async function listenForGrpc(otlp_grpc: string, connections = dropped): Promise<Listener> {
  const settings = resolveSettings("run", { flags: { otlp_grpc }, env: {}, file: [] });
  const listener = await listenGrpc("otlp_grpc", settings, connections);
  open.push(listener);
  return listener;
}

async function ask(address: string): Promise<IncomingMessage> {
  const [response] = (await once(get(`http://${address}/`), "response")) as [IncomingMessage];
  return response;
}

test("port 0 takes a free port, and the address says which", async () => {
  const listener = await listen("127.0.0.1:0");
  expect(listener.address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
  expect((await ask(listener.address)).statusCode).toBe(200);
});

test("off listens nowhere", async () => {
  expect((await listen("off")).address).toBe("off");
});

test("a port that is taken is named, with the setting and the ways out", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await expect(listen(`127.0.0.1:${port}`)).rejects.toThrow(
    `--api: cannot listen on 127.0.0.1:${port}: another process uses this port. Give another HOST:PORT, port 0 for a free one, or "off"`,
  );
  other.close();
});

test("a port for gRPC that is taken is named likewise", async () => {
  const other = await listen("127.0.0.1:0");
  await expect(listenForGrpc(other.address)).rejects.toThrow(
    `--otlp-grpc: cannot listen on ${other.address}: another process uses this port. Give another HOST:PORT, port 0 for a free one, or "off"`,
  );
});

test("off listens nowhere for gRPC", async () => {
  expect((await listenForGrpc("off")).address).toBe("off");
});

test("closing for gRPC takes no new connection and waits until those that are there were drained", async () => {
  const held: Socket[] = [];
  const drained: number[] = [];
  const listener = await listenForGrpc("127.0.0.1:0", {
    accept: (connection) => void held.push(connection),
    drain: (grace) => {
      drained.push(grace);
      for (const connection of held) connection.end();
    },
  });
  const port = Number(listener.address.split(":")[1]);
  const client = connect(port, "127.0.0.1").resume();
  await once(client, "connect");
  const ended = once(client, "close");
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await listener.close();
  expect(drained).toHaveLength(1);
  await ended;
  await expect(once(connect(port, "127.0.0.1"), "connect")).rejects.toThrow("ECONNREFUSED");
});

test("an address of another machine is named", async () => {
  await expect(listen("192.0.2.1:0")).rejects.toThrow(
    "--api: cannot listen on 192.0.2.1:0: this machine has no such address",
  );
});

/** Answers requests when the test says so. */
function heldAnswers(): { answer: RequestListener; asked: () => Promise<ServerResponse> } {
  const server = new EventEmitter();
  const waiting: ServerResponse[] = [];
  const answer: RequestListener = (_req, res) => {
    waiting.push(res);
    server.emit("asked");
  };
  const asked = async (): Promise<ServerResponse> => {
    while (waiting.length === 0) await once(server, "asked");
    return waiting.shift()!;
  };
  return { answer, asked };
}

describe("while a listener stops", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  const agents: Agent[] = [];
  afterEach(() => {
    for (const agent of agents.splice(0)) agent.destroy();
  });

  /** A sender that keeps its connection. */
  function keptConnection(address: string): () => Promise<IncomingMessage> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    return async () => {
      const [response] = (await once(get(`http://${address}/`, { agent }), "response")) as [IncomingMessage];
      response.resume();
      await once(response, "end");
      return response;
    };
  }

  test("requests under way, on connections that were idle, and on new ones are answered; each answer is the last of its connection", async () => {
    const { answer, asked } = heldAnswers();
    const listener = await listen("127.0.0.1:0", answer);
    const { address } = listener;
    const [underWay, idle, later] = [keptConnection(address), keptConnection(address), keptConnection(address)];
    const first = idle();
    (await asked()).end("ok");
    expect((await first).headers.connection).toBe("keep-alive");
    const answered = [underWay()];
    const waiting = [await asked()];
    const closed = listener.close();
    for (const send of [idle, later]) {
      answered.push(send());
      waiting.push(await asked());
    }
    for (const response of waiting) response.end("ok");
    for (const { statusCode, headers } of await Promise.all(answered)) {
      expect([statusCode, headers.connection]).toEqual([200, "close"]);
    }
    await vi.advanceTimersByTimeAsync(500);
    await expect(later()).rejects.toThrow("ECONNREFUSED");
    await closed;
  });

  test("idle connections are closed before the port is, and a request that is then under way is waited for", async () => {
    const { answer, asked } = heldAnswers();
    const listener = await listen("127.0.0.1:0", answer);
    const { address } = listener;
    const [host, port] = address.split(":") as [string, string];
    const idle = connect(Number(port), host).resume();
    idle.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    (await asked()).end("ok");
    const ended = once(idle, "close");
    const answered = keptConnection(address)();
    const waiting = await asked();
    const closed = listener.close();
    expect(idle.destroyed).toBe(false);
    await vi.advanceTimersByTimeAsync(500);
    await ended;
    waiting.end("ok");
    expect((await answered).headers.connection).toBe("close");
    await closed;
  });

  test("one without connections is closed at once", async () => {
    const listener = await listen("127.0.0.1:0");
    await listener.close();
  });
});

test("a head that is too long is refused", async () => {
  const listener = await listen("127.0.0.1:0");
  const asked = get(`http://${listener.address}/`, { headers: { "x-long": "x".repeat(20_000) } });
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(431);
});
