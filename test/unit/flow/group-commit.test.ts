import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Group, GroupCommit, type GroupCommitOptions } from "../../../engine/flow/group-commit.ts";
import { Mutex } from "../../../engine/flow/mutex.ts";

const moment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A file whose writes take until the test ends them. */
class SlowFile {
  readonly written: string[][] = [];
  readonly commits: GroupCommit<string, string>;
  #ends: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(options: Partial<GroupCommitOptions<string, string>> = {}) {
    this.commits = new GroupCommit<string, string>({ write: (group) => this.#write(group), ...options });
  }

  /** Adds items; resolves with what became of each. */
  add(...items: string[]): Promise<string[]> {
    const answers = items.map((item) => this.commits.add(item).catch((error: Error) => error.message));
    return Promise.all(answers);
  }

  async end(error?: Error): Promise<void> {
    const end = this.#ends.shift()!;
    if (error === undefined) end.resolve();
    else end.reject(error);
    await moment();
  }

  async #write(group: Group<string, string>): Promise<void> {
    this.written.push([...group.items]);
    await new Promise<void>((resolve, reject) => this.#ends.push({ resolve, reject }));
    group.resolve((item) => `${item} is durable`);
  }
}

test("what is added while a write is under way shares the next one", async () => {
  const file = new SlowFile();
  const first = file.add("a", "b", "c");
  expect(file.written).toEqual([["a"]]);
  const second = file.add("d");
  await file.end();
  expect(file.written).toEqual([["a"], ["b", "c", "d"]]);
  const third = file.add("e");
  await file.end();
  await file.end();
  expect(file.written).toEqual([["a"], ["b", "c", "d"], ["e"]]);
  expect(await first).toEqual(["a is durable", "b is durable", "c is durable"]);
  expect([await second, await third]).toEqual([["d is durable"], ["e is durable"]]);
  expect(file.commits.isIdle).toBe(true);
});

test("nothing is answered before its write has ended", async () => {
  const file = new SlowFile();
  let isAnswered = false;
  const answer = file.add("a").then(() => (isAnswered = true));
  await moment();
  expect([isAnswered, file.commits.isIdle]).toEqual([false, false]);
  await file.end();
  await answer;
});

test("a write that fails answers its group with the error, and the next group is written", async () => {
  const file = new SlowFile();
  const first = file.add("a");
  const second = file.add("b", "c");
  await file.end(new Error("EIO"));
  expect(await first).toEqual(["EIO"]);
  expect(file.written).toEqual([["a"], ["b", "c"]]);
  await file.end();
  expect(await second).toEqual(["b is durable", "c is durable"]);
});

test("what follows from a write that failed fails with it, up to the first that does not follow", async () => {
  const file = new SlowFile({ follows: (item) => !item.startsWith("whole") });
  const answers = file.add("a", "b", "whole c", "d");
  await file.end(new Error("EIO"));
  expect(file.written).toEqual([["a"], ["whole c", "d"]]);
  await file.end();
  expect(await answers).toEqual(["EIO", "EIO", "whole c is durable", "d is durable"]);
});

test("all that waits fails where all of it follows", async () => {
  const file = new SlowFile({ follows: () => true });
  const answers = file.add("a", "b", "c");
  await file.end(new Error("EIO"));
  expect(await answers).toEqual(["EIO", "EIO", "EIO"]);
  expect([file.written, file.commits.isIdle]).toEqual([[["a"]], true]);
});

test("a group ends with the item that brings it to its limit, and holds one that is larger", async () => {
  const file = new SlowFile({ size: { sizeOf: ({ length }) => length, limit: 4 } });
  void file.add("first", "xx", "yy", "zz", "much too long", "x");
  for (let times = 0; times < 4; times += 1) await file.end();
  expect(file.written).toEqual([["first"], ["xx", "yy"], ["zz", "much too long"], ["x"]]);
});

test("a group may be answered after the next one was begun", async () => {
  const held: Group<number, string>[] = [];
  const commits = new GroupCommit<number, string>({ write: async (group) => void held.push(group) });
  const answers = [commits.add(1), commits.add(2)];
  await moment();
  expect(held.map(({ items }) => items)).toEqual([[1], [2]]);
  held[1]!.resolve(String);
  held[0]!.reject(new Error("lost"));
  await expect(answers[0]).rejects.toThrow("lost");
  expect(await answers[1]).toBe("2");
});

test("writes wait for their turn; what a flush has taken in its turn is not written again", async () => {
  const mutex = new Mutex();
  const said: string[] = [];
  const commits = new GroupCommit<number>({
    write: async (group) => {
      said.push(`writes ${group.items.join(" ")}`);
      await moment();
      group.resolve(() => undefined);
    },
    inTurn: (write) => mutex.run(write),
  });
  const work = mutex.run(async () => {
    await moment();
    said.push("flushes");
    await commits.flush();
    said.push("flushed");
  });
  await Promise.all([commits.add(1), commits.add(2)]);
  await work;
  await commits.add(3);
  expect(said).toEqual(["flushes", "writes 1 2", "flushed", "writes 3"]);
});

test("it says when nothing waits any more, and writes nothing before that is done", async () => {
  const said: string[] = [];
  let third: Promise<void> | undefined;
  const commits: GroupCommit<number> = new GroupCommit<number>({
    write: async (group) => {
      said.push(`writes ${group.items.join(" ")}`);
      await moment();
      group.resolve(() => undefined);
    },
    idle: async () => {
      said.push("idle");
      if (said.length === 3) third = commits.add(3);
      await moment();
      said.push("closed");
    },
  });
  await Promise.all([commits.add(1), commits.add(2)]);
  await moment();
  await third;
  await moment();
  await moment();
  expect(said).toEqual(["writes 1", "writes 2", "idle", "closed", "writes 3", "idle", "closed"]);
});

test("whatever fails, each item is answered once, and written in the order in which it was added", async () => {
  const step = fc.record({ items: fc.nat({ max: 4 }), fails: fc.boolean(), moments: fc.nat({ max: 2 }) });
  const property = fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (play) => {
    const written: number[] = [];
    let fails = false;
    const commits = new GroupCommit<number, number>({
      write: async (group) => {
        written.push(...group.items);
        await moment();
        if (fails) throw new Error("EIO");
        group.resolve((item) => item);
      },
      size: { sizeOf: () => 1, limit: 3 },
    });
    const answers: Promise<number | Error>[] = [];
    for (const { items, moments, ...next } of play) {
      ({ fails } = next);
      for (let left = items; left > 0; left -= 1) {
        answers.push(commits.add(answers.length).catch((error: Error) => error));
      }
      for (let left = moments; left > 0; left -= 1) await moment();
    }
    const answered = await Promise.all(answers);
    await moment();
    expect(written).toEqual(answered.map((_answer, index) => index));
    expect(answered.every((answer, index) => answer === index || answer instanceof Error)).toBe(true);
    expect(commits.isIdle).toBe(true);
  });
  await fc.assert(property, { numRuns: 100 });
});

