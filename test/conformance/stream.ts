import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { streamHolds } from "./stream-holding.ts";
import { streamIsAsItsModel } from "./stream-model.ts";
import { streamIsRead } from "./stream-reading.ts";
import { StreamScene, unlimited, type MakeStream } from "./stream-scene.ts";

/** What every stream does, whatever it is stored in. */
export function streamSuite(name: string, make: MakeStream): void {
  describe(name, () => {
    let scene: StreamScene;

    beforeEach(async () => {
      scene = await StreamScene.make(make);
    });

    afterEach(() => scene.clean());

    test("sequences count from 1 and follow the order of the calls", async () => {
      expect(await scene.append("a", "b", "c")).toEqual([1, 2, 3]);
      expect(await scene.append("d")).toEqual([4]);
    });

    test("the events of a push follow each other, and the answer is the sequence of the last", async () => {
      const pushes = [["a", "b", "c"], ["d"], ["e", "f"]];
      expect(await Promise.all(pushes.map((texts) => scene.push(texts)))).toEqual([3, 4, 6]);
      expect(await scene.texts(1)).toEqual(["1:a", "2:b", "3:c", "4:d", "5:e", "6:f"]);
    });

    test("a push without events stores nothing", async () => {
      expect(await scene.push([])).toBe(0);
      await scene.append("a");
      expect(await scene.push([])).toBe(1);
      await scene.reopen(0);
      expect(await scene.append("b")).toEqual([2]);
    });

    test("what was answered is there after the stream is opened again", async () => {
      await scene.push(["a", "b"]);
      await scene.reopen(0);
      expect(await scene.append("c")).toEqual([3]);
      expect(await scene.texts(1)).toEqual(["1:a", "2:b", "3:c"]);
    });

    test("an answer comes when the events can be read, and not before", async () => {
      const reader = scene.reader(0);
      const ready = scene.push(["a", "b"]);
      expect(scene.stream.state.last).toBe(0);
      reader.advance(await ready);
      expect(await reader.read(1, 10, 100)).toHaveLength(1);
      await reader.close();
    });

    test("sequences go on where they were when everything was trimmed", async () => {
      await scene.append("a", "b");
      await scene.stream.trim(2);
      await scene.reopen(2);
      expect(scene.stream.state).toEqual({ messages: 0, bytes: 0, first: 3, last: 2 });
      expect(await scene.append("c")).toEqual([3]);
      expect(await scene.texts(3)).toEqual(["3:c"]);
    });

    test("sequences never fall behind what is settled", async () => {
      await scene.append("a");
      await scene.reopen(7);
      expect(scene.stream.state).toEqual({ messages: 0, bytes: 0, first: 8, last: 7 });
      expect(await scene.append("b")).toEqual([8]);
    });

    test("closing lets what waits be stored, refuses what comes later, and is safe to repeat", async () => {
      const waiting = scene.append("a", "b");
      const closing = scene.stream.close();
      await expect(scene.append("c")).rejects.toMatchObject({ code: "STREAM_CLOSED", policy: "reject" });
      expect(await waiting).toEqual([1, 2]);
      await closing;
      await scene.stream.close();
      await scene.reopen(0, unlimited);
      expect(await scene.texts(1)).toEqual(["1:a", "2:b"]);
    });

    streamIsRead(() => scene);
    streamHolds(() => scene);
    streamIsAsItsModel(() => scene);
  });
}
