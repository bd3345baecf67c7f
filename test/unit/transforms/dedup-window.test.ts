import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BatchClock, pipelineClock } from "../../../engine/workers/batch-clock.ts";
import { streamFeed } from "../../../engine/core/positions.ts";
import { Event } from "../../../engine/event/event.ts";
import { Pipeline } from "../../../engine/delivery/pipeline.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { type KeyLimits, RememberedKeys } from "../../../engine/transforms/dedup/remembered-keys.ts";
import { ModelLog } from "../../support/model/events.ts";
import { modelLine, type Windows } from "../../support/model/line.ts";
import { ModelTarget } from "../../support/model/target.ts";
import { openJournal } from "../../support/journal.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const noon = Date.UTC(2026, 5, 1, 12);
const to2050 = Date.UTC(2050, 0, 1) - noon;

let close: () => Promise<void>;
let journal: StoreJournal;
let machines = 0;

beforeAll(async () => void ({ journal, close } = await openJournal()));

afterAll(() => close());

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Remembered extends Partial<KeyLimits> {
  window?: number;
  windows?: Record<string, number>;
}

/** A pipeline with dedup on a real journal, on a machine whose clocks stand still until they are told to move. */
class Machine {
  readonly told: { event: string; fields: Record<string, unknown> }[] = [];
  readonly #pipeline_id = `window-${(machines += 1)}`;
  readonly #source = new ModelLog();
  readonly #target = new ModelTarget(10_000);
  readonly #limits: KeyLimits;
  readonly #windows: Windows;
  readonly #maxAge: number;
  readonly #max_batch_size: number;
  readonly #replicas: number;
  #elapsed = 0;
  #setBy = 0;
  #running: { pipeline: Pipeline; ended: Promise<void>; clock: BatchClock } | undefined;

  /** `windows`: of events by their origin, which is what their key has before a dot. */
  constructor(
    { window = day, windows = {}, ...limits }: Remembered = {},
    { maxAge = Infinity, max_batch_size = 100, replicas = 1 } = {},
  ) {
    this.#limits = { storage: Infinity, memory: Infinity, ...limits };
    this.#windows = new Map<string | undefined, number>([...Object.entries(windows), [undefined, window]]);
    this.#maxAge = maxAge;
    this.#max_batch_size = max_batch_size;
    this.#replicas = replicas;
    this.start();
  }

  /** Time passes, by all clocks. The pipeline looks at its clock. */
  pass(ms: number): void {
    this.#elapsed += ms;
    this.#running?.clock.now();
  }

  /** Somebody sets the wall clock. */
  set(by: number): void {
    this.#setBy += by;
    this.#running?.clock.now();
  }

  /** The table is gone, or there again. */
  goes(how: "away" | "back"): void {
    this.#target.next = how === "away" ? Array.from({ length: 100_000 }, () => "setup") : [];
  }

