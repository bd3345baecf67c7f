import { isDeepStrictEqual } from "node:util";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { shown } from "../desired/shown.ts";
import type { Successor } from "./operation.ts";

/**
 * What a recreation is going to make, for the time when its file can no longer say it. References to secrets are kept; a
 * secret that stands in the file as plain text is not, and without it nothing can be made.
 */
export function successorOf({ config, options, directives }: DesiredPipeline): Successor | "lost" {
  const isOpen =
    isDeepStrictEqual(shown(config, []), config) && isDeepStrictEqual(shown(options, ["x-sluice"]), options);
  return isOpen ? { config, options, state: directives.state } : "lost";
}
