import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Stream, StreamLimits, StreamReader } from "../../engine/core/stream.ts";

export interface StreamUnderTest {
  /** Opens the same stream each time it is called; events up to `trimmed` are settled. */
  open(limits: StreamLimits, trimmed: number): Promise<Stream>;
  reader(end: number): StreamReader;
  /** Removes what the stream kept. */
  clean(): Promise<void>;
}

const unlimited: StreamLimits = { max_bytes: Infinity, max_msgs: Infinity };

/** What every stream does, whatever it is stored in. */
export function streamSuite(name: string, make: () => Promise<StreamUnderTest>): void {
  describe(name, () => {
    let made: StreamUnderTest;
    let stream: Stream;

    beforeEach(async () => {
      made = await make();
      stream = await made.open(unlimited, 0);
    });

    afterEach(async () => {
      await stream.close();
      await made.clean();
    });

    const append = (...texts: string[]): Promise<number[]> =>
      Promise.all(texts.map((text) => stream.append(Buffer.from(text), 1_000)));
    const reopen = async (trimmed: number, limits = unlimited): Promise<void> => {
      await stream.close();
      stream = await made.open(limits, trimmed);
    };
    const texts = async (position: number, limit = 100, maxBytes = 1 << 20): Promise<string[]> => {
      const reader = made.reader(stream.state.last);
      const events = await reader.read(position, limit, maxBytes);
      await reader.close();
      return events.map((event) => `${event.position}:${event.text}`);
    };

    test("sequences count from 1 and follow the order of the calls", async () => {
      expect(await append("a", "b", "c")).toEqual([1, 2, 3]);
      expect(await append("d")).toEqual([4]);
    });

    test("a reader sees the events from its position on, with the time they came", async () => {
      await append("a", "b", "c");
      expect(await texts(2)).toEqual(["2:b", "3:c"]);
      const reader = made.reader(3);
      expect((await reader.read(1, 1, 100))[0]!.receivedAt).toBe(1_000);
      await reader.close();
    });

    test("a reader stops at the limit of events and about the limit of bytes, and goes on from there", async () => {
      await append("aaaa", "bbbb", "cccc");
      expect(await texts(1, 2)).toEqual(["1:aaaa", "2:bbbb"]);
      expect(await texts(1, 100, 5)).toEqual(["1:aaaa", "2:bbbb"]);
    });

    test("a reader reads no further than it was told, and further when it is told more", async () => {
      await append("a", "b");
      const reader = made.reader(1);
      expect(await reader.read(1, 10, 100)).toHaveLength(1);
      expect(await reader.read(2, 10, 100)).toHaveLength(0);
      reader.advance(2);
      expect(await reader.read(2, 10, 100)).toHaveLength(1);
      await reader.close();
    });

    test("events larger than what is read ahead come back whole", async () => {
      const large = "x".repeat(3_000_000);
      await append("a", large, "b");
      expect(await texts(1, 10, 1 << 30)).toEqual(["1:a", `2:${large}`, "3:b"]);
    });

    test("what was answered is there after the stream is opened again", async () => {
      await append("a", "b");
      await reopen(0);
      expect(await append("c")).toEqual([3]);
      expect(await texts(1)).toEqual(["1:a", "2:b", "3:c"]);
    });

    test("sequences go on where they were when everything was trimmed", async () => {
      await append("a", "b");
      await stream.trim(2);
      await reopen(2);
      expect(stream.state).toMatchObject({ messages: 0, bytes: 0, first: 3, last: 2 });
      expect(await append("c")).toEqual([3]);
      expect(await texts(3)).toEqual(["3:c"]);
    });

    test("the state counts what is held", async () => {
      await append("a", "b", "c", "d");
      await stream.trim(1);
      expect(stream.state).toMatchObject({ messages: 3, first: 2, last: 4 });
      await stream.trim(1);
      expect(stream.state.messages).toBe(3);
    });

    test("a full stream refuses events by number, and takes them again after a trim", async () => {
      await reopen(0, { max_bytes: Infinity, max_msgs: 2 });
      await append("a", "b");
      await expect(append("c")).rejects.toMatchObject({ code: "STREAM_FULL", policy: "retry" });
      await stream.trim(1);
      expect(await append("c")).toEqual([3]);
    });

    test("a full stream refuses events by size", async () => {
      await reopen(0, { max_bytes: 100, max_msgs: Infinity });
      await append("a".repeat(50));
      await expect(append("b".repeat(50))).rejects.toMatchObject({ code: "STREAM_FULL" });
      await stream.trim(1);
      expect(await append("b".repeat(50))).toEqual([2]);
    });

    test("events that wait to be written count against the limit too", async () => {
      await reopen(0, { max_bytes: Infinity, max_msgs: 2 });
      const outcomes = await Promise.allSettled(["a", "b", "c"].map((text) => stream.append(Buffer.from(text), 0)));
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    });

    test("a released stream drops what is behind the position, keeps what is before it, and never reuses a sequence", async () => {
      await append("a", "b", "c", "d");
      await stream.release(2);
      expect(stream.state).toMatchObject({ messages: 2, last: 4 });
      expect(await append("e")).toEqual([5]);
      expect(await texts(1)).toEqual(["1:a", "2:b", "5:e"]);
      await reopen(0);
      expect(await texts(1)).toEqual(["1:a", "2:b", "5:e"]);
    });

    test.each([
      ["an empty stream", 0, 0],
      ["a stream of which everything is kept", 3, 3],
      ["a stream of which nothing is kept", 3, 0],
    ])("releasing %s leaves a stream that works", async (_title, count, kept) => {
      if (count > 0) await append("a", "b", "c");
      await stream.release(kept);
      expect(await append("e")).toEqual([count + 1]);
      expect(stream.state.messages).toBe(kept + 1);
    });

    test("a closed stream refuses events", async () => {
      await stream.close();
      await expect(append("a")).rejects.toMatchObject({ code: "STREAM_CLOSED" });
      stream = await made.open(unlimited, 0);
    });
  });
}
