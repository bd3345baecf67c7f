import type { Change } from "./change.ts";

/**
 * A change that takes the place of one under way, which has got no further than a stop: it was planned for a pipeline
 * that is Stopped, and is begun when that is so. Undefined where it would leave the pipeline alone: the one under way is
 * then carried to its end, since a pipeline must not stay stopped for an edit that nobody makes.
 */
export function inPlace(next: Change): Change | undefined {
  const why = "it takes the place of the change for which the pipeline is being stopped";
  if (next.calls.length > 0) return { ...next, replaces: true, reason: `${next.reason}; ${why}` };
  if (next.cause !== "InSync") return undefined;
  return { ...next, kind: "stop", cause: "StateWished", replaces: true, reason: `x-sluice.state is Stopped; ${why}` };
}
