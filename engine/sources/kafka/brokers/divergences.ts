import type { Feed } from "../../../core/positions.ts";
import type { KafkaClient, Leader } from "./client.ts";
import { brokerError } from "./requests.ts";
import { partitionOf } from "../positions/feed.ts";

/** How far a partition was read. */
export interface ReadUpTo {
  feed: Feed;
  /** The offset after the last that was read. */
  next: number;
  /** The leadership in which that was written. */
  epoch: number;
  leader: Leader;
}

/**
 * Of partitions that a node leads, those whose log there is not the one that was read: the offset at which they part, at most
 * `next`; or an error where the node does not lead any more. An election of a replica that lacked the newest events (an
 * unclean one) leaves such a log, and it may have grown past what was read.
 */
export async function divergences(
  client: KafkaClient,
  node: number,
  read: readonly ReadUpTo[],
): Promise<Map<Feed, number | Error>> {
  const places = read.map(({ feed, epoch, leader }) => ({ ...partitionOf(feed), epoch, leaderEpoch: leader.epoch }));
  const ends = await client.epochEnds(node, places);
  const found = new Map<Feed, number | Error>();
  for (const [index, { feed, next, epoch }] of read.entries()) {
    const end = ends[index];
    // A broker that does not say it.
    if (end === undefined) continue;
    if (end.errorCode !== 0) found.set(feed, brokerError(end.errorCode));
    // It has nothing of this leadership, and does not say how far the ones before it go.
    else if (end.end < 0) found.set(feed, next);
    else if (end.epoch < epoch || end.end < next) found.set(feed, Math.min(next, end.end));
  }
  return found;
}
