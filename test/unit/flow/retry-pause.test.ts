import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { type Pause, waysOut } from "../../../engine/core/pause.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";

let pauses: Pause[];
let ended: number;
let room: RetryPause;
const patient = new AbortController().signal;
const start = Date.parse("2026-01-01T00:00:00Z");

const pace = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
const passed = (): number => (Date.now() - start) / 1000;

beforeEach(() => {
  vi.useFakeTimers({ now: start });
  [pauses, ended] = [[], 0];
  const telemetry = {
    paused: ({ pause }: { pause: Pause }) => void pauses.push(pause),
    pauseEnded: () => void (ended += 1),
  } as unknown as Telemetry;
  room = new RetryPause("p", telemetry, pace);
});
afterEach(() => void vi.useRealTimers());

/** A promise, and what resolves it. */
function open<Result>(): { promise: Promise<Result>; resolve: (result: Result) => void } {
  let resolve!: (result: Result) => void;
  return { promise: new Promise<Result>((settle) => (resolve = settle)), resolve };
}

describe("an answer that does not come", () => {
  test("is no pause for ten seconds, and then one since it was asked for", async () => {
    const answer = open<string>();
    const waiting = room.answerOf("an insert of 5 rows", answer.promise);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(pauses).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const since = new Date(start).toISOString();
    expect(pauses).toMatchObject([
      { class: "transient", since, text: `no answer yet to an insert of 5 rows, sent at ${since}` },
    ]);
    answer.resolve("ok");
    expect(await waiting).toBe("ok");
    room.leave();
    expect(ended).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is a pause also while others are answered", async () => {
    const answer = open<string>();
    const waiting = room.answerOf("an insert of 5 rows", answer.promise);
    await vi.advanceTimersByTimeAsync(10_000);
    await room.answerOf("an insert of 7 rows", Promise.resolve("ok"));
    room.leave();
    expect([pauses.length, ended]).toEqual([1, 0]);
    answer.resolve("ok");
    await waiting;
    room.leave();
    expect(ended).toBe(1);
  });

  test("that comes in time leaves nothing behind", async () => {
    await room.answerOf("an insert of 5 rows", Promise.resolve("ok"));
    await expect(room.answerOf("an insert of 5 rows", Promise.reject(new Error("no")))).rejects.toThrow("no");
    await vi.advanceTimersByTimeAsync(60_000);
    expect([pauses.length, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

test("a pause names the way out of its class, unless what failed names another", async () => {
  const waits = [
    room.wait({ class: "source", text: "no file" }, 1, patient),
    room.wait({ class: "lost", text: "the file was cut", way_out: "restore the file" }, 1, patient),
  ];
  await vi.advanceTimersByTimeAsync(1_000);
  await Promise.all(waits);
  expect(pauses.map(({ way_out }) => way_out)).toEqual([waysOut.source, "restore the file"]);
});

/** The longest wait, before attempt 21: when it ended, in seconds from now, as `isReachable` says from each second on. */
async function waited(
  connection: "none" | "lost" | undefined,
  isReachable: (seconds: number) => boolean,
): Promise<number> {
  const failure = {
    class: "transient",
    text: "no answer",
    ...(connection === undefined ? {} : { connection }),
  } as const;
  let [end, asked] = [0, 0];
  const ask = (): Promise<boolean> => ((asked += 1), Promise.resolve(isReachable(passed())));
  const waits = [1, 2].map(() => room.wait(failure, 20, patient, ask).then(() => (end = passed())));
  await vi.advanceTimersByTimeAsync(60_000);
  await Promise.all(waits);
  // One asks for all that wait, once in one or two seconds.
  expect(asked).toBeLessThanOrEqual(end + 1);
  expect(vi.getTimerCount()).toBe(0);
  return end;
}

describe("a wait for the network", () => {
  test("is over within two seconds after the server answers again", async () => {
    const end = await waited("none", (seconds) => seconds >= 20);
    expect(end).toBeGreaterThanOrEqual(20);
    expect(end).toBeLessThanOrEqual(22);
  });

  test("is not cut short by a server that answers all the time, where a connection was lost", async () => {
    expect(await waited("lost", () => true)).toBeGreaterThanOrEqual(30);
  });

  test("is cut short where a connection was lost, and the server was gone meanwhile", async () => {
    expect(await waited("lost", (seconds) => seconds >= 10)).toBeLessThanOrEqual(12);
  });

  test("goes its whole time while the server stays away", async () => {
    expect(await waited("none", () => false)).toBeGreaterThanOrEqual(30);
  });

  test("ends when it is given up", async () => {
    const controller = new AbortController();
    const wait = room.wait(
      { class: "transient", text: "", connection: "none" },
      20,
      controller.signal,
      async () => false,
    );
    await vi.advanceTimersByTimeAsync(3_000);
    controller.abort();
    await wait;
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a wait for something else asks nothing", async () => {
  const asked: number[] = [];
  await waited(undefined, (seconds) => asked.push(seconds) > 0);
  expect(asked).toEqual([]);
});
