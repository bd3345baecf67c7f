import { describe, expect, test } from "vitest";
import type { StreamReader } from "../../engine/core/stream.ts";
import { textsOf, type StreamScene } from "./stream-scene.ts";

/** The reading side of every stream. */
export function streamIsRead(theScene: () => StreamScene): void {
  describe("a reader", () => {
    test("sees the events from its position on, with the time they came", async () => {
      const scene = theScene();
      await scene.append("a", "b");
      await scene.push(["c", "d"], 2_000);
      expect(await scene.texts(2)).toEqual(["2:b", "3:c", "4:d"]);
      const reader = scene.reader();
      const [run] = await reader.read(2, 2, 100);
      expect(run!.events.map(({ receivedAt }) => receivedAt)).toEqual([1_000, 2_000]);
      await reader.close();
    });

    test("gives each of several reads at once its own events", async () => {
      const scene = theScene();
      await scene.append("a", "b", "c", "d", "e", "f");
      const reader = scene.reader();
      const reads = [5, 1, 3, 1].map((position) => textsOf(reader, position, 2));
      expect(await Promise.all(reads)).toEqual([
        ["5:e", "6:f"],
        ["1:a", "2:b"],
        ["3:c", "4:d"],
        ["1:a", "2:b"],
      ]);
      await reader.close();
    });

    test("stops at the limit of events, also within a push, and goes on from there", async () => {
      const scene = theScene();
      await scene.push(["a", "b", "c", "d", "e"]);
      await scene.push(["f", "g"]);
      const reader = scene.reader();
      expect(await textsOf(reader, 1, 2)).toEqual(["1:a", "2:b"]);
      expect(await textsOf(reader, 3, 2)).toEqual(["3:c", "4:d"]);
      expect(await textsOf(reader, 5, 2)).toEqual(["5:e", "6:f"]);
      expect(await textsOf(reader, 7, 2)).toEqual(["7:g"]);
      await reader.close();
    });

    test("stops at about the limit of bytes, with one event at least", async () => {
      const scene = theScene();
      await scene.append("aaaa", "bbbb", "cccc");
      await scene.push(["dddd", "eeee", "ffff"]);
      expect(await scene.texts(1, 100, 5)).toEqual(["1:aaaa", "2:bbbb"]);
      expect(await scene.texts(4, 100, 5)).toEqual(["4:dddd", "5:eeee"]);
      expect(await scene.texts(6, 100, 1)).toEqual(["6:ffff"]);
    });

    test("reads no further than it was told, and further when it is told more", async () => {
      const scene = theScene();
      await scene.append("a", "b");
      const reader = scene.reader(1);
      expect(await textsOf(reader, 1)).toEqual(["1:a"]);
      expect(await textsOf(reader, 2)).toEqual([]);
      reader.advance(2);
      expect(await textsOf(reader, 2)).toEqual(["2:b"]);
      await reader.close();
    });

    test("gets large events, and large pushes, whole", async () => {
      const scene = theScene();
      const large = "x".repeat(3_000_000);
      const many = Array.from({ length: 20_000 }, (_, index) => `event ${index} ${"y".repeat(100)}`);
      await scene.append("a", large, "b");
      await scene.push(many);
      expect(await scene.texts(1, 4)).toEqual(["1:a", `2:${large}`, "3:b", `4:${many[0]}`]);
      expect(await scene.texts(4, 20_000)).toEqual(many.map((text, index) => `${index + 4}:${text}`));
    });

    test("hands out runs of events whose pushes had one signal", async () => {
      const scene = theScene();
      await scene.push(["a", "b"], 1, "logs");
      await scene.push(["c"], 2, "logs");
      await scene.push(["d"], 3, "traces");
      await scene.push(["e"], 4, "metrics");
      await scene.push(["f"], 5);
      await scene.push(["g"], 6, "logs");
      const reader = scene.reader();
      const runs = await reader.read(2, 100, 100);
      const brief = runs.map(({ signal, events }) => [signal, events.map(({ text }) => text).join("")]);
      expect(brief).toEqual([
        ["logs", "bc"],
        ["traces", "d"],
        ["metrics", "e"],
        [undefined, "f"],
        ["logs", "g"],
      ]);
      await reader.close();
    });

    test("reads forwards and backwards, within a push and over several", async () => {
      const scene = theScene();
      for (let push = 0; push < 50; push += 1) await scene.push(["a", "b", "c"].map((text) => `${text}${push}`));
      const reader = scene.reader();
      const at = async (position: number): Promise<string> => (await textsOf(reader, position, 1))[0]!;
      const found: string[] = [];
      for (const position of [100, 2, 149, 1, 3, 75, 74, 76]) found.push(await at(position));
      expect(found).toEqual(["100:a33", "2:b0", "149:b49", "1:a0", "3:c0", "75:c24", "74:b24", "76:a25"]);
      await reader.close();
    });

    test("reads while events are appended and trimmed: each once, in order", async () => {
      const scene = theScene();
      const count = 600;
      const reader = scene.reader(0);
      const writing = writeAll(scene, count, reader);
      const seen: string[] = [];
      while (seen.length < count) {
        const read = await textsOf(reader, seen.length + 1, 50);
        seen.push(...read);
        if (seen.length > 200) await scene.stream.trim(seen.length - 200);
        if (read.length === 0) await writing.next();
      }
      expect(seen).toEqual(Array.from({ length: count }, (_, index) => `${index + 1}:event ${index}`));
      await reader.close();
    });

    test("in the past of a trim comes to an event that is held, and misses none of those", async () => {
      const scene = theScene();
      const early = scene.reader(0);
      await scene.append("a", "b");
      await scene.reopen(0);
      await scene.append("c", "d");
      await scene.stream.trim(3);
      await scene.append("e");
      early.advance(5);
      for (const reader of [early, scene.reader()]) {
        const texts = await textsOf(reader, 1);
        expect(texts.slice(-2)).toEqual(["4:d", "5:e"]);
        await reader.close();
      }
    });
  });
}

/** Appends events one by one and tells a reader of each; `next` resolves when it was told of another. */
function writeAll(scene: StreamScene, count: number, reader: StreamReader): { next: () => Promise<unknown> } {
  let latest: Promise<unknown> = Promise.resolve();
  const write = async (): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const stored = scene.append(`event ${index}`);
      latest = stored;
      reader.advance((await stored)[0]!);
    }
  };
  void write();
  return { next: () => latest };
}
