import type { Fault } from "./fault.ts";
import type { Witnessed } from "./witnessed-engine.ts";

/** What one fault did. */
export interface Verdict {
  name: string;
  /** The reason that was given while it lasted; empty where it healed without one. */
  told: string;
  /** Events that running pipelines accepted and refused meanwhile. */
  accepted: number;
  refused: number;
  /** Seconds from its end until everything was as the newest commit says. */
  converged: number;
  /** Promises that were not kept; empty where all were. */
  broken: string[];
}

/** What is held against a fault when it is over. */
export interface Evidence {
  /** Calls since it began. */
  calls: readonly Witnessed[];
  /** When it ended: milliseconds since the epoch. */
  ended: number;
  /** Such as `kept-1: 503`. */
  refused: readonly string[];
  /** Where a secret stands in plain text. */
  leaks: readonly string[];
  /** Pipelines that do not run any more. */
  down: readonly string[];
  hasConverged: boolean;
}

/** The invariants of every fault: those that were broken. */
export function brokenBy(fault: Fault, { calls, ended, refused, leaks, down, hasConverged }: Evidence): string[] {
  const names = calls.map(nameOf);
  const allowed = new Set<string>(["tag edited", ...(fault.calls ?? [])]);
  const unexpected = names.filter((name) => !allowed.has(name));
  const effective = calls.filter(({ result }) => result === "success").map(nameOf);
  const twice = fault.pushes ? [] : effective.filter((name, index) => effective.indexOf(name) !== index);
  const mayGoOn = fault.told === undefined || fault.isHarmless === true || fault.of !== undefined;
  const early = mayGoOn ? [] : calls.filter(({ at }) => at < ended).map(nameOf);
  const spared = refused.filter((one) => !(fault.interrupts ?? []).some((id) => one.startsWith(`${id}:`)));
  const claims: [boolean, string][] = [
    [!hasConverged, "it did not converge to the newest commit"],
    [unexpected.length > 0, `unexpected calls: ${unexpected.join(", ")}`],
    [fault.terminates !== true && names.some((name) => name.startsWith("terminate")), "terminate was used"],
    [twice.length > 0, `called twice with effect: ${twice.join(", ")}`],
    [early.length > 0, `changed before the fault ended: ${early.join(", ")}`],
    [spared.length > 0, `events were refused: ${[...new Set(spared)].join(", ")}`],
    [down.length > 0, `not running at the end: ${down.join(", ")}`],
    [leaks.length > 0, `a secret stands in ${leaks.join(", ")}`],
  ];
  return claims.filter(([isBroken]) => isBroken).map(([, text]) => text);
}

function nameOf({ call, pipeline_id }: Witnessed): string {
  return `${call} ${pipeline_id}`;
}
