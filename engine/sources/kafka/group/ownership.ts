import type { Feed } from "../../../core/positions.ts";
import { kafkaPartition, partitionText } from "../positions/feed.ts";
import type { GroupState, PartitionState } from "../positions/group-state.ts";
import { claimOf, memberOf, type Claim, type KafkaIdentity } from "./identity.ts";

/** The local facts about a group, and the options. */
export interface Known {
  groupId: string;
  identity: KafkaIdentity;
  /** The offset after the last final one of a partition; undefined where nothing is final in it. */
  next: (feed: Feed) => number | undefined;
  /** The run that may be taken over. */
  takeOver: string | undefined;
  /**
   * The offset up to which a partition had been read before its log was cut and reading went back; undefined where it
   * did not.
   */
  readBeforeCut: (feed: Feed) => number | undefined;
  /** Whether the log of a partition was cut and it is undecided where it goes on. */
  isCut: (feed: Feed) => boolean;
  /** Topics that were created again and are not read yet. */
  recreated: ReadonlySet<string>;
}

/** Stands for the members of a group that cannot be read. */
const unreadableMembers = "members that cannot be read";

/** What follows from the state of a group (docs/delivery-protocol.md, Kafka). */
export type Judgement =
  /** Another Sluice reads, or has read, with this group: nothing may be read. */
  | { kind: "owner"; text: string; run: string }
  | {
      kind: "ours";
      /** Partitions with a local offset that a person has moved: the next offset. */
      moved: Map<Feed, number>;
      /** Offsets that another application has committed in such partitions; they are ignored. */
      foreign: Map<Feed, number>;
      /** The group's offsets of partitions without a local offset. */
      found: Map<Feed, number>;
      /**
       * Partitions of a run that is taken over: the next offset. After a join only those in which that run has gone on
       * beyond the local offset, which was not set back meanwhile because events were gone.
       */
      taken: Map<Feed, number>;
      /** Partitions without an offset, both here and in the group. */
      fresh: Feed[];
      /** Client ids of live members that are other applications. */
      foreignMembers: string[];
    };

/**
 * Judges the state of a group. A person committed an offset without a claim if it is found `isBeforeJoin` in a group that is known
 * to have no members, as brokers refuse to move a group that has some, and if it does not name what was read, as only consumers
 * do. Otherwise another application committed it, and it is ignored.
 */
export function judge(state: GroupState, known: Known, isBeforeJoin: boolean): Judgement {
  const members = (state.members ?? []).map((client) => ({ client, claim: memberOf(client) }));
  const owner = ownerOf(state, known, members);
  if (owner !== undefined) return owner;
  const judged = {
    kind: "ours" as const,
    moved: new Map<Feed, number>(),
    foreign: new Map<Feed, number>(),
    found: new Map<Feed, number>(),
    taken: new Map<Feed, number>(),
    fresh: [] as Feed[],
    foreignMembers:
      state.members === undefined
        ? [unreadableMembers]
        : members.flatMap(({ client, claim }) => (claim === undefined ? [client] : [])),
  };
  const when = { isBeforeJoin, isPerson: isBeforeJoin && state.members?.length === 0 };
  for (const of of state.partitions) judgePartition(of, known, when, judged);
  return judged;
}

function judgePartition(
  { feed, committed }: PartitionState,
  { next, takeOver, isCut, readBeforeCut, recreated }: Known,
  { isBeforeJoin, isPerson }: { isBeforeJoin: boolean; isPerson: boolean },
  judged: Extract<Judgement, { kind: "ours" }>,
): void {
  const local = next(feed);
  if (committed === undefined) {
    if (local === undefined) judged.fresh.push(feed);
    return;
  }
  const claim = claimOf(committed.metadata, committed.offset);
  const isMove = isPerson && !committed.isByConsumer;
  const isTakenOver = claim !== undefined && claim.run === takeOver;
  const wasSetBack = isCut(feed) || readBeforeCut(feed) !== undefined;
  const isFurther = local !== undefined && committed.offset > local && !wasSetBack;
  if (isTakenOver && (isBeforeJoin || isFurther)) judged.taken.set(feed, committed.offset);
  else if (local === undefined) {
    // A claim on a topic that was created again belongs to the former topic.
    if (claim !== undefined && recreated.has(kafkaPartition(feed)!.topic)) judged.fresh.push(feed);
    else judged.found.set(feed, committed.offset);
  } else if (claim === undefined && (committed.offset !== local || (isMove && isCut(feed)))) {
    (isMove ? judged.moved : judged.foreign).set(feed, committed.offset);
  }
}

/** The Sluice that owns this group, if it is another one. */
function ownerOf(
  { partitions }: GroupState,
  known: Known,
  members: readonly { client: string; claim: Claim | undefined }[],
): Judgement | undefined {
  const { identity, groupId, takeOver } = known;
  const isForeign = (claim: Claim): boolean =>
    claim.run !== takeOver && (claim.dataDir !== identity.dataDir || !isKnown(claim.run, identity));
  for (const { client, claim } of members) {
    if (claim !== undefined && isForeign(claim)) return ownedBy(known, claim, `has the live member ${client}`);
  }
  for (const { feed, committed } of partitions) {
    const claim = committed && claimOf(committed.metadata, committed.offset);
    if (claim === undefined || claim.run === takeOver) continue;
    if (isForeign(claim)) return ownedBy(known, claim, `was read in ${partitionText(feed)}`);
    const local = known.next(feed);
    if (local === undefined || committed!.offset <= Math.max(local, known.readBeforeCut(feed) ?? 0)) continue;
    const what = `was read in ${partitionText(feed)} up to offset ${committed!.offset} by run ${claim.run} of this data dir, and here only ${local} is known: this is an older copy of it`;
    return { kind: "owner", run: claim.run, text: `consumer group ${groupId} ${what}` };
  }
  return undefined;
}

function ownedBy(known: Known, claim: Claim, what: string): Judgement {
  const { groupId, identity } = known;
  const text =
    `consumer group ${groupId} ${what} by the data dir ${claim.dataDir}, run ${claim.run}; ` +
    `this is the data dir ${identity.dataDir}, run ${identity.run}`;
  return { kind: "owner", run: claim.run, text };
}

function isKnown(run: string, { run: current, earlier }: KafkaIdentity): boolean {
  return run === current || earlier.has(run);
}
