import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BatchClock, type ClockStep } from "../../../engine/workers/batch-clock.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** When the tests begin, by a clock that is right. */
const noon = Date.UTC(2026, 5, 1, 12);
const to2050 = Date.UTC(2050, 0, 1) - noon;
const to1970 = -noon;

type Step = Pick<ClockStep, "held" | "by">;

/** A machine whose wall clock can be set wrong, and a clock that runs on it. */
class Machine {
  #elapsed = 0;
  #setBy = 0;
  readonly steps: Step[] = [];
  readonly #clock: BatchClock;

  constructor(last?: number) {
    this.#clock = new BatchClock({
      ...(last === undefined ? {} : { last }),
      wall: () => noon + this.#elapsed + this.#setBy,
      monotonic: () => 12_345.678 + this.#elapsed,
      onStep: ({ held, by }) => this.steps.push({ held, by }),
    });
  }

  pass(ms: number): void {
    this.#elapsed += ms;
  }

  set(by: number): void {
    this.#setBy += by;
  }

  /** By how much the clock is ahead of one that is right. */
  look(): number {
    return this.#clock.now() - noon - this.#elapsed;
  }
}

/** Time passes, or somebody sets the wall clock; each time the clock is looked at afterwards. */
type Move = { pass: number } | { set: number };

const held = (by: number): Step => ({ held: true, by });
const taken = (by: number): Step => ({ held: false, by });

function play(machine: Machine, moves: readonly Move[]): number {
  for (const move of moves) {
    if ("pass" in move) machine.pass(move.pass);
    else machine.set(move.set);
    machine.look();
  }
  return machine.look();
}

describe("a wall clock that is set", () => {
  test.each<[string, Move[], number, Step[]]>([
    ["never is followed", [{ pass: 5 * day }], 0, []],
    ["an hour forward is followed", [{ set: hour }], hour, []],
    ["an hour forward three times is followed", [{ set: hour }, { set: hour }, { set: hour }], 3 * hour, []],
    ["more than an hour forward is held", [{ set: hour + 1 }], 0, [held(hour + 1)]],
    ["to 2050 is held, and time goes on", [{ set: to2050 }, { pass: 59 * minute }], 0, [held(to2050)]],
    ["to 1970 is held, and time goes on", [{ set: to1970 }, { pass: 59 * minute }], 0, [held(to1970)]],
    [
      "to 2050 is taken after an hour",
      [{ set: to2050 }, { pass: 30 * minute }, { pass: 30 * minute }],
      to2050,
      [held(to2050), taken(to2050)],
    ],
    [
      "to 1970 is taken after an hour, and time runs backwards once",
      [{ set: to1970 }, { pass: hour }, { pass: day }],
      to1970,
      [held(to1970), taken(to1970)],
    ],
    ["to 2050 and back is forgotten", [{ set: to2050 }, { pass: minute }, { set: -to2050 }], 0, [held(to2050)]],
    ["to 1970 and back is forgotten", [{ set: to1970 }, { pass: minute }, { set: -to1970 }], 0, [held(to1970)]],
    [
      "to 2050, back, and there again has a new hour",
      [{ set: to2050 }, { pass: 50 * minute }, { set: -to2050 }, { set: to2050 }, { pass: 50 * minute }],
      0,
      [held(to2050), held(to2050)],
    ],
    [
      "to 2050 and back to within half an hour is followed",
      [{ set: to2050 }, { pass: minute }, { set: 30 * minute - to2050 }],
      30 * minute,
      [held(to2050)],
    ],
    [
      "to 2050 and then to 1970 is held for an hour of its own",
      [{ set: to2050 }, { pass: 50 * minute }, { set: to1970 - to2050 }, { pass: 50 * minute }],
      0,
      [held(to2050), held(to1970)],
    ],
    [
      "to 2050 and then to 1970 is taken after that hour",
      [{ set: to2050 }, { pass: 50 * minute }, { set: to1970 - to2050 }, { pass: hour }],
      to1970,
      [held(to2050), held(to1970), taken(to1970)],
    ],
    [
      "by two hours and ten minutes more meanwhile is one step",
      [{ set: 2 * hour }, { pass: 30 * minute }, { set: 10 * minute }, { pass: 30 * minute }],
      130 * minute,
      [held(2 * hour), taken(130 * minute)],
    ],
    [
      "by two hours and then twice by forty minutes more is one step",
      [{ set: 2 * hour }, { set: 40 * minute }, { set: 40 * minute }, { pass: hour }],
      200 * minute,
      [held(2 * hour), taken(200 * minute)],
    ],
    [
      "to 2050, taken, and back is a step backward that is held and taken",
      [{ set: to2050 }, { pass: hour }, { set: -to2050 }, { pass: 59 * minute }, { pass: minute }],
      0,
      [held(to2050), taken(to2050), held(-to2050), taken(-to2050)],
    ],
  ])("%s", (_title, moves, ahead, steps) => {
    const machine = new Machine();
    expect(play(machine, moves)).toBe(ahead);
    expect(machine.steps).toEqual(steps);
  });

  test("an hour backward lets time stand still until it has caught up", () => {
    const machine = new Machine();
    machine.look();
    machine.set(-hour);
    expect(machine.look()).toBe(0);
    machine.pass(20 * minute);
    expect(machine.look()).toBe(-20 * minute);
    machine.pass(40 * minute);
    expect(machine.look()).toBe(-hour);
    machine.pass(minute);
    expect(machine.look()).toBe(-hour);
    expect(machine.steps).toEqual([]);
  });

  test("to 2050 while time stands still lets it stand still as long as it would have", () => {
    const machine = new Machine();
    machine.look();
    machine.set(-30 * minute);
    machine.look();
    machine.set(to2050);
    machine.pass(20 * minute);
    expect(machine.look()).toBe(-20 * minute);
    machine.pass(20 * minute);
    expect(machine.look()).toBe(-30 * minute);
  });

  test("by more than an hour forward while time stands still for longer does not run backwards", () => {
    const machine = new Machine();
    play(machine, [{ set: -hour }, { set: -hour }, { set: -hour }, { set: hour + second }]);
    machine.pass(hour);
    expect(machine.look()).toBe(-hour);
    expect(machine.steps).toEqual([held(hour + second), taken(hour + second)]);
  });
});

