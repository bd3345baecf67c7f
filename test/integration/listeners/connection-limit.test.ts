import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConnectionLimit } from "../../../reconciler/listeners/connection-limit.ts";

const times = { greeting: 300, firstRequest: 900 };

let limit: ConnectionLimit;
let server: Server;
let refusals: [reason: string, address: string][];
/** The sockets of the server that were admitted, in the order in which they came. */
let admitted: Socket[];
const clients: Socket[] = [];

function refused(reason: string, address: string): void {
  refusals.push([reason, address]);
}

async function listen(limits: { most: number; mostPerAddress: number; greeting?: number }): Promise<void> {
  limit = new ConnectionLimit({ greeting: 0, times, ...limits, refused });
  server = createServer((socket) => {
    socket.on("error", () => undefined);
    if (limit.admit(socket)) admitted.push(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  refusals = [];
  admitted = [];
});

afterEach(async () => {
  vi.useRealTimers();
  for (const client of clients.splice(0)) client.destroy();
  for (const socket of admitted) socket.destroy();
  await once(server.close(), "close");
});

/** Connects, and waits until the server has admitted or refused it. */
async function open(from = "127.0.0.1"): Promise<Socket> {
  const seen = admitted.length + refusals.length;
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", localAddress: from, allowHalfOpen: true });
  client.on("error", () => undefined).resume();
  clients.push(client);
  await once(client, "connect");
  await expect.poll(() => admitted.length + refusals.length, { timeout: 60_000 }).toBeGreaterThan(seen);
  return client;
}

/** Which of the admitted connections are still there, by their number. */
function left(): number[] {
  return admitted.flatMap((socket, number) => (socket.destroyed ? [] : [number]));
}

describe("where an address has its most connections", () => {
  beforeEach(() => listen({ most: 100, mostPerAddress: 3 }));

  test("a new one takes the place of its own that was longest without a request", async () => {
    for (let n = 0; n < 3; n += 1) await open();
    const { received, ended } = limit.begin(admitted[0]!);
    received();
    ended();
    await open();
    expect(left()).toEqual([0, 2, 3]);
    expect(refusals).toEqual([["displaced", "127.0.0.1"]]);
    expect(limit.size).toBe(3);
  });

  test("one whose request arrives without end makes room too, in its turn", async () => {
    for (let n = 0; n < 3; n += 1) await open();
    for (const number of [0, 1, 2]) limit.begin(admitted[number]!);
    await open();
    expect(left()).toEqual([1, 2, 3]);
  });

  test("one that waits for an answer stays, and where all do, the new one is refused", async () => {
    for (let n = 0; n < 3; n += 1) await open();
    const requests = [0, 1, 2].map((number) => limit.begin(admitted[number]!));
    for (const request of requests) request.received();
    await open();
    expect(left()).toEqual([0, 1, 2]);
    expect(refusals).toEqual([["address_limit", "127.0.0.1"]]);
    requests[1]!.ended();
    requests[1]!.ended();
    await open();
    expect(left()).toEqual([0, 2, 3]);
  });

  test("other addresses are not touched", async () => {
    await open("127.0.0.2");
    for (let n = 0; n < 10; n += 1) await open();
    expect(left()).toEqual([0, 8, 9, 10]);
  });

  test("a connection with two requests waits until both are answered", async () => {
    for (let n = 0; n < 3; n += 1) await open();
    const [one, other] = [limit.begin(admitted[0]!), limit.begin(admitted[0]!)];
    one.received();
    other.received();
    one.ended();
    await open();
    await open();
    await open();
    expect(left()).toContain(0);
    other.ended();
    await open();
    await open();
    await open();
    expect(left()).not.toContain(0);
  });
});

describe("where the listener has its most connections", () => {
  beforeEach(() => listen({ most: 5, mostPerAddress: 4 }));

  test("the address that has most makes room", async () => {
    await open("127.0.0.2");
    for (let n = 0; n < 4; n += 1) await open("127.0.0.3");
    await open("127.0.0.4");
    await open("127.0.0.5");
    expect(left()).toEqual([0, 3, 4, 5, 6]);
    expect(refusals).toEqual([
      ["displaced", "127.0.0.3"],
      ["displaced", "127.0.0.3"],
    ]);
  });

  test("where all wait for an answer, the new one is refused", async () => {
    for (let n = 1; n <= 5; n += 1) await open(`127.0.0.${n}`);
    for (const socket of admitted) limit.begin(socket).received();
    await open("127.0.0.9");
    expect(refusals).toEqual([["total_limit", "127.0.0.9"]]);
    expect(left()).toHaveLength(5);
  });
});

describe("a connection that does not begin to speak", () => {
  test("is closed where it makes no request in time, and one that made one stays", async () => {
    await listen({ most: 100, mostPerAddress: 100 });
    await open();
    await open();
    limit.begin(admitted[1]!).ended();
    vi.advanceTimersByTime(times.greeting - 1);
    expect(left()).toEqual([0, 1]);
    vi.advanceTimersByTime(1);
    expect(left()).toEqual([1]);
    expect(refusals).toEqual([["no_request", "127.0.0.1"]]);
    expect(limit.size).toBe(1);
  });

  test("is closed where it does not greet in time, and later where it makes no request", async () => {
    await listen({ most: 100, mostPerAddress: 100, greeting: 5 });
    await open();
    const greeted = await open();
    for (const socket of admitted) socket.resume();
    greeted.write("hello");
    await expect.poll(() => admitted[1]!.bytesRead, { timeout: 60_000 }).toBe(5);
    vi.advanceTimersByTime(times.greeting);
    expect(left()).toEqual([1]);
    vi.advanceTimersByTime(times.firstRequest - times.greeting);
    expect(left()).toEqual([]);
  });
});

test("a peer that does not close its side keeps no socket", async () => {
  await listen({ most: 100, mostPerAddress: 100 });
  await open();
  limit.begin(admitted[0]!).ended();
  admitted[0]!.end();
  await once(admitted[0]!, "finish");
  expect(limit.size).toBe(1);
  vi.advanceTimersByTime(5_000);
  await expect.poll(() => limit.size, { timeout: 60_000 }).toBe(0);
});
