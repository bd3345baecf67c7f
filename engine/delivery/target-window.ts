import type { Reading } from "../core/sink.ts";

/** How long a target whose block numbers are not known is trusted to recognise a repeat, in milliseconds. */
const trustedBlindly = 60_000;

/**
 * Whether the target still recognises a repeat of what may have been sent after `then` (docs/delivery-protocol.md,
 * "Uncertain batches"): it is the same table, and since then less than half of its window has passed, in seconds by the
 * server's clock and in inserts by the table's block numbers, of any writer. The other half is for writes between this
 * check and the insert.
 */
export function isInsideWindow(then: Reading, now: Reading): boolean {
  return isInside(then, now, then.window, now.window);
}

/**
 * Whether a repeat can complete the only view that the target has, which failed: the target drops it, and the table of the
 * view has nothing of the batch that a repeat could double, whatever that table remembers.
 */
export function completesOnlyView(then: Reading, now: Reading): boolean {
  const [own, views] = [now.own, Object.keys(now.views ?? {})];
  if (then.own === undefined || own === undefined || views.length !== 1) return false;
  return Object.keys(then.views ?? {}).length === 1 && isInside(then, now, then.own, own);
}

type Window = Reading["window"];

function isInside(then: Reading, now: Reading, before: Window, since: Window): boolean {
  if (!isSameTable(then, now)) return false;
  const elapsed = passedBetween(then, now) ?? Infinity;
  const seconds = Math.min(before.seconds, since.seconds);
  const entries = Math.min(before.entries, since.entries);
  if (entries === 0 || (seconds !== Infinity && elapsed >= (seconds * 1000) / 2)) return false;
  const grown = grownBetween(then, now);
  return grown === undefined ? elapsed < trustedBlindly : grown < entries / 2;
}

/**
 * Block numbers that were used between two readings; undefined where they prove nothing: they were not read, or there are
 * fewer than before, as parts were dropped. In a replicated table each partition counts its own, so that the sum would hide
 * what was inserted while a partition was dropped.
 */
function grownBetween(then: Reading, now: Reading): number | undefined {
  if (then.partitions !== undefined && now.partitions !== undefined) {
    const { partitions } = now;
    const isLess = ([id, used]: [string, number]): boolean => (partitions[id] ?? 0) < used;
    if (Object.entries(then.partitions).some(isLess)) return undefined;
    const before = then.partitions;
    return Object.entries(partitions).reduce((sum, [id, used]) => sum + used - (before[id] ?? 0), 0);
  }
  if (then.blocks === undefined || now.blocks === undefined) return undefined;
  return now.blocks < then.blocks ? undefined : now.blocks - then.blocks;
}

/**
 * Whether a repeat may reach another table than the one that was read first: `CREATE ... ON CLUSTER` gives one UUID to a
 * table of each server.
 */
export function mayBeElsewhere(then: Reading, now: Reading): boolean {
  if (then.isOneOfSeveral === true || now.isOneOfSeveral === true) return true;
  return then.server !== undefined && now.server !== undefined && then.server !== now.server;
}

function isSameTable(then: Reading, now: Reading): boolean {
  return then.table === now.table && !mayBeElsewhere(then, now);
}

/** Milliseconds by the server's clock; where that was set back, by ours; undefined where both were. */
function passedBetween(then: Reading, now: Reading): number | undefined {
  return [now.time - then.time, now.taken - then.taken].find((elapsed) => elapsed >= 0);
}

/** How far two clocks may drift apart: by a thousandth, which is more than clocks are corrected by. */
const drift = 1 / 1000;

/**
 * Whether the server may have been started after `then` was read, so that it may have kept the token of an insert
 * without its rows (docs/delivery-protocol.md, "Uncertain batches"). A server that had run for a second by `then` can be
 * distinguished from one that was started since; one whose clock was set forward, or whose machine stood still, cannot.
 * Always false for a table whose tokens can be believed.
 */
export function mayHaveRestarted(then: Reading, now: Reading): boolean {
  if (now.isReplicated === true || now.uptime === undefined) return false;
  const elapsed = (passedBetween(then, now) ?? 0) / 1000;
  return hasRunShorter(then, now) || now.uptime <= (then.uptime ?? 0) + elapsed * (1 - drift) - 1;
}

/** Only a start explains that: the uptime of a server never goes back, whatever its clock does. */
function hasRunShorter(then: Reading, now: Reading): boolean {
  return now.uptime !== undefined && then.uptime !== undefined && now.uptime < then.uptime;
}

/**
 * Where a batch stands that may have been sent after `then`.
 *
 * - `recognised`: a repeat with its token writes what is missing, and nothing else.
 * - `absent`: the table holds no row of it, and what was sent has ended with the server, which was started since.
 * - `uncertain`: neither is known.
 */
export type Standing = "recognised" | "absent" | "uncertain";

export function standingOf(then: Reading, now: Reading): Standing {
  if (isSameTable(then, now) && mayHaveRestarted(then, now)) {
    const isEnded = hasRunShorter(then, now) && then.blocks !== undefined && then.blocks === now.blocks;
    return isEnded ? "absent" : "uncertain";
  }
  return isInsideWindow(then, now) ? "recognised" : "uncertain";
}
