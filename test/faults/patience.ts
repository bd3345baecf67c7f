import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";

/** Between two looks, in milliseconds. */
const pause = 100;

/** For what takes minutes on a machine that is busy, in milliseconds. */
export const longPatience = 600_000;

/**
 * Looks again and again until it is so; what the look throws meanwhile is no answer yet. Throws the daemon's last lines
 * if that takes more than `limit` milliseconds, or the daemon ends.
 */
export async function until(
  daemon: Daemon,
  what: string,
  isSo: () => Promise<boolean> | boolean,
  limit = 60_000,
): Promise<void> {
  let cause: unknown;
  for (const end = Date.now() + limit; Date.now() < end && isAlive(daemon); await sleep(pause)) {
    try {
      if (await isSo()) return;
    } catch (error) {
      cause = error;
    }
  }
  throw inVain(daemon, what, cause);
}

/** Resolves when the daemon has ended by itself. */
export async function died(daemon: Daemon, what: string, limit = 60_000): Promise<void> {
  const deadline = new AbortController();
  const late = sleep(limit, undefined, { signal: deadline.signal }).then(
    () => Promise.reject(inVain(daemon, what)),
    () => undefined,
  );
  await Promise.race([daemon.ended(), late]).finally(() => deadline.abort());
}

function isAlive({ pid }: Daemon): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function inVain(daemon: Daemon, what: string, cause?: unknown): Error {
  const text = `waited in vain for sluice run ${what}; its last lines were:\n${daemon.log.slice(-20).join("\n")}`;
  return new Error(text, { cause });
}
