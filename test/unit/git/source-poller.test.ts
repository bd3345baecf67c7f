import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SourcePoller } from "../../../reconciler/git/source-poller.ts";
import { SourceError } from "../../../reconciler/git/revision.ts";
import type { Revision, RevisionSource, SourceReason } from "../../../reconciler/git/revision.ts";

const signal = new AbortController().signal;
const newest: Revision = { id: "main@sha1:2", sha: "2", files: [], skipped: [] };
const good: Revision = { id: "main@sha1:1", sha: "1", files: [], skipped: [] };
const interval = 60_000;

/** A source that fails as it is told to, and counts how often it was asked. */
class FailingSource implements RevisionSource {
  readonly description = { kind: "git", url: "https://host/a.git", path: "." } as const;
  asked = 0;
  error: Error | undefined;

  fail(reason: SourceReason, retryAfter?: number): this {
    this.error = new SourceError(reason, reason, { retryAfter });
    return this;
  }

  fetch = async (): Promise<Revision> => {
    this.asked++;
    if (this.error !== undefined) throw this.error;
    return newest;
  };
  cached = async (): Promise<Revision | undefined> => good;
  close = async (): Promise<void> => undefined;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Looks until the source was asked `times` times more, and gives the waits in seconds, rounded. */
async function waits(poller: SourcePoller, times: number): Promise<number[]> {
  const seconds: number[] = [];
  for (let count = 0; count < times; count++) {
    await poller.poll(false, signal);
    const wait = poller.wait ?? -1;
    seconds.push(wait / 1000);
    vi.advanceTimersByTime(wait);
  }
  return seconds;
}

describe("a source that fails", () => {
  test("gives the last good revision, and why there is no newer one", async () => {
    const source = new FailingSource().fail("ConnectionRefused");
    expect(await new SourcePoller(source, interval).poll(false, signal)).toEqual({
      revision: good,
      error: source.error,
    });
  });

  test("is asked again after 1 s, 2 s, 4 s, … up to 5 min", async () => {
    const seconds = await waits(new SourcePoller(new FailingSource().fail("ServerError"), interval), 12);
    for (const [index, wait] of seconds.entries()) {
      const expected = Math.min(300, 2 ** index);
      expect(wait).toBeGreaterThanOrEqual(expected * 0.9);
      expect(wait).toBeLessThanOrEqual(expected * 1.1);
    }
  });

  test("is asked no later because somebody set the clock back", async () => {
    const poller = new SourcePoller(new FailingSource().fail("ServerError"), interval);
    await poller.poll(false, signal);
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(poller.wait).toBeLessThanOrEqual(1_100);
  });

  test.each<[SourceReason, number]>([
    ["RateLimited", 60],
    ["AuthenticationFailed", 60],
    ["SignatureMissing", 60],
    ["Redirected", 60],
  ])("with %s is not asked before the interval is over", async (reason, least) => {
    const [wait] = await waits(new SourcePoller(new FailingSource().fail(reason), interval), 1);
    expect(wait).toBe(least);
  });

  test("is left alone by turns that come by themselves, and asked by those that a person wants", async () => {
    const source = new FailingSource().fail("ConnectionRefused");
    const poller = new SourcePoller(source, interval);
    await poller.poll(false, signal);
    await poller.poll(false, signal);
    expect(source.asked).toBe(1);
    await poller.poll(true, signal);
    expect(source.asked).toBe(2);
  });

  test("is asked by nobody before the time that it named", async () => {
    const source = new FailingSource().fail("RateLimited", 120_000);
    const poller = new SourcePoller(source, interval);
    await poller.poll(true, signal);
    expect(poller.wait).toBe(120_000);
    vi.advanceTimersByTime(119_000);
    const began = Date.now() - 119_000;
    const { revision, error } = await poller.poll(true, signal);
    expect({ revision, error }).toEqual({ revision: good, error: source.error });
    expect(source.asked).toBe(1);
    const next = new Date(began + 120_000).toISOString();
    expect(poller.explained(error!).message).toBe(
      `RateLimited; the source is polled again at ${next}, and not before that, whoever asks`,
    );
    vi.advanceTimersByTime(1_000);
    source.error = undefined;
    expect(await poller.poll(false, signal)).toEqual({ revision: newest });
    expect(poller.wait).toBeUndefined();
  });
});