  /** The time that the next start goes by. */
  get clockOnDisk(): number {
    return journal.progress(this.#pipeline_id).clock;
  }

  get pending(): number {
    return journal.pendingCount(this.#pipeline_id);
  }

  /** An event with each key arrives, which the table refuses where that ends with "!"; resolves when all are settled. */
  async see(...keys: string[]): Promise<void> {
    this.arrive(...keys);
    await this.settled();
  }

  arrive(...keys: string[]): void {
    for (const key of keys) {
      const id = this.#source.end + 1;
      const event = { id, key: key.replace("!", ""), fate: key.endsWith("!") ? "server" : "row", partition: 1 };
      const bytes = Buffer.from(JSON.stringify(event));
      const origin = key.includes(".") ? key.split(".")[0] : undefined;
      this.#source.events.push(new Event(id, this.#wall(), bytes, 0, bytes.length, origin));
    }
    this.#source.push([]);
  }

  async settled(): Promise<void> {
    await this.until(() => this.position === this.#source.end && journal.pendingCount(this.#pipeline_id) === 0);
  }

  /** Lets the pipeline work until something is so. */
  async until(isSo: () => boolean): Promise<void> {
    for (let turn = 0; !isSo(); turn += 1) {
      if (turn > 5_000) throw new Error(`waited in vain with ${this.rows.length} rows`);
      await nextTurn();
    }
  }

  async work(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) await nextTurn();
  }

  /** What it waits for, if it does. */
  get pause(): unknown {
    const last = this.told.findLast(({ event }) => event === "paused" || event === "pauseEnded");
    return last?.fields["pause"];
  }

  /** The keys of the rows, in their order. */
  get rows(): string[] {
    return this.#target.rows.map(({ key }) => key);
  }

  /** The steps of its clock, as they were told. */
  get steps(): unknown[] {
    const told = this.told.filter(({ event }) => event === "clockStepped");
    return told.map(({ fields: { held, by } }) => ({ held, by }));
  }

  get held(): unknown[] {
    return this.told.filter(({ event }) => event === "clockStepped").map(({ fields }) => fields["held"]);
  }

  /** The last position that is settled. */
  get position(): number {
    return journal.progress(this.#pipeline_id).positions[streamFeed] ?? 0;
  }

  /** How many keys the journal holds as final. */
  async keysOnDisk(): Promise<number> {
    let [count, after] = [0, 0];
    for (;;) {
      const page = await journal.finalKeys(this.#pipeline_id, after);
      if (page.length === 0) return count;
      for (const { prints, batch } of page) [count, after] = [count + prints.length / 16, batch];
    }
  }

  /** How often the pipeline told of something. */
  count(event: string): number {
    return this.#events.filter((one) => one === event).length;
  }

  /** The process ends and starts anew: its monotonic clock begins again. */
  async restart(meanwhile: () => void = () => undefined): Promise<void> {
    await this.stop();
    meanwhile();
    this.start();
  }

  async stop(): Promise<void> {
    const { pipeline, ended } = this.#running!;
    this.#running = undefined;
    pipeline.stop(60_000);
    await ended;
  }

  start(): void {
    const pipeline_id = this.#pipeline_id;
    const keys = new RememberedKeys(this.#limits);
    const compiled = modelLine(1, true, keys, this.#target, this.#windows);
    const began = this.#elapsed;
    const telemetry = this.#telemetry();
    const clock = pipelineClock({
      pipeline_id,
      journal,
      keys,
      telemetry,
      wall: () => this.#wall(),
      monotonic: () => 5_000 + this.#elapsed - began,
    });
    const pipeline = new Pipeline({
      pipeline_id,
      source: this.#source.reading(journal, pipeline_id),
      telemetry,
      limits: { max_batch_size: this.#max_batch_size, max_delay_time: "0s" },
      maxAge: this.#maxAge,
      clock,
      replicas: this.#replicas,
      journal,
      options: { on_uncertain: "insert", on_lost: "pause", on_view_error: "pause" },
      keys,
      letters: [],
      compiled,
      compiledOf: () => compiled,
      pace: nextTurn,
    });
    this.#running = { pipeline, ended: pipeline.run(), clock };
  }

  #wall(): number {
    return noon + this.#elapsed + this.#setBy;
  }

  get #events(): string[] {
    return this.told.map(({ event }) => event);
  }

  #telemetry(): Telemetry {
    return new Proxy({} as Telemetry, {
      get: (_target, event: string) => (fields: Record<string, unknown>) => void this.told.push({ event, fields }),
    });
  }
}

/** Plays with a machine whose pipeline is stopped at the end. */
async function on(machine: Machine, play: (machine: Machine) => Promise<void>): Promise<void> {
  try {
    await play(machine);
  } finally {
    await machine.stop();
  }
}

describe("the window of a key", () => {
  test("begins with its first sight, ends on the millisecond, and is not refreshed by repeats", () =>
    on(new Machine({ window: minute }), async (machine) => {
      await machine.see("a");
      for (const wait of [20 * second, 20 * second, 20 * second - 1]) {
        machine.pass(wait);
        await machine.see("a");
        expect(machine.rows).toEqual(["a"]);
      }
      machine.pass(1);
      await machine.see("a");
      expect(machine.rows).toEqual(["a", "a"]);
      machine.pass(minute - 1);
      await machine.see("a");
      expect(machine.rows).toEqual(["a", "a"]);
    }));

  test("goes on over a restart, also one that takes longer than what is left of it", () =>
    on(new Machine({ window: 50 * minute }), async (machine) => {
      await machine.see("a");
      machine.pass(20 * minute);
      await machine.see("b");
      await machine.restart();
      await machine.see("a", "b");
      expect(machine.rows).toEqual(["a", "b"]);
      await machine.restart(() => machine.pass(30 * minute));
      await machine.see("a", "b");
      expect(machine.rows).toEqual(["a", "b", "a"]);
    }));

  test("that has ended leaves nothing behind, in memory and on disk", () =>
    on(new Machine({ window: minute }), async (machine) => {
      for (let round = 0; round < 20; round += 1) {
        await machine.see(`one ${round}`, `two ${round}`);
        machine.pass(10 * second);
      }
      expect(machine.rows).toHaveLength(40);
      expect(await machine.keysOnDisk()).toBeLessThanOrEqual(14);
      const held = machine.told.filter(({ event }) => event === "keysHeld").at(-1)!.fields as { keys: number };
      expect(held.keys).toBeLessThanOrEqual(14);
    }));
});

describe("several dedups in a pipeline, each with a window of its own,", () => {
  const windows = { long: 50 * minute, short: minute };

  test("remember their keys for so long, in one batch too, and over a restart", () =>
    on(new Machine({ windows }), async (machine) => {
      await machine.see("long.a", "short.a", "long.a", "short.a");
      expect(machine.rows).toEqual(["long.a", "short.a"]);
      machine.pass(minute - 1);
      await machine.see("short.a", "long.a");
      expect(machine.rows).toHaveLength(2);
      machine.pass(1);
      await machine.see("long.a", "short.a");
      expect(machine.rows).toEqual(["long.a", "short.a", "short.a"]);
      await machine.restart(() => machine.pass(30 * second));
      await machine.see("long.a", "short.a");
      expect(machine.rows).toHaveLength(3);
      await machine.restart(() => machine.pass(30 * second));
      await machine.see("long.a", "short.a");
      expect(machine.rows).toEqual(["long.a", "short.a", "short.a", "short.a"]);
    }));

  test("leave nothing of what has expired behind, in memory and on disk, beside what has not", () =>
    on(new Machine({ windows }), async (machine) => {
      for (let round = 0; round < 40; round += 1) {
        await machine.see(`long.${round}`, `short.${round}`);
        machine.pass(10 * second);
      }
      expect(machine.rows).toHaveLength(80);
      expect(await machine.keysOnDisk()).toBeLessThanOrEqual(40 + 7);
      const { fields } = machine.told.findLast(({ event }) => event === "keysHeld")!;
      expect(fields["keys"]).toBeLessThanOrEqual(40 + 7);
      machine.pass(50 * minute);
      await machine.see("long.end");
      expect(await machine.keysOnDisk()).toBeLessThanOrEqual(1);
    }));

  test("share the limits of the pipeline", () =>
    on(new Machine({ windows, storage: 2 * (16 + 64) }), async (machine) => {
      await machine.see("long.a", "short.a");
      machine.arrive("short.b");
      await machine.until(() => machine.pause !== undefined);
      expect(machine.pause).toMatchObject({ class: "storage", text: expect.stringContaining("2 keys") });
      machine.pass(minute);
      await machine.settled();
      expect(machine.rows).toEqual(["long.a", "short.a", "short.b"]);
    }));
});

/** The wall clock stands in 2050 for so long that it is believed; a key is seen then; and somebody corrects it. */
async function believed(machine: Machine, correct: () => Promise<void> | void): Promise<void> {
  machine.set(to2050);
  machine.pass(hour);
  await machine.see("2050");
  await correct();
  expect(machine.held).toEqual([true, false, true]);
  await machine.see("2050");
  expect(machine.rows).toEqual(["2050"]);
  machine.pass(hour);
  expect(machine.steps.at(-1)).toEqual({ held: false, by: expect.any(Number) as number });
  await machine.see("2050", "now");
  expect(machine.rows).toEqual(["2050", "now"]);
}

describe("a wall clock that is set to 2050 and back", () => {
  test("within an hour changes nothing: no key expires early, none lives for longer", () =>
    on(new Machine(), async (machine) => {
      await machine.see("before");
      machine.set(to2050);
      machine.pass(50 * minute);
      await machine.see("before", "meanwhile");
      machine.set(-to2050);
      await machine.see("before", "meanwhile");
      expect(machine.rows).toEqual(["before", "meanwhile"]);
      machine.pass(day - 50 * minute);
      await machine.see("before", "meanwhile");
      expect(machine.rows).toEqual(["before", "meanwhile", "before"]);
      machine.pass(50 * minute);
      await machine.see("meanwhile");
      expect(machine.rows).toEqual(["before", "meanwhile", "before", "meanwhile"]);
      expect(machine.steps).toEqual([{ held: true, by: to2050 }]);
    }));

  const corrections: [string, (machine: Machine) => Promise<void> | void][] = [
    ["while it runs", (machine) => machine.set(-to2050)],
    ["between two runs", (machine) => machine.restart(() => machine.set(-to2050))],
  ];

  test.each(corrections)(
    "and is believed between, corrected %s: its keys count from the correction",
    (_title, correct) =>
      on(new Machine(), async (machine) => {
        await believed(machine, () => correct(machine));
        machine.pass(day - 1);
        await machine.see("2050", "now");
        expect(machine.rows).toEqual(["2050", "now"]);
        machine.pass(1);
        await machine.see("2050", "now");
        expect(machine.rows).toEqual(["2050", "now", "2050", "now"]);
      }),
  );

  test.each(corrections)(
    "and is believed between, corrected %s: a restart does not bring its keys to life again",
    (_title, correct) =>
      on(new Machine({ window: 2 * hour }), async (machine) => {
        await believed(machine, () => correct(machine));
        machine.pass(2 * hour);
        await machine.see("now");
        expect(machine.rows).toEqual(["2050", "now", "now"]);
        await machine.restart();
        await machine.see("2050");
        expect(machine.rows).toEqual(["2050", "now", "now", "2050"]);
      }),
  );

  test("and is believed between does not bring keys to life that had expired by then", () =>
    on(new Machine({ window: 10 * minute }), async (machine) => {
      machine.set(to2050);
      machine.pass(hour);
      await machine.see("2050");
      machine.set(-to2050);
      for (let passed = 0; passed < 6; passed += 1) machine.pass(10 * minute);
      expect(machine.held).toEqual([true, false, true, false]);
      await machine.see("2050");
      expect(machine.rows).toEqual(["2050", "2050"]);
    }));

  test("and is believed between does not keep the keys of later batches on disk", () =>
    on(new Machine({ window: 2 * hour }), async (machine) => {
      await believed(machine, () => machine.set(-to2050));
      for (let round = 0; round < 20; round += 1) {
        machine.pass(hour);
        await machine.see(`round ${round}`);
      }
      expect(await machine.keysOnDisk()).toBeLessThanOrEqual(4);
    }));
});

describe("a wall clock that is set wrong makes no event too old", () => {
  test("that came while it was put right", () =>
    on(new Machine({}, { maxAge: day }), async (machine) => {
      machine.set(to2050);
      machine.pass(hour);
      await machine.see("2050");
      machine.set(-to2050);
      await machine.see("held");
      machine.pass(hour);
      await machine.see("taken");
      expect(machine.rows).toEqual(["2050", "held", "taken"]);
      expect(machine.count("agedOut")).toBe(0);
    }));

  test("that came while it was days behind", () =>
    on(new Machine({}, { maxAge: day }), async (machine) => {
      await machine.see("before");
      machine.set(-3 * day);
      await machine.see("held");
      machine.pass(hour);
      await machine.see("taken");
      machine.set(3 * day);
      await machine.see("put right");
      expect(machine.rows).toEqual(["before", "held", "taken", "put right"]);
      expect(machine.count("agedOut")).toBe(0);
    }));

  test("that was in the stream before", () =>
    on(new Machine({}, { maxAge: day }), async (machine) => {
      await machine.stop();
      machine.arrive("before");
      machine.set(to2050);
      machine.start();
      await machine.settled();
      machine.set(-to2050);
      await machine.see("after");
      expect(machine.rows).toEqual(["before", "after"]);
      expect(machine.count("agedOut")).toBe(0);
    }));
});

describe("a limit of what dedup remembers", () => {
  const many = Array.from({ length: 4_000 }, (_, index) => `key ${index}`);

  test.each<[string, Remembered, string[]]>([
    ["storage.size, as small as the format allows,", { storage: 1 }, ["a"]],
    ["storage.size, met by many keys,", { storage: 64_000 }, ["a", ...many]],
    ["limits.memory, met by many keys,", { memory: 100_000 }, ["a", ...many]],
  ])(
    "%s is a pause of the class storage that ends as keys expire, with nothing lost or doubled",
    (_title, limit, keys) =>
      on(new Machine({ window: minute, ...limit }, { max_batch_size: 5_000 }), async (machine) => {
        await machine.see(...keys);
        await machine.until(() => machine.pause !== undefined);
        expect(machine.pause).toMatchObject({ class: "storage", text: expect.stringContaining(`${keys.length} keys`) });
        machine.arrive("a", "b");
        await machine.work(100);
        machine.pass(minute - 1);
        await machine.restart();
        await machine.until(() => machine.pause !== undefined);
        expect(machine.rows).toEqual(keys);
        machine.pass(1);
        await machine.settled();
        expect(machine.rows).toEqual([...keys, "a", "b"]);
      }),
  );

  test("is told of once for as long as it lasts", () =>
    on(new Machine({ window: minute, storage: 1 }), async (machine) => {
      await machine.see("a");
      machine.arrive("b");
      await machine.work(200);
      expect([machine.count("paused"), machine.count("pauseEnded")]).toEqual([1, 0]);
    }));

  test("that is less than an empty memory takes is no pause that never ends", () =>
    on(new Machine({ window: minute, memory: 1 }), async (machine) => {
      await machine.see("a");
      machine.arrive("b");
      machine.pass(minute);
      await machine.settled();
      expect(machine.rows).toEqual(["a", "b"]);
    }));
});

/** Batches of two rows are prepared, of which none is written before their keys have expired. */
async function late(machine: Machine, wait: (machine: Machine) => Promise<void> | void, ...keys: string[]) {
  machine.goes("away");
  machine.arrive(...keys);
  await machine.until(() => machine.pause !== undefined && machine.pending === Math.ceil(keys.length / 3));
  machine.pass(2 * minute);
  await wait(machine);
  machine.pass(2 * minute);
  machine.goes("back");
  await machine.settled();
}

describe("a batch that settles later than the window of its keys", () => {
  const meanwhile: [string, (machine: Machine) => Promise<void> | void][] = [
    ["while it runs", () => undefined],
    ["over a restart", (machine) => machine.restart()],
    [
      "while the clock is believed to be in 2050, and corrected",
      (machine) => {
        machine.set(to2050);
        machine.pass(hour);
        machine.set(-to2050);
        machine.pass(hour);
      },
    ],
    [
      "over a restart in which the clock is corrected",
      async (machine) => {
        machine.set(to2050);
        machine.pass(hour);
        await machine.restart(() => machine.set(-to2050));
        machine.pass(hour);
      },
    ],
  ];

  test.each(meanwhile)("makes no repeat within it pass, %s", (_title, wait) =>
    on(new Machine({ window: minute }, { max_batch_size: 2 }), async (machine) => {
      await late(machine, wait, "a", "a", "b");
      expect(machine.rows).toEqual(["a", "b"]);
    }),
  );

  test.each(meanwhile)("makes no repeat of a batch before it pass, %s", (_title, wait) =>
    on(new Machine({ window: minute }, { max_batch_size: 2, replicas: 2 }), async (machine) => {
      machine.goes("away");
      machine.arrive("a", "b");
      await machine.until(() => machine.pending === 1);
      machine.pass(30 * second);
      machine.arrive("c", "a", "d");
      await machine.until(() => machine.pending === 2);
      machine.pass(2 * minute);
      await wait(machine);
      machine.pass(2 * minute);
      machine.goes("back");
      await machine.settled();
      expect(machine.rows.toSorted()).toEqual(["a", "b", "c", "d"]);
    }),
  );

  test.each(meanwhile)("makes a repeat of what died a row, %s", (_title, wait) =>
    on(new Machine({ window: minute }, { max_batch_size: 2 }), async (machine) => {
      await late(machine, wait, "a!", "a", "b");
      expect(machine.rows).toEqual(["b", "a"]);
    }),
  );

  test("makes a repeat pass neither that another one replaced in memory, whose event died", () =>
    on(new Machine({ window: minute }, { max_batch_size: 2, replicas: 3 }), async (machine) => {
      machine.goes("away");
      machine.arrive("a", "a", "b");
      await machine.until(() => machine.pending === 1);
      machine.pass(2 * minute);
      machine.arrive("a!", "c");
      await machine.until(() => machine.pending === 2);
      machine.goes("back");
      await machine.settled();
      expect(machine.rows.toSorted()).toEqual(["a", "b", "c"]);
    }));

  test("gives the key of one that becomes a row after all the window of its own batch", () =>
    on(new Machine({ window: minute }, { max_batch_size: 2 }), async (machine) => {
      machine.goes("away");
      machine.arrive("a!", "a", "b");
      await machine.until(() => machine.pending === 1);
      machine.pass(minute - 1);
      machine.goes("back");
      await machine.settled();
      machine.arrive("a", "c", "d");
      await machine.settled();
      expect(machine.rows).toEqual(["b", "a", "c", "d"]);
      machine.pass(1);
      machine.arrive("a", "e");
      await machine.settled();
      expect(machine.rows).toEqual(["b", "a", "c", "d", "a", "e"]);
    }));

  test("does not note an older time than that of a batch that came later", () =>
    on(new Machine({ window: minute }, { max_batch_size: 2, replicas: 3 }), async (machine) => {
      machine.goes("away");
      machine.arrive("a!", "a", "b");
      await machine.until(() => machine.pending === 1);
      machine.pass(3 * hour);
      machine.arrive("c", "d");
      await machine.until(() => machine.pending === 2);
      machine.goes("back");
      await machine.settled();
      expect(machine.rows.toSorted()).toEqual(["a", "b", "c", "d"]);
      expect(machine.clockOnDisk).toBe(noon + 3 * hour);
    }));
});
