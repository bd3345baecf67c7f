/** @module-tag rest */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { protobufBody } from "../fuzz/otlp-bodies.ts";
import { RawGrpc } from "../fuzz/otlp-raw-grpc.ts";
import { sendHttp } from "../fuzz/otlp-raw-http.ts";
import { naming, over, types } from "../fuzz/otlp-request.ts";
import { OtlpTarget } from "../fuzz/otlp-target.ts";
import { tokenEnv } from "../support/daemon.ts";
import { Random } from "../support/random.ts";
import { isFull } from "./attacks.ts";
import { Neighbour } from "./neighbour.ts";
import { attack, preparedAttack } from "./otlp-attack.ts";
import { costlyBody, largestBody } from "./otlp-amplification.ts";
import { Stalls } from "./stalls.ts";

/** Who reaches the OTLP ports may send events, and nothing else: a body costs them no more than it costs us. */

const rounds = isFull ? 5 : 1;
const size = (isFull ? largestBody : largestBody / 64) - 1024;

/** In the long form: milliseconds of CPU time that the main thread may take without a turn for others. */
const longestStall = 250;
/** In the long form: milliseconds until a probe is answered. */
const longestAnswer = 5_000;
/** As docs/operations.md (Sizing) says for a machine with a limit of memory. */
const allocator = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" };

let target: OtlpTarget;
let stalls: Stalls;

beforeAll(async () => {
  target = await OtlpTarget.start(async (place) => {
    await Neighbour.write(place);
    stalls = new Stalls(join(place.path, "stalls"));
    // Each body is to be decoded, however many wait: refused as too much waits, it would show nothing.
    return { ...tokenEnv, ...(isFull && stalls.env), ...allocator, SLUICE_PUSH_MAX_WAIT: "1m" };
  });
});

afterAll(() => target?.close());

/** Milliseconds until a probe is answered. */
async function probe(address: string): Promise<number> {
  const started = performance.now();
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  return performance.now() - started;
}

/** Probes both listeners and sends a small good request; resolves with the longest time of a probe. */
async function probeAll(random: Random): Promise<number> {
  const longest = Math.max(await probe(target.daemon.api), await probe(`http://${target.http}`));
  const { signal, bytes } = protobufBody(random);
  const headers = { ...naming(signal), "content-type": types.protobuf };
  expect((await sendHttp(target.http, over(signal, headers, bytes))).status).toBe(200);
  return longest;
}

/** Looks again and again until `work` is over; resolves with its result, and with what was seen before. */
async function during<Result, Seen>(
  work: Promise<Result>,
  look: () => Promise<Seen>,
): Promise<{ result: Result; seen: Seen[] }> {
  const seen: Seen[] = [];
  const end = new AbortController();
  const settled = work.finally(() => end.abort());
  while (!end.signal.aborted) seen.push(await look());
  return { result: await settled, seen };
}

const patience = { timeout: 300_000 + rounds * 180_000 };

/** Stored, or refused for good: over HTTP, and over gRPC. */
const expectedAnswers = [200, 413, 0, 3];

test(
  "every costly body is stored or refused for good, and the listeners and the status API go on",
  patience,
  async () => {
    const prepared = preparedAttack(size);
    const grpc = new RawGrpc(target.grpc);
    const neighbour = await Neighbour.of(target.daemon);
    const since = Date.now();
    const random = new Random(1);
    const { result, delays } = await neighbour.during(() =>
      during(attack({ http: target.http, grpc }, prepared, rounds), async () => {
        await sleep(isFull ? 20 : 100);
        return probeAll(random);
      }),
    );
    const { result: answers, seen: times } = result;
    grpc.close();
    expect(answers.filter(({ status }) => !expectedAnswers.includes(Number(status)))).toEqual([]);
    if (!isFull) return;
    const [slowest, stall] = [Math.max(...times), stalls.longest(target.daemon.pid, since)];
    const figures = [`longest stall ${stall.toFixed(0)} ms`, `slowest probe ${slowest.toFixed(0)} ms`];
    neighbour.noted(`OTLP bodies, each ${rounds} times`, delays, ...figures);
    expect(stall).toBeLessThan(longestStall);
    expect(slowest).toBeLessThan(longestAnswer);
  },
);

test("others are answered many times while one of the largest bodies is decoded", patience, async () => {
  const { title, signal, bytes } = costlyBody("many different keys", largestBody - 1024);
  const headers = { ...naming(signal), "content-type": types.protobuf, "content-encoding": "gzip" };
  const sending = sendHttp(target.http, over(signal, headers, gzipSync(bytes)));
  const { result, seen } = await during(sending, () => probe(`http://${target.http}`));
  expect(expectedAnswers, title).toContain(result.status);
  // A listener that decodes it itself answers one before, and one after.
  expect(seen.length).toBeGreaterThan(15);
});
