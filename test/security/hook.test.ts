/** @module-tag rest */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { freeAddress } from "../support/ports.ts";
import { Workplace } from "../support/daemon.ts";
import { badPushes, heldBodies } from "./hook-payloads.ts";

/** Who reaches the push hook, and does not know its secret, keeps no push of others out (docs/security.md, Listeners). */

const secret = "the-secret-of-this-hook";
let place: Workplace;
let daemon: Daemon;
let hook: string;

beforeAll(async () => {
  place = await Workplace.make();
  hook = await freeAddress();
  daemon = await place.start({
    args: ["--dir", place.pipelines, "--hook", hook, "--hook-secret", "${env:HOOK}"],
    env: { HOOK: secret },
  });
});

afterAll(() => place.clean());

function push(): Promise<Response> {
  const body = JSON.stringify({ ref: "refs/heads/main" });
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const headers = { "x-hub-signature-256": signature, "x-github-event": "push" };
  return fetch(`http://${hook}/hook`, { method: "POST", headers, body });
}

test("many bad pushes of an address do not refuse a valid one of it", { timeout: 120_000 }, async () => {
  const statuses = await badPushes(hook, 40);
  expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 401));
  expect(statuses.at(-1)).toBe(429);
  expect((await push()).status).toBe(202);
  expect(daemon.log.join("\n")).not.toContain(secret);
});

test("bodies that fill all the room do not refuse a valid push", { timeout: 120_000 }, async () => {
  const sockets = await heldBodies(hook, { count: 8, bytes: 5 << 20 });
  try {
    expect((await push()).status).toBe(202);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
