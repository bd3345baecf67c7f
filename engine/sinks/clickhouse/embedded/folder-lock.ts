import { openSync } from "node:fs";
import { join } from "node:path";
import { waitForLock } from "fs-native-extensions";
import { sleep } from "../../../flow/sleep.ts";

/** Another process has the folder. */
export class Held extends Error {
  override readonly name = "Held";
}

/**
 * Takes a folder for as long as this process lives, before the engine does it with a lock of its own: what is to be
 * mended in there, is mended before the engine opens it.
 *
 * @throws Held after `waitMs`. It then waits on, so the process should end.
 */
export async function takeFolder(folder: string, waitMs: number): Promise<void> {
  const timer = new AbortController();
  const refusal = sleep(waitMs, timer.signal).then(() => {
    if (!timer.signal.aborted) throw new Held(`another process holds ${folder}`);
  });
  try {
    // Never closed: the system drops the lock with the process.
    await Promise.race([waitForLock(openSync(join(folder, "lock"), "a", 0o600)), refusal]);
  } finally {
    timer.abort();
    refusal.catch(() => undefined);
  }
}
