import { array, assert, asyncProperty, boolean, constantFrom, record } from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LeftForLater } from "../../../engine/core/errors.ts";
import { Supervisor } from "../../../engine/workers/supervisor.ts";
import { Placement } from "../../../engine/workers/placement.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** A pipeline whose launches and ends take as long as the test wants. */
class World {
  readonly live = new Set<Placement>();
  /** Launches that are under way. */
  readonly launching: { go: () => void; fail: () => void }[] = [];
  /** Most that ever ran, or worked at rest, at the same time. */
  most = 0;
  resting = 0;
  /** How often nothing was under way any more. */
  idle = 0;
  /** Deaths of threads, and recoveries from them. */
  readonly deaths: ("died" | "recovered" | "held")[] = [];
  /** Of each launch: whether it is to be on a thread of its own. */
  readonly alone: boolean[] = [];
  readonly supervisor = new Supervisor({
    launch: (signal, { isAlone }) =>
      new Promise((resolve, reject) => {
        this.alone.push(isAlone);
        const go = (): void => {
          if (signal.aborted) reject(new LeftForLater("it was ended"));
          else resolve(this.#place());
        };
        this.launching.push({ go, fail: () => reject(new Error("no secret")) });
      }),
    onRetry: () => undefined,
    onDied: () => void this.deaths.push("died"),
    onHeld: () => void this.deaths.push("held"),
    onRecovered: () => void this.deaths.push("recovered"),
    onRested: () => undefined,
    onOutdated: () => undefined,
    onFailed: () => undefined,
    onIdle: () => void (this.idle += 1),
  });

  #place(): Placement {
    const placement: Placement = new Placement("orders", 1, ({ type }) => {
      // It takes a moment to leave.
      if (type === "stop" || type === "abort") setTimeout(() => this.leave(placement), type === "stop" ? 30 : 3);
    });
    this.live.add(placement);
    this.note();
    return placement;
  }

  leave(placement: Placement | undefined, how: "ended" | "died" = "ended", isByOther = false): void {
    if (placement === undefined || !this.live.delete(placement)) return;
    placement.hasLeft(how === "ended" ? { kind: "ended" } : { kind: "died", error: new Error("killed"), isByOther });
  }

  /** The next launch succeeds, and the pipeline runs. */
  async runs(): Promise<Placement> {
    await settled();
    this.launching.shift()!.go();
    await settled();
    const placement = [...this.live].at(-1)!;
    placement.hasStarted();
    await settled();
    return placement;
  }

  note(): void {
    this.most = Math.max(this.most, this.live.size + this.resting);
  }

  async rest(): Promise<void> {
    this.resting += 1;
    this.note();
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.resting -= 1;
  }
}

const steps: Record<string, (world: World) => unknown> = {
  start: ({ supervisor }) => (supervisor.isWanted ? undefined : supervisor.start().catch(() => undefined)),
  restart: ({ supervisor }) => (supervisor.isWanted ? undefined : supervisor.restart()),
  stop: ({ supervisor }) => void supervisor.stop(1_000),
  abort: ({ supervisor }) => void supervisor.abort(),
  relaunch: ({ supervisor }) => void supervisor.relaunch(),
  work: (world) => void world.supervisor.atRest(() => world.rest()),
  "launch goes": ({ launching }) => launching.shift()?.go(),
  "launch fails": ({ launching }) => launching.shift()?.fail(),
  started: ({ live }) => [...live].at(-1)?.hasStarted(),
  died: (world) => world.leave([...world.live].at(-1), "died"),
  left: (world) => world.leave([...world.live].at(-1)),
  moment: () => vi.advanceTimersByTime(4),
  while: () => vi.advanceTimersByTime(60_000),
};

test("whatever is asked of it, a pipeline never runs twice, and a stop ends all of it", async () => {
  const step = record({ name: constantFrom(...Object.keys(steps)), pause: boolean() });
  await assert(
    asyncProperty(array(step, { maxLength: 40 }), async (play) => {
      const world = new World();
      for (const { name, pause } of play) {
        steps[name]!(world);
        if (pause) await settled();
      }
      expect(world.most).toBeLessThanOrEqual(1);
      const over: boolean[] = [];
      void world.supervisor.stop(1_000).then(() => over.push(true));
      for (let turn = 0; turn < 20; turn += 1) {
        await settled();
        while (world.launching.length > 0) world.launching.shift()!.go();
        vi.advanceTimersByTime(1_000);
      }
      expect([over, world.live.size, world.resting, world.most <= 1]).toEqual([[true], 0, 0, true]);
    }),
    { numRuns: 500 },
  );
});

test("it says when nothing of it is under way any more: after its start has failed, after its end, after work at rest", async () => {
  const world = new World();
  const { supervisor, launching, live } = world;
  const failed = supervisor.start();
  await settled();
  launching.shift()!.fail();
  await expect(failed).rejects.toThrow("no secret");
  await settled();
  expect([world.idle, supervisor.isIdle]).toEqual([1, true]);
  const started = supervisor.start();
  await settled();
  launching.shift()!.go();
  await settled();
  [...live].at(-1)!.hasStarted();
  await started;
  expect([world.idle, supervisor.isIdle]).toEqual([1, false]);
  world.leave([...live].at(-1));
  await settled();
  expect([world.idle, supervisor.isIdle]).toEqual([2, true]);
  await supervisor.atRest(async () => undefined);
  await settled();
  expect([world.idle, supervisor.isIdle]).toEqual([3, true]);
});

test("after deaths of its thread it has recovered only when it has run for a while", async () => {
  const world = new World();
  world.supervisor.restart();
  for (let death = 0; death < 3; death += 1) {
    world.leave(await world.runs(), "died");
    await settled();
    vi.advanceTimersByTime(10_000);
  }
  await world.runs();
  vi.advanceTimersByTime(29_000);
  expect(world.deaths).toEqual(["died", "died", "died"]);
  vi.advanceTimersByTime(2_000);
  expect(world.deaths).toEqual(["died", "died", "died", "recovered"]);
});

test("after a death by another pipeline it is launched again at once, and has recovered when it runs", async () => {
  const world = new World();
  world.supervisor.restart();
  world.leave(await world.runs(), "died", true);
  await world.runs();
  expect(world.deaths).toEqual(["died", "recovered"]);
});

test("one that keeps its thread from others is launched again on its own, once, and is well when it has not done so for a while", async () => {
  const world = new World();
  const { supervisor, deaths, alone } = world;
  supervisor.restart();
  const first = await world.runs();
  first.onHeld(true);
  expect(deaths).toEqual(["held"]);
  await vi.advanceTimersByTimeAsync(3);
  const second = await world.runs();
  expect([alone, world.most]).toEqual([[false, true], 1]);
  await vi.advanceTimersByTimeAsync(20_000);
  second.onHeld(false);
  await vi.advanceTimersByTimeAsync(29_990);
  expect([deaths, alone.length]).toEqual([["held", "held"], 2]);
  await vi.advanceTimersByTimeAsync(10);
  expect(deaths).toEqual(["held", "held", "recovered"]);
  void supervisor.abort();
});

test("one that is being stopped is not launched again for the time that it keeps its thread", async () => {
  const world = new World();
  const { supervisor, deaths, alone } = world;
  supervisor.restart();
  const placement = await world.runs();
  const stopped = supervisor.stop(1_000);
  placement.onHeld(true);
  await vi.advanceTimersByTimeAsync(60);
  await stopped;
  expect([deaths, alone, supervisor.isIdle]).toEqual([[], [false], true]);
});
