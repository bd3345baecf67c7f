import { expect, test } from "vitest";
import { StartQueue } from "../../../engine/workers/start-queue.ts";

const { signal: never } = new AbortController();
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A queue of two at once; `begun` has those whose turn it was. */
function queued(needed: ReadonlySet<string>): { queue: StartQueue; begun: string[]; ask: (id: string) => void } {
  const queue = new StartQueue(2, (id) => needed.has(id));
  const begun: string[] = [];
  const ask = (id: string): void => void queue.turn(id, never).then(() => begun.push(id));
  return { queue, begun, ask };
}

test("a few start at once, the others when one is done, in their order", async () => {
  const { queue, begun, ask } = queued(new Set());
  for (const id of ["a", "b", "c", "d"]) ask(id);
  await settled();
  expect(begun).toEqual(["a", "b"]);
  queue.done();
  await settled();
  expect(begun).toEqual(["a", "b", "c"]);
  queue.done();
  queue.done();
  queue.done();
  await settled();
  ask("e");
  ask("f");
  await settled();
  expect(begun).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("those that have something to do are first, also when it comes while they wait", async () => {
  const needed = new Set<string>();
  const { queue, begun, ask } = queued(needed);
  for (const id of ["a", "b", "c", "d", "e"]) ask(id);
  needed.add("e");
  queue.done();
  await settled();
  expect(begun).toEqual(["a", "b", "e"]);
});

test("one that is ended while it waits has no turn, and takes none from the others", async () => {
  const { queue, begun, ask } = queued(new Set());
  const over = new AbortController();
  ask("a");
  ask("b");
  const turn = queue.turn("c", over.signal);
  ask("d");
  over.abort();
  expect(await turn).toBe(false);
  expect(await queue.turn("e", over.signal)).toBe(false);
  queue.done();
  await settled();
  expect(begun).toEqual(["a", "b", "d"]);
});
