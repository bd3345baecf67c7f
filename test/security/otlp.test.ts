import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { protobufBody } from "../fuzz/otlp-bodies.ts";
import { RawGrpc } from "../fuzz/otlp-raw-grpc.ts";
import { sendHttp } from "../fuzz/otlp-raw-http.ts";
import { naming, over, types } from "../fuzz/otlp-request.ts";
import { OtlpTarget } from "../fuzz/otlp-target.ts";
import { Random } from "../support/random.ts";
import { isFull, measured } from "./attacks.ts";
import { attack, preparedAttack } from "./otlp-attack.ts";
import { largestBody } from "./otlp-amplification.ts";
import { Stalls } from "./stalls.ts";

/** Who reaches the OTLP ports may send events, and nothing else: a body costs them no more than it costs us. */

const rounds = isFull ? 5 : 1;
const size = (isFull ? largestBody : largestBody / 2) - 1024;

/** Milliseconds of CPU time that the main thread may take without a turn for others. */
const longestStall = 250;
/** Milliseconds until a probe is answered, on a machine that is busy with the attack as well. */
const longestAnswer = 5_000;
/** Bytes that the process may hold at the most. */
const mostMemory = 1280 * 1024 * 1024;

let target: OtlpTarget;
let stalls: Stalls;

beforeAll(async () => {
  target = await OtlpTarget.start((place) => {
    stalls = new Stalls(join(place.path, "stalls"));
    return stalls.env;
  });
});

afterAll(() => target?.close());

/** Milliseconds until a probe is answered. */
async function probe(address: string): Promise<number> {
  const started = performance.now();
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  return performance.now() - started;
}

/** Probes both listeners and sends small good requests until `isOver`; resolves with the longest time of a probe. */
async function others(isOver: () => boolean): Promise<number> {
  const random = new Random(1);
  let longest = 0;
  while (!isOver()) {
    longest = Math.max(longest, await probe(target.daemon.api), await probe(`http://${target.http}`));
    const { signal, bytes } = protobufBody(random);
    const headers = { ...naming(signal), "content-type": types.protobuf };
    expect((await sendHttp(target.http, over(signal, headers, bytes))).status).toBe(200);
    await sleep(20);
  }
  return longest;
}

const patience = { timeout: 120_000 + rounds * 180_000 };

test("no body of OTLP holds up the listeners and the status API", patience, async () => {
  const prepared = preparedAttack(size);
  const grpc = new RawGrpc(target.grpc);
  const since = Date.now();
  let isOver = false;
  const probing = others(() => isOver);
  const answers = await attack({ http: target.http, grpc }, prepared, rounds);
  isOver = true;
  const [slowest, stall] = [await probing, stalls.longest(target.daemon.pid, since)];
  grpc.close();
  const memory = target.memory.highest;
  const figures = [`longest stall ${stall.toFixed(0)} ms`, `slowest probe ${slowest.toFixed(0)} ms`];
  measured(`OTLP bodies, each ${rounds} times`, target.daemon.pid, ...figures);
  // Stored, or refused for good: over HTTP, and over gRPC.
  expect(answers.filter(({ status }) => ![200, 413, 0, 3].includes(Number(status)))).toEqual([]);
  expect(stall).toBeLessThan(longestStall);
  expect(slowest).toBeLessThan(longestAnswer);
  expect(memory).toBeLessThan(mostMemory);
});
