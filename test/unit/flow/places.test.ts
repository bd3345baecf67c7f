import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Place, Places } from "../../../engine/flow/places.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const here = { isGone: false };

interface Outcome {
  place?: Place;
  isNeeded: boolean;
  missed?: string;
}

/** What became of callers that asked for a place. */
function asked(places: Places, origin: { sent: number }, caller = here): Outcome {
  const outcome: Outcome = { isNeeded: false };
  places.take(caller, origin).then(
    (place) => {
      outcome.place = place;
      place.onNeeded = () => (outcome.isNeeded = true);
    },
    ({ because }: { because: string }) => (outcome.missed = because),
  );
  return outcome;
}

const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

test("a place that is given back goes to the next caller that still waits, and none waits for too long", async () => {
  const places = new Places(1, 3_000);
  const origin = { sent: 0 };
  const first = asked(places, origin);
  const leaving = { isGone: false };
  const [left, second, late] = [asked(places, origin, leaving), asked(places, origin), asked(places, origin)];
  await settled();
  leaving.isGone = true;
  first.place!.giveBack();
  await settled();
  expect([left.missed, second.place !== undefined, late]).toEqual(["gone", true, { isNeeded: false }]);
  origin.sent = 1e9;
  await vi.advanceTimersByTimeAsync(3_000);
  expect([late.missed, second.isNeeded]).toEqual(["late", false]);
  for (let times = 0; times < 2; times += 1) second.place!.giveBack();
  const [third, fourth] = [asked(places, origin), asked(places, origin)];
  await settled();
  expect([third.place !== undefined, fourth.place]).toEqual([true, undefined]);
});

test("the next place goes to the origin that has the fewest", async () => {
  const places = new Places(3, 60_000);
  const [many, one, none] = [{ sent: 0 }, { sent: 0 }, { sent: 0 }];
  const held = [many, many, one].map((origin) => asked(places, origin));
  await settled();
  const [again, of1, of0] = [asked(places, many), asked(places, one), asked(places, none)];
  held[0]!.place!.giveBack();
  await settled();
  expect([again.place, of1.place, of0.place !== undefined]).toEqual([undefined, undefined, true]);
});

test("a place for which nothing comes is needed after a second where others wait, and one for which enough comes is not", async () => {
  const places = new Places(2, 60_000);
  const [silent, busy] = [{ sent: 5 }, { sent: 0 }];
  const held = [asked(places, silent), asked(places, busy)];
  await settled();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(held[0]!.isNeeded, "nobody waits").toBe(false);
  busy.sent = 11 * 16 * 1024;
  const other = asked(places, { sent: 0 });
  await vi.advanceTimersByTimeAsync(250);
  expect(held.map(({ isNeeded }) => isNeeded)).toEqual([true, false]);
  held[0]!.place!.giveBack();
  await settled();
  expect(other.place).toBeDefined();
});
