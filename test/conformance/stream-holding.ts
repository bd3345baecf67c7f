import { describe, expect, test } from "vitest";
import { unlimited, type StreamScene } from "./stream-scene.ts";

const large = 60_000;

/** What every stream holds: its limits, and what takes events out of it. */
export function streamHolds(theScene: () => StreamScene): void {
  describe("the limits of a stream", () => {
    test("a full stream refuses events by number, and takes them again after a trim", async () => {
      const scene = theScene();
      await scene.reopen(0, { ...unlimited, max_msgs: 3 });
      await scene.push(["a", "b"]);
      await expect(scene.push(["c", "d"])).rejects.toMatchObject({ code: "STREAM_FULL", policy: "retry" });
      expect(await scene.push(["c"])).toBe(3);
      await scene.stream.trim(2);
      expect(await scene.push(["d", "e"])).toBe(5);
      expect(scene.stream.state.messages).toBe(3);
    });

    test("a full stream refuses events by size", async () => {
      const scene = theScene();
      await scene.reopen(0, { ...unlimited, max_bytes: 100_000 });
      await scene.append("a".repeat(large));
      await expect(scene.append("b".repeat(large))).rejects.toMatchObject({ code: "STREAM_FULL", policy: "retry" });
      await scene.stream.trim(1);
      expect(await scene.append("b".repeat(large))).toEqual([2]);
    });

    test("events that wait to be written count against the limits too", async () => {
      const scene = theScene();
      await scene.reopen(0, { ...unlimited, max_msgs: 2 });
      const outcomes = await Promise.allSettled(["a", "b", "c"].map((text) => scene.push([text])));
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    });

    test.each([
      ["events", { ...unlimited, max_msgs: 3 }, ["a", "b", "c", "d"], "max_msgs (3)"],
      ["bytes", { ...unlimited, max_bytes: 100_000 }, ["a".repeat(large), "b".repeat(large)], "max_bytes (100000)"],
    ])("a push with more %s than the stream ever holds is refused for good", async (_title, limits, texts, named) => {
      const scene = theScene();
      await scene.reopen(0, limits);
      const refusal = { code: "PUSH_TOO_LARGE", policy: "reject", message: expect.stringContaining(named) };
      await expect(scene.push(texts)).rejects.toMatchObject(refusal);
      expect(await scene.push(texts.slice(0, 1))).toBe(1);
      await expect(scene.push(texts)).rejects.toMatchObject(refusal);
      expect(await scene.texts(1)).toEqual([`1:${texts[0]}`]);
    });

    test("what was refused takes no room and no sequence", async () => {
      const scene = theScene();
      await scene.reopen(0, { ...unlimited, max_msgs: 2 });
      await scene.push(["a"]);
      for (let turn = 0; turn < 10; turn += 1) await expect(scene.push(["b", "c"])).rejects.toThrow("full");
      expect(await scene.push(["d"])).toBe(2);
      expect(await scene.texts(1)).toEqual(["1:a", "2:d"]);
    });
  });

  describe("what a stream holds", () => {
    test("the state counts it, also where a push is trimmed in part", async () => {
      const scene = theScene();
      await scene.push(["a", "b", "c"]);
      await scene.append("d");
      await scene.stream.trim(2);
      expect(scene.stream.state).toMatchObject({ messages: 2, first: 3, last: 4 });
      await scene.stream.trim(1);
      expect(scene.stream.state.messages).toBe(2);
      await scene.reopen(2);
      expect(scene.stream.state).toMatchObject({ messages: 2, first: 3, last: 4 });
      expect(scene.stream.state.bytes).toBeGreaterThan(0);
      expect(await scene.texts(3)).toEqual(["3:c", "4:d"]);
    });

    test("a release drops what is behind the position, keeps what is before it, and never reuses a sequence", async () => {
      const scene = theScene();
      await scene.append("a", "b", "c", "d");
      await scene.stream.release(2);
      expect(scene.stream.state).toMatchObject({ messages: 2, first: 1, last: 4 });
      expect(await scene.append("e")).toEqual([5]);
      expect(await scene.texts(1)).toEqual(["1:a", "2:b", "5:e"]);
      await scene.reopen(0);
      expect(scene.stream.state).toMatchObject({ messages: 3, first: 1, last: 5 });
      expect(await scene.texts(1)).toEqual(["1:a", "2:b", "5:e"]);
      expect(await scene.texts(3)).toEqual(["5:e"]);
    });

    test.each([1, 2, 3, 4, 5, 6])("a release within pushes keeps exactly the events up to %d", async (kept) => {
      const scene = theScene();
      await scene.push(["a", "b", "c"], 1, "logs");
      await scene.push(["d", "e", "f"], 2, "traces");
      await scene.stream.release(kept);
      const left = ["1:a", "2:b", "3:c", "4:d", "5:e", "6:f"].slice(0, kept);
      expect(scene.stream.state).toMatchObject({ messages: kept, first: 1, last: 6 });
      expect(await scene.texts(1)).toEqual(left);
      await scene.push(["g"]);
      await scene.reopen(0);
      expect(scene.stream.state).toMatchObject({ messages: kept + 1, first: 1, last: 7 });
      expect(await scene.texts(1)).toEqual([...left, "7:g"]);
      await scene.stream.trim(kept);
      expect(scene.stream.state.messages).toBe(1);
      expect(await scene.texts(7)).toEqual(["7:g"]);
    });

    test.each([
      ["an empty stream", 0, 0],
      ["a stream of which everything is kept", 3, 3],
      ["a stream of which nothing is kept", 3, 0],
    ])("releasing %s leaves a stream that works, and may be repeated", async (_title, count, kept) => {
      const scene = theScene();
      if (count > 0) await scene.append("a", "b", "c");
      await scene.stream.release(kept);
      await scene.stream.release(kept);
      expect(await scene.append("e")).toEqual([count + 1]);
      expect(scene.stream.state.messages).toBe(kept + 1);
    });

    test("the front that is older than a time ends before the first younger push", async () => {
      const scene = theScene();
      await scene.push(["a", "b"], 100);
      await scene.push(["c"], 200);
      await scene.push(["d", "e"], 300);
      await scene.push(["f"], 250);
      const { stream } = scene;
      expect((await stream.olderThan(100)).count).toBe(0);
      expect(await stream.olderThan(101)).toEqual({ count: 2, last: 2 });
      expect(await stream.olderThan(300)).toEqual({ count: 3, last: 3 });
      expect(await stream.olderThan(301)).toEqual({ count: 6, last: 6 });
      await scene.reopen(0);
      expect(await scene.stream.olderThan(299)).toEqual({ count: 3, last: 3 });
    });

    test("only what is held counts as old", async () => {
      const scene = theScene();
      await scene.push(["a", "b", "c"], 100);
      await scene.push(["d"], 200);
      await scene.push(["e", "f", "g", "h"], 100);
      await scene.stream.trim(2);
      expect(await scene.stream.olderThan(101)).toEqual({ count: 1, last: 3 });
      await scene.stream.trim(4);
      expect(await scene.stream.olderThan(101)).toEqual({ count: 4, last: 8 });
      await scene.stream.release(6);
      expect(await scene.stream.olderThan(101)).toEqual({ count: 2, last: 6 });
      await scene.stream.trim(8);
      expect((await scene.stream.olderThan(101)).count).toBe(0);
    });
  });
}
