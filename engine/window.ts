import type { Reading } from "./core/sink.ts";

/** How long a target that does not tell its block numbers is trusted to recognise a repeat, in milliseconds. */
const trustedBlindly = 60_000;

/**
 * Whether the target still recognises a repeat of what may have been sent after `then` (delivery, the insert): it is the
 * same table, and since then less than half of its window has passed, in seconds by the server's clock and in inserts by
 * the table's block numbers, whoever wrote them. The other half is for what comes between this look and the send.
 */
export function isInsideWindow(then: Reading, now: Reading): boolean {
  if (then.table !== now.table) return false;
  const elapsed = now.time - then.time;
  const seconds = Math.min(then.window.seconds, now.window.seconds);
  const entries = Math.min(then.window.entries, now.window.entries);
  if (entries === 0 || elapsed >= (seconds * 1000) / 2) return false;
  const grown = then.blocks === undefined || now.blocks === undefined ? -1 : now.blocks - then.blocks;
  // Fewer blocks than before: parts were dropped, and the numbers tell nothing.
  return grown < 0 ? elapsed < trustedBlindly : grown < entries / 2;
}
