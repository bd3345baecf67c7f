/**
 * The class of change that a field needs, from the least to the most: nothing; applied to the running pipeline; a stop,
 * an edit and a resume; the same with state lost; not possible.
 */
export const effects = ["none", "hot", "restart", "forget", "refuse"] as const;
export type Effect = (typeof effects)[number];

/** The class of the highest; `none` for no effects. */
export function highest(given: Iterable<Effect>): Effect {
  let top: Effect = "none";
  for (const effect of given) if (effects.indexOf(effect) > effects.indexOf(top)) top = effect;
  return top;
}
