import { backOff } from "../../../flow/back-off.ts";
import type { Feed } from "../../../core/positions.ts";
import { sleep } from "../../../flow/sleep.ts";
import { waitAtMost } from "../../../flow/wait-at-most.ts";
import type { KafkaClient, Joined, MemberClient, MemberId, MemberName } from "../brokers/client.ts";
import { groupErrorOf } from "../brokers/failures.ts";
import type { KafkaSettings } from "../brokers/settings.ts";
import { partitionOf } from "../positions/feed.ts";
import {
  type Assignment,
  assignmentBytes,
  decodeAssignment,
  sharedOut,
  subscriptionBytes,
} from "../protocol/assignment.ts";

export interface MemberOptions {
  /** Its own: the broker answers nothing else on its connection while a join waits for other members. */
  client: KafkaClient;
  /** Of the pipeline, by which it leaves also while it joins. */
  leaving: KafkaClient;
  groupId: string;
  /** Its name in the group over all runs, where brokers know static members. */
  instanceId: string;
  /** Tells others its run. */
  clientId: string;
  topics: readonly string[];
  settings: KafkaSettings;
  /** Called when the group has assigned these partitions, by topic; maybe again with the same ones. */
  onAssigned: (partitions: Assignment) => void;
  /** Called when it has taken the place of another one, which may be a process that runs. */
  onReplaced: () => void;
  /** Called when another process has taken its place, and its partitions: it joins again, and replaces nobody. */
  onFenced: () => void;
  /** Called when nothing was heard for a session: the group may have given the partitions to others. */
  onSilence: () => void;
  /** Called when the coordinator does not answer it, or refuses it: with the error, and the number of attempts that failed. */
  onFailure: (error: unknown, attempt: number) => void;
  /** Called when the coordinator answers it again. */
  onAnswer: () => void;
}

/** An offset to commit for a partition. */
export interface Commit {
  feed: Feed;
  /** The next offset to read. */
  offset: number;
  metadata: string;
}

/** The name of the way to share partitions out, which all members must know: that of kafkajs. */
const protocol = "RoundRobinAssigner";
const [firstWait, longestWait] = [200, 1_000];
/** How long a member that stops waits to leave its group, in milliseconds. */
const longestLeave = 3_000;
/** The longest that a group may take to share its partitions out anew, at the least, in milliseconds. */
const leastRebalance = 60_000;

/**
 * A member of the consumer group. It holds partitions, sends heartbeats and commits; it does not fetch events, which the fetcher
 * does, also while the group shares its partitions out anew.
 *
 * joining   until the coordinator has a place for it; with the id that it had
 *     member    heartbeats and commits, until the group shares out anew, or does not know it any more
 *         unheard   the coordinator is away, or moves: it keeps its id and its partitions for a session, as the group does
 */
