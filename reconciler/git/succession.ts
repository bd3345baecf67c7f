import type { Clone, Found } from "./clone.ts";
import type { History } from "./history.ts";
import type { LastGood } from "./last-good.ts";
import type { Reference, Tip } from "./reference.ts";
import { SourceError } from "./revision.ts";

/** A revision that was just read, and the last one that was good before it. */
interface Step {
  reference: Reference;
  before: LastGood | undefined;
  tip: Tip;
  found: Found;
  clone: Clone;
  history: History;
  signal: AbortSignal;
}

/** What a person should know of the way from one revision to the next: it is followed whatever it was. */
export async function succession(step: Step): Promise<string[]> {
  const { reference, before, tip, found, clone, signal } = step;
  if (before === undefined || before.sha === found.sha || tip.name === undefined) return [];
  if (reference.kind === "tag") {
    return [`tag ${tip.name} was moved from ${before.sha} to ${found.sha}, and is followed`];
  }
  if (before.name !== tip.name) return [`the default branch is now ${tip.name}, it was ${before.name}`];
  // A push of one commit, or of a merge, says so by itself.
  if ((await clone.parentsOf(found.sha, signal)).includes(before.sha)) return [];
  return ofHistory(step, before.sha, tip.name);
}

async function ofHistory({ tip, history, signal }: Step, before: string, name: string): Promise<string[]> {
  const contained = await history.contains(tip.ref, before, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    return error instanceof SourceError ? error.message : "unknown";
  });
  if (contained === "yes") return [];
  if (contained === "no") {
    return [`the history of ${name} was rewritten: ${before}, which was followed, is not in it any more`];
  }
  const why = contained === "unknown" ? "it is not among the last commits" : contained;
  return [`whether ${name} still contains ${before}, which was followed, could not be found out: ${why}`];
}
