import { EventEmitter, once } from "node:events";
import { createServer, get } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { listenHttp } from "../../../reconciler/cli/listen.ts";
import type { Listener } from "../../../reconciler/cli/listen.ts";
import { resolveSettings } from "../../../reconciler/cli/resolve-settings.ts";

const open: Listener[] = [];

afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close();
});

async function listen(api: string, answer: RequestListener = (_req, res) => res.end("ok")): Promise<Listener> {
  const listener = await listenHttp("api", resolveSettings("run", { flags: { api }, env: {}, file: [] }), answer);
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
    `--api: cannot listen on 127.0.0.1:${port}: another process does. Give another HOST:PORT, port 0 for a free one, or "off"`,
  );
  other.close();
});

test("an address of another machine is named", async () => {
  await expect(listen("192.0.2.1:0")).rejects.toThrow(
    "--api: cannot listen on 192.0.2.1:0: this machine has no such address",
  );
});

test("closing takes no new request and lets one under way end", async () => {
  const server = new EventEmitter();
  const listener = await listen("127.0.0.1:0", (_req, res) => server.emit("asked", res));
  const arrived = once(server, "asked");
  const asked = get(`http://${listener.address}/`);
  const answered = once(asked, "response");
  const [answer] = (await arrived) as [ServerResponse];
  const closed = listener.close();
  await expect(ask(listener.address)).rejects.toThrow("ECONNREFUSED");
  answer.end("ok");
  const [response] = (await answered) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(200);
  await closed;
});

test("a head that is too long is refused", async () => {
  const listener = await listen("127.0.0.1:0");
  const asked = get(`http://${listener.address}/`, { headers: { "x-long": "x".repeat(20_000) } });
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(431);
});
