import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ReadMemories, type SharedBytes, WrittenMemories } from "../../../engine/sources/otlp/decoding/messages.ts";

const MiB = 1024 * 1024;

function written(memories: WrittenMemories, text: string, size = text.length): SharedBytes {
  memories.take(size).write(text, "latin1");
  return memories.send(text.length);
}

test("a memory is sent once, and written again only when what it has was read", () => {
  const [from, to] = [new WrittenMemories(), new ReadMemories()];
  const first = written(from, "first");
  const second = written(from, "second");
  expect([first.memory, second.memory].map((memory) => memory?.byteLength)).toEqual([MiB / 4, MiB / 4]);
  const read = [first, second].map((sent) => to.read(sent).toString());
  from.release([first.id!]);
  const third = written(from, "third");
  expect(third).toEqual({ id: first.id, length: 5 });
  expect([...read, to.read(third).toString(), to.read({ ...second, memory: undefined } as never).toString()]).toEqual([
    "first",
    "second",
    "third",
    "second",
  ]);
});

test("what is very large, or more than is kept, is used once", () => {
  const from = new WrittenMemories();
  expect(written(from, "x", 8 * MiB)).toEqual({ memory: expect.any(SharedArrayBuffer) as object, length: 1 });
  const kept = Array.from({ length: 10 }, () => written(from, "x", 4 * MiB).id);
  expect(kept.filter((id) => id !== undefined)).toHaveLength(8);
});

test("one that grows while it is written takes no more memories", () => {
  const from = new WrittenMemories();
  for (const size of [10, 20, MiB, 2 * MiB]) from.take(size);
  const { id } = from.send(3);
  from.release([id!, 17]);
  expect(written(from, "again", 2 * MiB)).toEqual({ id, length: 5 });
});

test("bytes of a thread that is not known are refused", () => {
  expect(() => new ReadMemories().read({ id: 3, length: 1 })).toThrow("memory 3 of another thread");
});

test("whatever is sent and read in any order, what is read is what was sent", () => {
  const act = fc.oneof(
    fc.record({
      kind: fc.constant("send" as const),
      size: fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(MiB, 3 * MiB, 9 * MiB)),
    }),
    fc.record({ kind: fc.constant("read" as const), at: fc.nat({ max: 30 }) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const [from, to] = [new WrittenMemories(), new ReadMemories()];
      const open: { bytes: Buffer; text: string; id: number | undefined }[] = [];
      for (const [index, one] of acts.entries()) {
        if (one.kind === "send") {
          const text = `text ${index}`;
          const sent = written(from, text, Math.max(one.size, text.length));
          open.push({ bytes: to.read(sent), text, id: sent.id });
        } else if (open.length > 0) {
          const [read] = open.splice(one.at % open.length, 1);
          if (read?.id !== undefined) from.release([read.id]);
        }
        for (const { bytes, text } of open) expect(bytes.toString()).toBe(text);
      }
    }),
  );
});
