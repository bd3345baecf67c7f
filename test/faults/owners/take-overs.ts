import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { Random } from "../../support/random.ts";
import { insertsInFlight, Rivals, type RivalsOptions } from "./rivals.ts";
import type { RivalsAudit } from "./rivals-table.ts";

/** What the first owner of the group does when the second one comes. */
export type FirstOwner = "stands still" | "works on" | "killed" | "stopped";

export interface TakeOverReport extends RivalsAudit {
  first: FirstOwner;
  events: number;
  /** Rows of the first owner when the second one was told to take over. */
  before: number;
  /** Checks of the owner that the first one has counted. */
  checks: number;
}

/**
 * What a take-over may repeat at most: as the time in which it was written, in milliseconds, and in rows. Offsets are
 * committed ten times a second. A commit is longer under way on a busy machine, which writes fewer rows meanwhile; a fast
 * one writes more of them in that time.
 */
const most = { span: 800, rows: 10_000 };

/** A second owner takes the group over, while the first one has a backlog; resolves when all of it is written. */
export async function takeOver(first: FirstOwner, random: Random, options: RivalsOptions): Promise<TakeOverReport> {
  const rivals = await Rivals.meet(options);
  const { events } = options.backlog;
  const aWhile = (): number => 1 + random.below(Math.ceil(events / 10));
  try {
    const [one, two] = await Promise.all([rivals.start("first"), rivals.start("second")]);
    await rivals.join("first");
    await rivals.writes(one, "first", aWhile());
    await sleep(random.below(100));
    await happens(first, one);
    let stopped = await rivals.table.now();
    await rivals.join("second");
    const paused = await rivals.disowned(two);
    const before = await rivals.table.rows("first");
    await rivals.takeOver("second", paused);
    // One that works goes on until the other one joins: on a fast machine it leaves only a little.
    if (first === "stands still") await rivals.writes(two, "second", aWhile());
    let continued = await rivals.table.now();
    if (first === "stands still") process.kill(one.pid, "SIGCONT");
    if (!one.hasEnded) await rivals.disowned(one);
    await rivals.finished(two);
    // Whatever it wrote, it wrote while it worked.
    if (first === "works on") stopped = continued = await rivals.table.now();
    const checks = one.hasEnded ? 0 : (await rivals.health(one)).counters.owner_checks;
    return { ...(await rivals.table.audit(events, "first", stopped, continued)), first, events, before, checks };
  } finally {
    await rivals.clean();
  }
}

async function happens(first: FirstOwner, one: Daemon): Promise<void> {
  if (first === "killed") await one.stop("SIGKILL");
  if (first === "stopped") await one.stop();
  if (first === "stands still") process.kill(one.pid, "SIGSTOP");
}

/** What a report says that must not be; empty where every promise was kept, and the take-over came within a backlog. */
export function brokenBy(report: TakeOverReport): string[] {
  const { first, events, before, lost, strangers, repeated, byOneAlone, span, late, checks } = report;
  const claims: [boolean, string][] = [
    [lost > 0, `${lost} events are lost`],
    [strangers > 0, `${strangers} rows are of no event`],
    [byOneAlone > 0, `${byOneAlone} rows were written twice by one Sluice`],
    [first === "stopped" && repeated > 0, `${repeated} rows of a Sluice that was stopped properly were repeated`],
    [
      span > most.span && repeated > most.rows,
      `${repeated} rows that were written in ${span} ms were repeated, expected at most ${most.rows}, or those of ${most.span} ms`,
    ],
    [
      late.inserts > insertsInFlight,
      `${late.inserts} inserts came after it went on, expected those under way: ${insertsInFlight} at most`,
    ],
    [first === "stands still" && checks === 0, "expected the first owner to notice that it stood still"],
    [before >= events, "expected a backlog, found none: the first owner had written everything"],
  ];
  return claims.filter(([isBroken]) => isBroken).map(([, text]) => text);
}
