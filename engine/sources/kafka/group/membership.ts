import { LeftForLater } from "../../../core/errors.ts";
import type { Feed } from "../../../core/positions.ts";
import { Mutex } from "../../../flow/mutex.ts";
import { retryWhile } from "../../../flow/retry.ts";
import { sleep } from "../../../flow/sleep.ts";
import { waitAtMost } from "../../../flow/wait-at-most.ts";
import type { SourceSignals } from "../../../core/source.ts";
import { oneLine } from "../../../peers/foreign-text.ts";
import type { Hide } from "../../../peers/hidden-secrets.ts";
import { kafkaPartition, partitionText } from "../positions/feed.ts";
import type { GroupState, PartitionState } from "../positions/group-state.ts";
import { grouped } from "../protocol/grouped.ts";
import { claimOf, claimText, memberOf, type KafkaIdentity } from "./identity.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { type Commit, Member, type MemberOptions } from "./member.ts";
import type { Opening } from "./opening.ts";
import { judge } from "./ownership.ts";
import type { KafkaPositions } from "../positions/positions.ts";
import type { SourceFailures } from "../brokers/failures.ts";

export interface MembershipOptions {
  pipeline_id: string;
  /** Topics that the members subscribe to. */
  topics: readonly string[];
  /** How many members there are. */
  replicas: number;
  identity: KafkaIdentity;
  telemetry: Telemetry;
  positions: KafkaPositions;
  opening: Opening;
  failures: SourceFailures;
  signals: SourceSignals;
  /** Removes secrets from the names of foreign members. */
  hide: Hide;
  /** What a member needs, by its number from 1. */
  member(number: number): Omit<MemberOptions, `on${string}`>;
  /** Milliseconds between two heartbeats of a member. */
  heartbeatInterval: number;
  /** Called with the partitions that may be read from now on; no others may. */
  onHeld: (feeds: ReadonlySet<Feed>) => void;
  /** Called when the group belongs to another Sluice, or may by now: nothing more may be written before that was looked at. */
  onDoubt: () => void;
}

/** The share of the time between two heartbeats that a few answers of the brokers may take. */
const answerShare = 1 / 3;
/** How long the group is not left because of a last commit, in milliseconds. */
const lastWait = 1_000;

/**
 * The members of a pipeline in its consumer group, and the partitions that they hold together. After each join it
 * checks again which Sluice owns the group, and commits its own claim, before it reads any event of a new partition.
 */
