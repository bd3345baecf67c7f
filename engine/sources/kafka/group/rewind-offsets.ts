import type { RewindTo } from "../../../../schemas/pipeline.ts";
import type { Feed } from "../../../core/positions.ts";
import { partitionOf } from "../positions/feed.ts";
import type { Group } from "./group.ts";

/** A partition, and the first offset that the brokers have of it. */
interface KnownPartition {
  feed: Feed;
  first: number;
}

/** Whether a rewind is of this partition. */
export function isMeant(to: RewindTo, feed: Feed): boolean {
  return to.kind !== "offsets" || offsetIn(to, feed) !== undefined;
}

/** Partitions that are meant, each with the offset that is asked for, which may be gone. Throws what the client throws. */
export async function rewindOffsets(
  group: Pick<Group, "offsetsSince">,
  to: RewindTo,
  known: readonly KnownPartition[],
): Promise<(KnownPartition & { next: number })[]> {
  if (to.kind === "earliest") return known.map((one) => ({ ...one, next: one.first }));
  if (to.kind === "offsets") return known.map((one) => ({ ...one, next: offsetIn(to, one.feed)! }));
  const since = await group.offsetsSince(
    known.map(({ feed }) => partitionOf(feed)),
    to.time,
  );
  return known.map((one, index) => ({ ...one, next: since[index]! }));
}

function offsetIn({ offsets }: Extract<RewindTo, { kind: "offsets" }>, feed: Feed): number | undefined {
  const { topic, partition } = partitionOf(feed);
  return offsets.find((one) => one.topic === topic && one.partition === partition)?.offset;
}
