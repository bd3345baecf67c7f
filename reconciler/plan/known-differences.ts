import { normalise } from "../../schemas/index.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { differences } from "./differences.ts";
import type { Difference, Kept } from "./differences.ts";

interface Known extends Kept {
  found: Difference[];
}

const knownByFile = new WeakMap<DesiredPipeline, Known>();

/**
 * What differs between a pipeline and its file. Neither what a file asks for nor the config that the engine holds is ever
 * altered, only replaced: for the same two objects the answer is the one of last time.
 */
export function differencesOf(desired: DesiredPipeline, { config, options }: Kept): Difference[] {
  const known = knownByFile.get(desired);
  if (known !== undefined && known.config === config && known.options === options) return known.found;
  const wanted = { config: normalise(desired.document, config), options: desired.options };
  const found = differences({ config, options }, wanted);
  knownByFile.set(desired, { config, options, found });
  return found;
}
