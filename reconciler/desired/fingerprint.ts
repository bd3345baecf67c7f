import { createHash } from "node:crypto";
import type { EngineOptions, PipelineConfig } from "../../schemas/index.ts";
import { shown } from "./shown.ts";
import type { DesiredPipeline } from "./desired-state.ts";

const made = new WeakMap<DesiredPipeline, string>();

/**
 * A digest of what a file asks of the engine, without plain-text secrets: two files that differ only in such a secret
 * have the same. Directives to the reconciler alone, such as `drift`, are not part of it.
 */
export function fingerprintOf(desired: DesiredPipeline): string {
  let found = made.get(desired);
  if (found === undefined) {
    found = fingerprint(desired, desired.directives.state);
    made.set(desired, found);
  }
  return found;
}

/** The same digest of what the engine holds; only a file has a `state`. */
export function fingerprint(of: { config: PipelineConfig; options: EngineOptions }, state = ""): string {
  const text = JSON.stringify([shown(of.config, []), shown(of.options, ["x-sluice"]), state]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

/** All that a file asks for, as one text for comparison. It may hold a secret and is kept in memory only. */
export function wishOf({ config, options, directives }: DesiredPipeline): string {
  return JSON.stringify([config, options, directives]);
}