export class Membership {
  readonly #options: MembershipOptions;
  #members: Member[] = [];
  readonly #held = new Map<Member, readonly Feed[]>();
  /** What `onHeld` was last called with. */
  #read: ReadonlySet<Feed> = new Set();
  /** Aborts when a newer assignment arrives: work for the older one stops then. */
  #assignment = new AbortController();
  #foreign = "";
  #isClosed = false;
  readonly #claims = new Mutex();
  #rejoining: Promise<void> | undefined;
  /** Where a place was taken: when its former member has surely heard of it, by the monotonic clock in milliseconds. */
  #aloneFrom: number | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  join(): void {
    const { replicas, failures } = this.#options;
    for (let number = 1; number <= replicas; number += 1) {
      const who = `member ${number} of the consumer group`;
      const member: Member = new Member({
        ...this.#options.member(number),
        onAssigned: (partitions) => this.#assigned(member, this.#feedsOf(partitions)),
        onFailure: (error, attempt) => failures.note(who, error, attempt),
        onAnswer: () => failures.clear(who),
        onReplaced: () => {
          this.#aloneFrom = performance.now() + (1 + answerShare) * this.#options.heartbeatInterval;
        },
        onFenced: () => this.#fenced(member),
        onSilence: () => {
          this.#options.onDoubt();
          this.#assigned(member, []);
        },
      });
      this.#members.push(member);
    }
  }

  /** Commits the final offsets of partitions, each by the member that holds it. Throws what kafkajs throws. */
  async commit(offsets: ReadonlyMap<Feed, number>): Promise<void> {
    const { identity } = this.#options;
    const commits: Commit[] = [...offsets].map(([feed, offset]) => {
      return { feed, offset, metadata: claimText(identity, offset) };
    });
    const holders = new Map([...this.#held].flatMap(([member, feeds]) => feeds.map((feed) => [feed, member] as const)));
    const { positions } = this.#options;
    await Promise.all(
      [...grouped(commits, ({ feed }) => holders.get(feed))].map(async ([member, own]) => {
        // A partition without a member is not committed.
        if (member === undefined) return;
        await member.commit(own);
        for (const { feed, offset } of own) positions.noteCommitted(feed, offset);
      }),
    );
  }

  async leave(): Promise<void> {
    this.#isClosed = true;
    this.#begin();
    await this.#stopMembers();
    await this.#claims.ended();
  }

  async #stopMembers(): Promise<void> {
    const members = this.#members;
    this.#members = [];
    await Promise.all(members.map((member) => member.stop()));
    this.#held.clear();
  }

  /** The partitions assigned to a member, of the topics that are read here. */
  #feedsOf(partitions: Readonly<Record<string, number[]>>): Feed[] {
    const { topics, positions } = this.#options;
    return topics.flatMap((topic) => (partitions[topic] ?? []).map((partition) => positions.feed(topic, partition)));
  }

  #assigned(member: Member, feeds: readonly Feed[]): void {
    if (this.#isClosed) return;
    this.#held.set(member, feeds);
    if (this.#aloneFrom !== undefined) {
      // One that has joined as well is about to look at the group, and to commit.
      const looked = performance.now() + answerShare * this.#options.heartbeatInterval;
      this.#aloneFrom = Math.max(this.#aloneFrom, looked);
    }
    const current = this.#begin();
    this.#claims.run(() => this.#claim(current)).catch(() => undefined);
  }

  /** A new assignment: what is done for the one before ends. */
  #begin(): AbortSignal {
    this.#assignment.abort();
    this.#assignment = new AbortController();
    return this.#assignment.signal;
  }

  /**
   * Checks which Sluice owns the group, and commits a claim on these partitions; again as long as it is not known where one of
   * them begins.
   */
  async #claim(current: AbortSignal): Promise<void> {
    const { failures } = this.#options;
    const isCurrent = (): boolean => !current.aborted;
    for (let attempt = 1; isCurrent(); attempt += 1) {
      const claimed = await retryWhile(
        isCurrent,
        () => this.#claimOnce(current),
        async (error, failed) => {
          if (!isCurrent()) return;
          failures.note("the consumer group", error, failed);
          await sleep(waitAfter(failed), current);
        },
      );
      if (claimed === undefined || !isCurrent()) return;
      if (attempt === 1) this.#tell();
      for (const { feed, missing } of claimed.unplaced) failures.note(partitionText(feed), missing, attempt);
      if (claimed.unplaced.length === 0) return;
      await sleep(Math.min(longestUnplaced, waitAfter(attempt)), current);
    }
  }

  #tell(): void {
    const { telemetry, pipeline_id } = this.#options;
    telemetry.assigned({ pipeline_id, partitions: byTopic([...this.#held.values()].flat()) });
  }

  /** Resolves with the partitions that have no place yet, as they have no leader; undefined where the group is not ours. */
  async #claimOnce(current: AbortSignal): Promise<{ unplaced: PartitionState[] } | undefined> {
    const { opening, positions, failures } = this.#options;
    const isCurrent = (): boolean => !current.aborted;
    await this.#alone(current);
    const state = await opening.read();
    if (!isCurrent()) return undefined;
    const judged = judge(state, opening.known, false);
    if (judged.kind === "owner") {
      await this.#waitForOwnership(judged.text, state);
      return undefined;
    }
    this.#reportForeign(judged.foreignMembers);
    if (opening.known.recreated.size > 0) {
      await this.rejoin();
      return undefined;
    }
    await opening.placeNew(state, judged, this.#unread(judged.taken));
    const held = new Set([...this.#held.values()].flat());
    const placed = new Map<Feed, number>();
    for (const feed of held) {
      const final = positions.final(feed);
      if (final !== undefined) placed.set(feed, final);
    }
    await this.commit(placed);
    if (!isCurrent()) return undefined;
    failures.clear("the consumer group");
    for (const feed of placed.keys()) if (!this.#read.has(feed)) failures.clear(partitionText(feed));
    this.#hold(new Set(placed.keys()));
    return { unplaced: state.partitions.filter(({ feed }) => held.has(feed) && !placed.has(feed)) };
  }

  #hold(feeds: ReadonlySet<Feed>): void {
    this.#read = feeds;
    this.#options.onHeld(feeds);
  }

  /**
   * Of the offsets that a run which is taken over went on to until it left the group, those of partitions of which nothing
   * is read or pending here.
   */
  #unread(taken: ReadonlyMap<Feed, number>): Map<Feed, number> {
    const { positions } = this.#options;
    return new Map([...taken].filter(([feed]) => !this.#read.has(feed) && positions.isSettled(feed)));
  }

  /** Commits what is final where the last claim is ours, so that the other owner need not write it again. */
  async #commitOwn({ partitions }: GroupState): Promise<void> {
    const { identity, positions } = this.#options;
    const own = partitions.filter(({ committed }) => {
      return committed !== undefined && claimOf(committed.metadata, committed.offset)?.run === identity.run;
    });
    const offsets = new Map(own.map(({ feed }) => [feed, positions.final(feed)!] as const));
    await waitAtMost(lastWait, this.commit(offsets)).catch(() => undefined);
  }

  #reportForeign(members: string[]): void {
    const { telemetry, pipeline_id, hide } = this.#options;
    const said = members.toSorted().join("\n");
    if (said === this.#foreign) return;
    this.#foreign = said;
    telemetry.foreignMembers({ pipeline_id, members: members.map((name) => oneLine(hide(name))) });
  }

  /**
   * Called when a topic was created again: leaves the group, waits until it is decided where reading goes on, and joins
   * again.
   */
  rejoin(): Promise<void> {
    return (this.#rejoining ??= this.#rejoin().finally(() => (this.#rejoining = undefined)));
  }

  async #rejoin(): Promise<void> {
    const { opening, signals, failures } = this.#options;
    const left = await this.#leaveGroup();
    const isCurrent = (): boolean => !left.aborted;
    const rejoinOnce = async (): Promise<void> => {
      await opening.checkRange(signals, { isRunning: true, onAnswered: () => failures.clear("offsets") });
      opening.pauseEnded();
      if (isCurrent()) this.join();
    };
    try {
      await retryWhile(isCurrent, rejoinOnce, async (error, attempt) => {
        if (error instanceof LeftForLater) throw error;
        failures.note("offsets", error, attempt);
        await sleep(waitAfter(attempt), AbortSignal.any([signals.drain, left]));
      });
    } catch (error) {
      if (!(error instanceof LeftForLater)) throw error;
    }
  }

  /** Stops reading and leaves the group. Resolves with a signal that aborts at the next assignment. */
  async #leaveGroup(): Promise<AbortSignal> {
    this.#hold(new Set());
    const current = this.#begin();
    await this.#stopMembers();
    return current;
  }

  /**
   * Called when another process took the place of a member. Nothing is read, and nothing is written before it was looked whose
   * the group is. That is decided when it has joined again: only then it can commit what is final before it leaves.
   */
  #fenced(member: Member): void {
    if (this.#isClosed) return;
    this.#options.onDoubt();
    this.#held.set(member, []);
    this.#begin();
    this.#hold(new Set());
  }

  /**
   * Waits where the place of another member was taken. That may be no ghost but a process that runs on a copy of the data
   * dir: it hears of it with its next heartbeat, joins again, and commits what it has written; the claims look at that.
   */
  async #alone(current: AbortSignal): Promise<void> {
    if (this.#aloneFrom === undefined) return;
    await sleep(Math.max(0, this.#aloneFrom - performance.now()), current);
    if (current.aborted) return;
    await Promise.all([...this.#held.keys()].map((member) => member.confirm()));
    this.#aloneFrom = undefined;
  }

  /**
   * Called when another Sluice owns the group, which stands so: writes and reads nothing, leaves it, and joins again when the
   * group is ours.
   */
  async #waitForOwnership(text: string, state: GroupState): Promise<void> {
    const { opening, signals, onDoubt, identity } = this.#options;
    onDoubt();
    await this.#commitOwn(state);
    const left = await this.#leaveGroup();
    let reason = text;
    for (let attempt = 1; !left.aborted; attempt += 1) {
      await opening.wait({ class: "owner", text: reason }, attempt, signals);
      const now = await opening.read().catch(() => undefined);
      const judged = now && judge(now, opening.known, false);
      if (judged?.kind === "owner") reason = judged.text;
      if (judged?.kind !== "ours" || left.aborted) continue;
      // While a group shares out, a place whose member was replaced shows an earlier run; here all have left.
      if (now?.members?.some((client) => memberOf(client)?.dataDir === identity.dataDir) === true) continue;
      opening.pauseEnded();
      this.join();
      return;
    }
  }
}

/** How long to wait until it is looked again whether a partition has a leader, in milliseconds. */
const longestUnplaced = 1_000;

/** How long to wait after so many failed attempts, in milliseconds. */
function waitAfter(attempt: number): number {
  return Math.min(5_000, 200 * attempt);
}

function byTopic(feeds: Iterable<Feed>): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (const feed of feeds) {
    const { topic, partition } = kafkaPartition(feed)!;
    (found[topic] ??= []).push(partition);
  }
  for (const partitions of Object.values(found)) partitions.sort((a, b) => a - b);
  return found;
}
