/** @module-tag rest */
import { Agent, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Signal } from "../../engine/core/push.ts";
import { Random } from "../support/random.ts";
import { OpenConnections, openLimit } from "./open-connections.ts";
import { protobufBody, signals } from "./otlp-bodies.ts";
import { exportPath, frameOf, RawGrpc } from "./otlp-raw-grpc.ts";
import { sendHttp, type RawAnswer } from "./otlp-raw-http.ts";
import { pipelineOf, type RequestCase } from "./otlp-request.ts";
import { requestCase } from "./otlp-request-cases.ts";
import { stalledCases } from "./otlp-stalls.ts";
import { OtlpTarget } from "./otlp-target.ts";
import { seed, triesOf } from "./tries.ts";

/** Requests. */
const runs = triesOf(250);
/** The long form waits for senders that stall, and opens as many connections as the system allows. */
const isLong = runs >= 5000;
const senders = 8;

/** Bytes that the process may hold at the most in the long form. The good requests of 4 MiB, if kept, would be as much again. */
const mostMemory = 640 * 1024 * 1024;

/** Rows that were acknowledged, and those of them that become dead letters. */
const stored: Record<Signal, { rows: number; letters: number }> = {
  logs: { rows: 0, letters: 0 },
  traces: { rows: 0, letters: 0 },
  metrics: { rows: 0, letters: 0 },
};
let target: OtlpTarget;

beforeAll(async () => {
  target = await OtlpTarget.start();
});

afterAll(() => target?.close());

function answerTo({ http, grpc: call }: RequestCase, grpc: RawGrpc): Promise<RawAnswer> {
  return http === undefined ? grpc.send(call!) : sendHttp(target.http, http);
}

/** Sends it; gives what is wrong with its answer. */
async function judge(made: RequestCase, grpc: RawGrpc, name: string): Promise<string | undefined> {
  const { status, message } = await answerTo(made, grpc);
  const { expected, title, stored: rows } = made;
  if (status !== expected) return `${name} ${title}: expected ${expected}, got ${status} ${message}`;
  if (rows !== undefined) note(rows);
  return undefined;
}

function note({ signal, rows, letters }: { signal: Signal; rows: number; letters: number }): void {
  stored[signal].rows += rows - letters;
  stored[signal].letters += letters;
}

test(`each of ${runs} requests is answered as it must be`, { timeout: 120_000 + runs * 60 }, async () => {
  const wrong: (string | undefined)[] = [];
  const stalls = stalledCases(new Random(seed)).map(async (made) => {
    const grpc = new RawGrpc(target.grpc);
    wrong.push(isLong ? await judge(made, grpc, "") : undefined);
    grpc.close();
  });
  const seen = new Map<RequestCase["expected"], number>();
  let next = seed;
  const work = async (): Promise<void> => {
    const grpc = new RawGrpc(target.grpc);
    while (next < seed + runs) {
      const run = next++;
      const made = requestCase(new Random(run));
      seen.set(made.expected, (seen.get(made.expected) ?? 0) + 1);
      wrong.push(await judge(made, grpc, `FUZZ_SEED=${run}`));
    }
    grpc.close();
  };
  await Promise.all([...stalls, ...Array.from({ length: senders }, work)]);
  const counts = [...seen].map(([expected, count]) => `${expected} x ${count}`).toSorted();
  console.log(`${runs} requests from seed ${seed}: ${counts.join(", ")}`);
  expect(wrong.filter((what) => what !== undefined)).toEqual([]);
  // Else the requests were all alike, and nothing was tested.
  for (const expected of [0, 3, 8, 12, 13, 200, 400, 404, 413, 415]) expect(seen.get(expected) ?? 0).toBeGreaterThan(0);
});

test("good requests are taken while as many connections are open as may be", { timeout: 120_000 }, async () => {
  const grpc = new RawGrpc(target.grpc);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const random = new Random(seed);
  const both = async (): Promise<void> => {
    const { signal, bytes, rows = 0, letters } = protobufBody(random);
    const headers = { "x-sluice-pipeline-id": pipelineOf(signal) };
    const { status } = await grpc.send({ path: exportPath(signal), headers, frames: frameOf(bytes) });
    const type = { "content-type": "application/x-protobuf" };
    expect([status, await post(agent, signal, { ...headers, ...type }, bytes)]).toEqual([0, 200]);
    note({ signal, rows: 2 * rows, letters: 2 * letters });
  };
  await both();
  const connections = new OpenConnections();
  // The rest is for what else this process has open.
  const wished = isLong ? Math.min(openLimit() - 300, 20_000) : 200;
  await connections.open(wished, [target.http, target.grpc]);
  for (let round = 0; round < 20; round += 1) await both();
  console.log(`${connections.count} of ${wished} connections are open, ulimit -n is ${openLimit()}`);
  expect(connections.count).toBeGreaterThanOrEqual(isLong ? 1000 : wished);
  await connections.close();
  await both();
  grpc.close();
  agent.destroy();
});

test("all that was acknowledged is written", { timeout: 120_000 }, async () => {
  for (const signal of signals) {
    expect({ signal, ...(await target.written(signal)) }).toEqual({ signal, ...stored[signal] });
  }
  console.log(`${JSON.stringify(stored)} rows; at most ${target.memory.highest >> 20} MiB of memory`);
  if (isLong) expect(target.memory.highest).toBeLessThan(mostMemory);
});

/** Posts on the connection of an agent. */
function post(agent: Agent, signal: Signal, headers: Record<string, string>, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers };
    const sent = request(`http://${target.http}/v1/${signal}`, options, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    });
    sent.on("error", reject).end(body);
  });
}
