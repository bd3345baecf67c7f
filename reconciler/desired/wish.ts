import type { DesiredPipeline } from "./desired-state.ts";

/** All that a file asks for, as one text: two that are equal ask for the same. It may hold a secret and stays in memory. */
export function wishOf({ config, options, directives }: DesiredPipeline): string {
  return JSON.stringify([config, options, directives]);
}