export class Member {
  readonly #options: MemberOptions;
  readonly #client: MemberClient;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  /** Its name in the group; without a member id before it was given one, and when that is not known there any more. */
  #name: MemberName;
  #isFenced = false;
  /** Undefined while it is no member. */
  #id: MemberId | undefined;
  /** When the last request was sent that the coordinator took as one of this member, by the monotonic clock in milliseconds. */
  #heard = -Infinity;
  #session: NodeJS.Timeout | undefined;
  /** Of the member that shares out: how many partitions each topic had. */
  #shared: string | undefined;
  /** Ends the wait for the next heartbeat. */
  #nudge = new AbortController();

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#client = options.client.member(options.groupId);
    this.#name = this.#new;
    this.#running = this.#run();
  }

  /** Throws what the client throws: a member cannot commit partitions that it has lost. */
  async commit(commits: readonly Commit[]): Promise<void> {
    const places = commits.map(({ feed, offset, metadata }) => ({ ...partitionOf(feed), offset, metadata }));
    await this.#asMember((id) => this.#client.commit(id, places));
  }

  /** Resolves where the group goes on as this member knows it. Throws what the client throws. */
  async confirm(): Promise<void> {
    await this.#asMember((id) => this.#client.heartbeat(id));
  }

  async #asMember(ask: (id: MemberId) => Promise<void>): Promise<void> {
    const id = this.#id;
    if (id === undefined) throw new Error("expected a member of the group, found none: it joins again");
    const sent = performance.now();
    try {
      await ask(id);
      this.#hear(sent);
    } catch (error) {
      // It hears what that means with its next heartbeat, which need not wait.
      if (groupErrorOf(error) !== undefined) this.#nudge.abort();
      throw error;
    }
  }

  /** Leaves the group. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#session);
    const { leaving, groupId, client } = this.#options;
    // Also while it joins: then the coordinator takes the place back that it was about to get.
    const left = leaving.member(groupId).leave(this.#name);
    await waitAtMost(
      longestLeave,
      left.catch(() => undefined),
    );
    await client.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    for (let attempt = 1; !signal.aborted;) {
      try {
        await this.#join();
        attempt = 1;
        await this.#stay();
      } catch (error) {
        if (signal.aborted) return;
        if (this.#isForgotten(error)) continue;
        this.#options.onFailure(error, attempt);
        await sleep(backOff(attempt, firstWait, longestWait), signal);
        attempt += 1;
      }
    }
  }

  /** Who was fenced comes back without an instance id: two processes would take the place from each other for ever. */
  get #new(): MemberName {
    return { memberId: "", instanceId: this.#isFenced ? undefined : this.#options.instanceId };
  }

  /** Whether the group shares out anew, or this member has no place in it (any more): then it joins at once. */
  #isForgotten(error: unknown): boolean {
    const kind = groupErrorOf(error);
    if (kind === "fenced") {
      const wasStatic = !this.#isFenced;
      this.#isFenced = true;
      this.#name = this.#new;
      this.#id = undefined;
      clearTimeout(this.#session);
      this.#options.onFenced();
      return wasStatic;
    }
    if (kind === "unknown") {
      const wasKnown = this.#name.memberId !== "";
      this.#name = this.#new;
      // Another time it waits: a group that knows no member that it has just named would be asked in a tight loop.
      return wasKnown;
    }
    return kind === "rebalances" && this.#heard > performance.now() - firstWait;
  }

  async #join(): Promise<void> {
    const { onAssigned, onAnswer } = this.#options;
    let joined = await this.#joinOnce();
    while (joined.kind === "again") {
      this.#name = joined.member;
      joined = await this.#joinOnce();
    }
    const { id, others } = joined;
    this.#name = { memberId: id.memberId, instanceId: id.instanceId };
    this.#hear(performance.now());
    const shares = others && (await this.#share(others.map(({ memberId }) => memberId)));
    const assignment = decodeAssignment(await this.#client.sync(id, shares?.bytes ?? new Map()));
    if (this.#stopped.signal.aborted) return;
    this.#hear(performance.now());
    this.#id = id;
    this.#shared = shares?.counts;
    onAnswer();
    onAssigned(assignment);
  }

  async #joinOnce(): Promise<Joined> {
    const { clientId, topics, settings, onReplaced } = this.#options;
    const { sessionTimeout } = settings;
    const rebalanceTimeout = Math.max(sessionTimeout, leastRebalance);
    const metadata = subscriptionBytes(topics, clientId);
    const times = { sessionTimeout, rebalanceTimeout };
    const joined = await this.#client.join({ ...this.#name, ...times, protocol, metadata });
    if (joined.hasReplaced) onReplaced();
    return joined;
  }

  /** What each member gets, and of how many partitions that is. */
  async #share(members: readonly string[]): Promise<{ bytes: Map<string, Buffer>; counts: string }> {
    const topics = await this.#partitions();
    const shares = [...sharedOut(members, topics)].map(([member, share]) => [member, assignmentBytes(share)] as const);
    return { bytes: new Map(shares), counts: countsOf(topics) };
  }

  async #partitions(): Promise<OfTopic[]> {
    const { client, topics } = this.#options;
    return Promise.all(
      topics.map(async (topic) => {
        return { topic, partitions: [...(await client.leaders(topic)).keys()].toSorted((a, b) => a - b) };
      }),
    );
  }

  /** Whether topics have other partitions than this member has shared out. */
  async #hasGrown(): Promise<boolean> {
    if (this.#shared === undefined) return false;
    // Where nobody says it now, it is asked again after the next heartbeat.
    const topics = await this.#partitions().catch(() => undefined);
    return topics !== undefined && countsOf(topics) !== this.#shared;
  }

  /** Sends heartbeats until it has to join again, also as its session is over. Throws where the group has forgotten it. */
  async #stay(): Promise<void> {
    const { settings, onAnswer, onFailure } = this.#options;
    const { signal } = this.#stopped;
    let failures = 0;
    for (;;) {
      const wait = failures === 0 ? settings.heartbeatInterval : backOff(failures, firstWait, longestWait);
      await sleep(wait, AbortSignal.any([signal, this.#nudge.signal]));
      const id = this.#id;
      if (signal.aborted || id === undefined) return;
      this.#nudge = new AbortController();
      const sent = performance.now();
      try {
        await this.#client.heartbeat(id);
        this.#hear(sent);
        if (failures > 0) onAnswer();
        failures = 0;
        if (await this.#hasGrown()) return;
      } catch (error) {
        const kind = groupErrorOf(error);
        if (kind === "rebalances") this.#hear(sent);
        if (kind !== undefined) throw error;
        failures += 1;
        onFailure(error, failures);
      }
    }
  }

  /** The coordinator took a request that was sent at this time. From then on a session has to pass until it forgets this member. */
  #hear(sent: number): void {
    if (sent <= this.#heard || this.#stopped.signal.aborted) return;
    this.#heard = sent;
    clearTimeout(this.#session);
    const over = (): void => {
      this.#id = undefined;
      this.#options.onSilence();
      this.#nudge.abort();
    };
    const left = sent + this.#options.settings.sessionTimeout - performance.now();
    this.#session = setTimeout(over, left).unref();
  }
}

interface OfTopic {
  topic: string;
  partitions: number[];
}

function countsOf(topics: readonly OfTopic[]): string {
  return topics.map(({ partitions }) => partitions.length).join();
}
