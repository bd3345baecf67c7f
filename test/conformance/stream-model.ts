import { expect, test } from "vitest";
import type { Signal } from "../../engine/core/push.ts";
import { Random } from "../support/random.ts";
import type { StreamScene } from "./stream-scene.ts";

interface Held {
  position: number;
  text: string;
  receivedAt: number;
  signal: Signal | undefined;
}

/** What a stream should hold after the same calls. */
class StreamModel {
  held: Held[] = [];
  last = 0;
  trimmed = 0;

  push(texts: readonly string[], receivedAt: number, signal: Signal | undefined): void {
    for (const text of texts) this.held.push({ position: (this.last += 1), text, receivedAt, signal });
  }

  trim(position: number): void {
    this.trimmed = Math.max(this.trimmed, position);
    this.held = this.held.filter((event) => event.position > this.trimmed);
  }

  release(position: number): void {
    this.held = this.held.filter((event) => event.position <= position);
  }

  olderThan(time: number): { count: number; last: number | undefined } {
    const young = this.held.findIndex(({ receivedAt }) => receivedAt >= time);
    const count = young === -1 ? this.held.length : young;
    return { count, last: this.held[count - 1]?.position };
  }
}

/** More than the calls bring, and little: where a stream is cut in pieces, there are several. */
const small = { max_bytes: 8 * 1024 * 1024, max_msgs: Infinity };

/** A stream and its model, through calls that a seed decides. */
export function streamIsAsItsModel(theScene: () => StreamScene): void {
  const isAsItsModel = async (seed: number): Promise<void> => {
    const scene = theScene();
    const model = new StreamModel();
    const random = new Random(seed);
    let clock = 1_000;
    const steps = {
      push: async () => {
        const texts = Array.from({ length: 1 + random.below(random.pick(2, 30, 600)) }, (_, index) =>
          textOf(random, index),
        );
        const signal = random.pick<Signal | undefined>(undefined, "logs", "traces", "metrics");
        clock += random.pick(0, 10, -5);
        model.push(texts, clock, signal);
        expect(await scene.push(texts, clock, signal)).toBe(model.last);
      },
      trim: async () => {
        const position = model.trimmed + random.below(model.last - model.trimmed + 1);
        model.trim(position);
        await scene.stream.trim(position);
      },
      release: async () => {
        const position = model.trimmed + random.below(model.last - model.trimmed + 1);
        model.release(position);
        await scene.stream.release(position);
      },
      reopen: () => scene.reopen(model.trimmed, small),
      expire: async () => {
        const time = clock - 20 + random.below(40);
        const { count, last } = model.olderThan(time);
        expect(await scene.stream.olderThan(time)).toMatchObject(last === undefined ? { count } : { count, last });
      },
    };
    const names = ["push", "push", "push", "push", "trim", "reopen", "expire", "release"] as const;
    await scene.reopen(0, small);
    for (let step = 0; step < 80; step += 1) {
      const name = random.pick<keyof typeof steps>(...names);
      await steps[name]();
      const { held, last } = model;
      const first = held[0]?.position ?? last + 1;
      expect([step, name, scene.stream.state]).toMatchObject([step, name, { messages: held.length, first, last }]);
      await compare(scene, model.held, first + random.below(last - first + 1));
    }
  };
  const title = "after any calls it is as a list of events is (seed %d)";

  test.each([1])(title, isAsItsModel);

  test.each([2, 3])(title, { tags: ["rest"] }, isAsItsModel);
}

/** Reads everything from `position` on, in pieces, and what lies before it. */
async function compare(scene: StreamScene, held: readonly Held[], position: number): Promise<void> {
  const reader = scene.reader();
  const found: Held[] = [];
  for (let at = position; ;) {
    const runs = await reader.read(at, 700, 100_000);
    for (const { signal, events } of runs) {
      for (const event of events) {
        found.push({ position: event.position, text: event.text, receivedAt: event.receivedAt, signal });
      }
    }
    const last = runs.at(-1)?.events.at(-1)?.position;
    if (last === undefined) break;
    at = last + 1;
  }
  expect(found).toEqual(held.filter((event) => event.position >= position));
  const [first] = held;
  if (first !== undefined) {
    const [run] = await reader.read(first.position, 1, 1);
    expect(run!.events[0]!.text).toBe(first.text);
  }
  await reader.close();
}

function textOf(random: Random, index: number): string {
  return `${index} ${"x".repeat(random.below(random.pick(10, 100, 5_000)))}`;
}
