import type { Feed } from "../../core/positions.ts";
import { kafkaPartition, partitionText } from "./feed.ts";
import type { GroupStanding, PartitionStanding } from "./group.ts";
import { claimOf } from "./identity.ts";
import type { KafkaPositions } from "./positions.ts";
import type { Recreated } from "./topic-ids.ts";

/** What was to be read next and is not in the topic (delivery, Kafka). */
export type Lost =
  /** The topic was deleted and created again. Nothing of the new one has been read. */
  | ({ kind: "recreated"; partitions: PartitionStanding[] } & Recreated)
  /** The log ends, or ended when it was looked at first, before the next offset: it has lost events. */
  | { kind: "cut"; feed: Feed; next: number; low: number; end: number }
  /** The log begins behind the next offset: its first events were removed. */
  | { kind: "removed"; feed: Feed; next: number; low: number; end: number };

/** The first thing that is lost, of all partitions or of this one; undefined where nothing is. */
export function findLost(standing: GroupStanding, positions: KafkaPositions, only?: Feed): Lost | undefined {
  const recreated = positions.recreated().find(({ topic }) => only === undefined || isOf(topic, only));
  if (recreated !== undefined) {
    const partitions = standing.partitions.filter((of) => isOf(recreated.topic, of.feed));
    return { kind: "recreated", ...recreated, partitions };
  }
  for (const feed of only === undefined ? positions.feeds : [only]) {
    // A topic has never fewer partitions than before: one that is gone ends before everything.
    const { low, high } = standing.partitions.find((of) => of.feed === feed) ?? { low: 0, high: 0 };
    const next = positions.next(feed);
    const cut = positions.cut(feed);
    if (next === undefined) continue;
    if (cut !== undefined || next > high) {
      return { kind: "cut", feed, next, low, end: Math.min(high, cut?.end ?? Infinity) };
    }
    if (next < low) return { kind: "removed", feed, next, low, end: high };
  }
  return undefined;
}

function isOf(topic: string, feed: Feed): boolean {
  return kafkaPartition(feed)!.topic === topic;
}

/** What is lost, as a person reads it. */
export function lostText(lost: Lost): string {
  if (lost.kind === "recreated") {
    const { topic, from, to } = lost;
    return `topic ${topic} was deleted and created again: its id was ${from} and is ${to}, and nothing of the new one is read`;
  }
  const { feed, next, low, end } = lost;
  const who = `${partitionText(feed)} goes on at offset ${next}`;
  if (lost.kind === "removed") return `${who}, and the brokers have ${low} to ${end}`;
  return `${who}, and its log ended at ${end}: events were lost there, or the topic is another one`;
}

/**
 * Where a person has put the consumer group meanwhile, in every partition that is lost; undefined where that is not so.
 * Brokers let nobody move a group that has members.
 */
export function placedByPerson(lost: Lost, { partitions, members }: GroupStanding): Map<Feed, number> | undefined {
  if (members.length > 0) return undefined;
  const feeds = lost.kind === "recreated" ? lost.partitions.map(({ feed }) => feed) : [lost.feed];
  const placed = new Map<Feed, number>();
  for (const feed of feeds) {
    const of = partitions.find((one) => one.feed === feed);
    if (of?.committed === undefined) return undefined;
    const { offset, metadata } = of.committed;
    if (claimOf(metadata, offset) !== undefined || offset < of.low || offset > of.high) return undefined;
    placed.set(feed, offset);
  }
  return placed.size === 0 ? undefined : placed;
}
