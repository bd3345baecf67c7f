import { holdsPositions, rangesOf, type BatchRecord } from "../../core/journal.ts";
import type { Feed, PositionRange } from "../../core/positions.ts";

/**
 * Of pending batches, in their order, those that a run that is taken over may have read. `upTo`: the next offset of that
 * run in a feed; undefined where it has none. Behind the first of them in a feed nothing pending is kept: that feed is
 * read again from there, in its order.
 */
export function readByAnother(
  pending: readonly BatchRecord[],
  upTo: (feed: Feed) => number | undefined,
): BatchRecord[] {
  const again = new Set<Feed>();
  const isRead = ({ feed, first }: PositionRange): boolean => again.has(feed) || first < (upTo(feed) ?? -Infinity);
  return pending.filter((record) => {
    // The offsets of released duplicates are final: no other run has read them as its own.
    if (!holdsPositions(record) || !rangesOf(record).some(isRead)) return false;
    for (const { feed } of rangesOf(record)) again.add(feed);
    return true;
  });
}
