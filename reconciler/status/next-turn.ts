import type { Turn } from "./turn.ts";

/** The share of the interval by which a pause is shorter or longer, so that many processes do not ask at once. */
const jitter = 0.05;

/** Milliseconds after which a pipeline in transition is looked at again. */
const transitionWait = 5_000;

/** The interval, a little shorter or longer. Milliseconds. */
export function jittered(interval: number): number {
  return interval * (1 + (Math.random() - 0.5) * 2 * jitter);
}

/** Milliseconds until something that failed, or waits for the engine, is worth another look. */
export function untilRetry({ plan: made, outcomes = [] }: Turn): number {
  const times = outcomes.flatMap(({ next_attempt }) => (next_attempt === undefined ? [] : [Date.parse(next_attempt)]));
  const waits = made?.changes.some(({ cause }) => cause === "InTransition") ? [transitionWait] : [];
  const drifts = made?.changes.flatMap(({ drift }) => drift?.next ?? []) ?? [];
  return Math.max(0, Math.min(...[...times, ...drifts].map((time) => time - Date.now()), ...waits));
}
