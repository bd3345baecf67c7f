import { Worker } from "node:worker_threads";
import { once } from "node:events";
import { Readable } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AnswerRoom, ofAllClients, processRoom, SharedRoom } from "../../../engine/peers/answer-room.ts";
import { readAnswer } from "../../../engine/sinks/clickhouse/transport/client.ts";
import { Answers, longestAnswer } from "../../../engine/sources/kafka/brokers/answers.ts";
import { int32 } from "../../support/kafka/wire-bytes.ts";

const mebi = 1024 * 1024;
const lengths = { shortest: 4, longest: longestAnswer };
const given: ((() => void) | undefined)[] = [];

afterEach(() => {
  for (const give of given.splice(0)) give?.();
});

/** Takes room until the end of the test. */
function taken(room: AnswerRoom, bytes: number): (() => void) | undefined {
  const give = room.take(bytes);
  given.push(give);
  return give;
}

test("a client has room for what it asks for, whatever the peers of others send; what is longer takes it from all", () => {
  const [greedy, modest] = [new AnswerRoom(), new AnswerRoom()];
  expect(taken(greedy, 16 * mebi)).toBeDefined();
  const long = taken(greedy, ofAllClients - mebi);
  expect(long).toBeDefined();
  expect(taken(greedy, 2 * mebi)).toBeUndefined();
  const own = taken(modest, 10 * mebi);
  expect(own).toBeDefined();
  expect(taken(modest, 10 * mebi)).toBeUndefined();
  // Short ones need none.
  expect(taken(modest, mebi)).toBeDefined();
  long?.();
  long?.();
  expect(taken(modest, 10 * mebi)).toBeDefined();
  expect(taken(greedy, ofAllClients)).toBeUndefined();
});

test("the room is one for all threads of the process", async () => {
  const take = `require("node:worker_threads").workerData.taken[0] = 0;`;
  const cells = new Int32Array(processRoom());
  Atomics.add(cells, 0, ofAllClients / 1024);
  expect(new AnswerRoom().take(17 * mebi)).toBeUndefined();
  const worker = new Worker(take, { eval: true, workerData: { taken: cells } });
  await once(worker, "exit");
  expect(taken(new AnswerRoom(), 17 * mebi)).toBeDefined();
  expect(new SharedRoom(processRoom()).take(ofAllClients / 1024)).toBe(false);
});

describe("an answer of Kafka for which there is no room", () => {
  test("waits with what follows it, and is whole once there is some", () => {
    const [others, answers] = [new AnswerRoom(), new Answers(new AnswerRoom())];
    const give = taken(others, ofAllClients);
    const whole = Buffer.concat([int32(20 * mebi), Buffer.alloc(20 * mebi, 7), int32(4), Buffer.from("next")]);
    const take = vi.fn<(answer: Buffer) => void>();
    answers.read(whole.subarray(0, 10), lengths, take);
    expect(answers.waiting).toBe(20 * mebi);
    answers.read(whole.subarray(10, 100), lengths, take);
    answers.goOn(lengths, take);
    expect([answers.waiting, take.mock.calls]).toEqual([20 * mebi, []]);
    give?.();
    answers.goOn(lengths, take);
    expect(answers.waiting).toBeUndefined();
    answers.read(whole.subarray(100), lengths, take);
    expect(take.mock.calls.map(([answer]) => answer.length)).toEqual([20 * mebi + 4, 8]);
    expect(take.mock.calls[0]![0].equals(whole.subarray(0, 20 * mebi + 4))).toBe(true);
    // What they took is given back.
    expect(taken(others, ofAllClients)).toBeDefined();
  });

  test("of a connection that ends takes none any more", () => {
    const answers = new Answers(new AnswerRoom());
    answers.read(Buffer.concat([int32(200 * mebi), Buffer.alloc(1_000)]), lengths, () => undefined);
    expect(new AnswerRoom().take(100 * mebi)).toBeUndefined();
    answers.drop();
    answers.drop();
    expect(taken(new AnswerRoom(), ofAllClients)).toBeDefined();
  });
});

test("an answer of ClickHouse for which there is no room is none", async () => {
  const [others, own] = [new AnswerRoom(), new AnswerRoom()];
  const long = (): Readable => Readable.from([Buffer.alloc(mebi), Buffer.alloc(mebi, "a")]);
  const give = taken(others, ofAllClients);
  expect((await readAnswer(long(), own)).length).toBe(2 * mebi);
  const first = taken(own, 10 * mebi);
  await expect(readAnswer(long(), own)).rejects.toThrow("there is no room for a long answer");
  first?.();
  give?.();
  expect((await readAnswer(long(), own)).length).toBe(2 * mebi);
});
