import * as fc from "fast-check";
import { stories, shapes, told, type Happening, type WorldShape } from "../support/simulation/world/story.ts";
import { World } from "../support/simulation/world/world.ts";

/** How often everything was met in the worlds so far. */
export const met = new Map<string, number>();

/** A world in which everything comes up once: what is loaded or made at its first use takes no time of the worlds after it. */
export async function warmUp(): Promise<void> {
  const target = {
    engine: "MergeTree",
    entries: 100,
    isPartitioned: true,
    hasView: true,
    profile: "usual",
    isAsync: false,
  } as const;
  const shape = { target, hasDedup: true, hasStateless: true, replicas: 2, members: 2 };
  const sources = ["webhook", "kafka", "otlp", "join"] as const;
  const pipelines = sources.map((source) => ({ ...shape, source }));
  const event = { key: "a", fate: "row", part: 1 } as const;
  const story = sources.map((_, pipeline): Happening => ({ kind: "send", pipeline, events: [event] }));
  const killed: Happening = { kind: "process is killed", milliseconds: 10, isMended: false };
  await live({ pipelines, threads: 1, brokers: 2, seed: 1 }, [...story, killed, ...story]);
  met.clear();
}

/** Lives through a story; returns what was promised and is not so. */
export async function live(
  shape: WorldShape,
  story: readonly Happening[],
  onLine: (line: string) => void = () => undefined,
): Promise<string[]> {
  const world = new World(shape);
  world.onLine = onLine;
  const began = performance.now();
  try {
    await world.begin();
    for (const happening of story) await world.let(happening);
    const unrest = await world.settle();
    return [...unrest.map((text) => `no way out: ${text}`), ...(unrest.length === 0 ? world.breaches() : [])];
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  } finally {
    await world.end();
    const { steps, monotonic } = world.clock;
    if (process.env["FUZZ_COLLECT"] !== undefined)
      console.log(`${Math.round(performance.now() - began)} ms, ${steps} steps, ${Math.round(monotonic / 1000)} s`);
    for (const [what, times] of world.met) met.set(what, (met.get(what) ?? 0) + times);
  }
}

/** Lives through so many worlds; throws with the story of the first that breaks a promise, shrunk with FUZZ_SHRINK. */
export async function liveThrough({ numRuns, seed }: { numRuns: number; seed: number }): Promise<void> {
  const started = performance.now();
  await fc.assert(
    fc.asyncProperty(shapes, stories, async (shape, story) => {
      const found = await live(shape, story);
      if (found.length > 0 && process.env["FUZZ_COLLECT"] !== undefined) {
        const kind = found[0]!.replaceAll(/\d+/g, "N").slice(0, 90);
        if (!met.has(`BREACH ${kind}`)) console.log(`${found.join("\n")}\n${told(shape, story)}`);
        met.set(`BREACH ${kind}`, (met.get(`BREACH ${kind}`) ?? 0) + 1);
        return;
      }
      if (found.length > 0) throw new Error(`${found.join("\n")}\n${told(shape, story)}`);
    }),
    { numRuns, seed, endOnFailure: process.env["FUZZ_SHRINK"] === undefined },
  );
  console.log(`${numRuns} worlds in ${Math.round(performance.now() - started)} ms`);
}