test("an item that nobody waits for is not written, nor counted for the size of its group", async () => {
  const gone = new Set<string>();
  const missed: string[] = [];
  const file = new SlowFile({
    size: { sizeOf: () => 1, limit: 2 },
    patience: { most: Infinity, isGone: (item) => gone.has(item), missed: (item) => missed.push(item) },
  });
  const answers = file.add("a", "b", "c", "d", "e");
  gone.add("b").add("d");
  await file.end();
  expect(file.written).toEqual([["a"], ["c", "e"]]);
  await file.end();
  expect(await answers).toEqual([
    "a is durable",
    expect.stringContaining("the sender has gone"),
    "c is durable",
    expect.stringContaining("the sender has gone"),
    "e is durable",
  ]);
  expect([missed, file.commits.isIdle]).toEqual([["b", "d"], true]);
});

test("where all that waits has gone, the next item is written", async () => {
  const gone = new Set<string>();
  const file = new SlowFile({
    patience: { most: Infinity, isGone: (item) => gone.has(item), missed: () => undefined },
  });
  const answers = file.add("a", "b");
  gone.add("b");
  await file.end();
  expect([file.written, file.commits.isIdle]).toEqual([[["a"]], true]);
  const last = file.add("c");
  await file.end();
  expect(await answers).toEqual(["a is durable", expect.stringContaining("the sender has gone")]);
  expect(await last).toEqual(["c is durable"]);
});