describe("after a restart", () => {
  test.each<[string, number | undefined, Move[], number, Step[]]>([
    ["of a first run the wall clock is believed", undefined, [], 0, []],
    ["after nothing was given the wall clock is believed", 0, [], 0, []],
    ["within the hour the wall clock is followed", noon - hour, [], 0, []],
    ["time stands still where the earlier run was ahead by less than an hour", noon + hour, [], hour, []],
    ["after two days time goes on where it was", noon - 2 * day, [], -2 * day, [held(2 * day)]],
    ["after two days it does so for an hour", noon - 2 * day, [{ pass: hour - 1 }], -2 * day, [held(2 * day)]],
    ["after two days it is right an hour later", noon - 2 * day, [{ pass: hour }], 0, [held(2 * day), taken(2 * day)]],
    [
      "to a wall clock of years ago time goes on where it was",
      noon + 900 * day,
      [{ pass: minute }],
      900 * day,
      [held(-900 * day)],
    ],
    [
      "to a wall clock of years ago it runs backwards an hour later",
      noon + 900 * day,
      [{ pass: hour }],
      0,
      [held(-900 * day), taken(-900 * day)],
    ],
  ])("%s", (_title, last, moves, ahead, steps) => {
    const machine = new Machine(last);
    expect(play(machine, moves)).toBe(ahead);
    expect(machine.steps).toEqual(steps);
  });

  test("a step is told before anybody asks for the time", () => {
    expect(new Machine(noon - 2 * day).steps).toEqual([held(2 * day)]);
  });
});

describe("what it gives", () => {
  test.each([
    ["fast", 0.01],
    ["slow", -0.01],
  ])("follows a wall clock that runs one percent too %s, for weeks", (_title, drift) => {
    const machine = new Machine();
    for (let passed = 0; passed < 21 * day; passed += minute) {
      machine.pass(minute);
      machine.set(minute * drift);
      const ahead = machine.look();
      if (ahead !== (passed + minute) * drift) expect.unreachable(`${ahead} after ${passed + minute}`);
    }
    expect(machine.steps).toEqual([]);
  });

  test("are whole milliseconds that never run backwards, however often it is asked", () => {
    const clock = new BatchClock({ onStep: () => expect.unreachable("nobody set this machine's clock") });
    let last = clock.now();
    for (let ask = 0; ask < 100_000; ask += 1) {
      const now = clock.now();
      if (!Number.isInteger(now) || now < last) expect.unreachable(`${now} after ${last}`);
      last = now;
    }
    expect(Math.abs(last - Date.now())).toBeLessThan(hour);
  });

  test("runs backwards only where a backward step is taken, and never stops for longer than its steps back", () => {
    const move = fc.oneof(
      fc.record({ pass: fc.integer({ min: 0, max: 90 * minute }) }),
      fc.record({ set: fc.integer({ min: -3 * hour, max: 3 * hour }) }),
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        const machine = new Machine();
        let [last, passed, back] = [noon, 0, 0];
        for (const one of moves) {
          if ("pass" in one) passed += one.pass;
          else back += Math.max(0, -one.set);
          const told = machine.steps.length;
          const now = play(machine, [one]) + noon + passed;
          if (!machine.steps.slice(told).some((step) => !step.held && step.by < 0)) {
            expect(now).toBeGreaterThanOrEqual(last);
          }
          expect(now).toBeGreaterThanOrEqual(noon + passed - back);
          last = now;
        }
      }),
    );
  });

  test("are whole milliseconds of the wall clock, whatever fractions the clocks have", () => {
    let [wall, monotonic] = [noon + 0.9, 0.1];
    const clock = new BatchClock({ wall: () => wall, monotonic: () => monotonic, onStep: () => undefined });
    for (let ask = 0; ask < 1000; ask += 1) {
      wall += 0.3;
      monotonic += 0.1;
      expect(clock.now()).toBe(Math.floor(wall));
    }
    wall += to2050;
    for (let ask = 0; ask < 1000; ask += 1) {
      monotonic += 0.1;
      expect(Number.isInteger(clock.now())).toBe(true);
    }
  });

  test("are the wall clock's to the millisecond", () => {
    const machine = new Machine();
    for (let ask = 0; ask < 1000; ask += 1) {
      machine.pass(1);
      expect(machine.look()).toBe(0);
    }
  });
});
