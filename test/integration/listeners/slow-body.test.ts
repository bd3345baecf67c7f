import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Room } from "../../../engine/flow/room.ts";
import { discardBody, readBody } from "../../../engine/http/request-body.ts";

let server: Server;

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

test("a body that did not arrive in time is waited for once: its answer comes although the sender sends no more", async () => {
  const limits = { most: 1_000, arriving: new Room(1_000) };
  server = createServer((incoming, response) => {
    void readBody(incoming, { ...limits, timeout: 50 }).catch(async (error: Error) => {
      await discardBody(incoming, { ...limits, timeout: 3_600_000 });
      response.writeHead(408, { connection: "close" }).end(error.message);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const status = await new Promise((resolve, reject) => {
    const sender = request({ port, host: "127.0.0.1", method: "POST" }, ({ statusCode }) => resolve(statusCode));
    sender.on("error", reject).write("the first half");
  });
  expect(status).toBe(408);
});
