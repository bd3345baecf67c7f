import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/**
 * Below the range from which a system draws the ports of its clients: while a broker is away, none of them can take
 * its port, nor reach itself there.
 */
const range = [15_000, 32_000] as const;

/** Ports of 127.0.0.1 where nothing listens. Nobody holds them, so another process may be quicker. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  while (held.size < count) {
    const port = randomInt(...range);
    const server = held.has(port) ? undefined : await listen(port);
    if (server !== undefined) held.set(port, server);
  }
  await Promise.all([...held.values()].map((server) => new Promise((done) => server.close(done))));
  return [...held.keys()];
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  return once(server, "listening").then(
    () => server,
    () => undefined,
  );
}
