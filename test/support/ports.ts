import { randomInt } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Below the range from which a system draws the ports of its clients: while a server is not yet there, or away, none
 * of them can take its port, nor reach itself there. Test files that run side by side draw from parts of their own.
 */
const range = { first: 15_000, end: 32_000 } as const;
const parts = 16;

/** Drawn before by this file: each is drawn once, as who got it may not listen yet. */
const drawn = new Set<number>();

/** Ports of 127.0.0.1 where nothing listens. Nobody holds them, so another process may be quicker. */
export async function freePorts(count: number): Promise<number[]> {
  const size = Math.floor((range.end - range.first) / parts);
  const first = range.first + (Number(process.env["VITEST_POOL_ID"] ?? 0) % parts) * size;
  const free: number[] = [];
  while (free.length < count) {
    if (drawn.size === size) drawn.clear();
    const port = randomInt(first, first + size);
    if (drawn.has(port)) continue;
    drawn.add(port);
    if (await isFree(port)) free.push(port);
  }
  return free;
}

/** Loopback addresses where nothing listens, each with a port of its own; {@link freePorts} says what that promises. */
export async function freeAddresses(count: number): Promise<string[]> {
  return (await freePorts(count)).map((port) => `127.0.0.1:${port}`);
}

/** One of {@link freeAddresses}. */
export async function freeAddress(): Promise<string> {
  return (await freeAddresses(1))[0]!;
}

/** Whether something takes connections at a port of 127.0.0.1. */
export async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (isListening) await once(server.close(), "close");
  return isListening;
}
