import { backOff } from "../../../flow/back-off.ts";
import type { Feed } from "../../../core/positions.ts";
import { sleep } from "../../../flow/sleep.ts";
import { unlessAborted } from "../../../flow/unless-aborted.ts";
import { outOfRange, placeAt, unknownTopicId } from "../brokers/brokers.ts";
import type { KafkaClient, Leader } from "../brokers/client.ts";
import { noLeader, noReplica } from "../brokers/leaders.ts";
import { brokerError } from "../brokers/requests.ts";
import { divergences, type ReadUpTo } from "../brokers/divergences.ts";
import { partitionOf, partitionText } from "../positions/feed.ts";
import type { FetchedBytes } from "../positions/lag.ts";
import type { FetchedSpan } from "../positions/read-times.ts";
import type { FetchBuffer } from "./fetch-buffer.ts";
import { PreferredReplicas, type PreferredReplica } from "./preferred-replicas.ts";
import { batchHead, entryAt, newestTime } from "../protocol/batch-head.ts";
import type { FetchedPartition } from "../protocol/fetch.ts";
import { grouped } from "../protocol/grouped.ts";
import { Unreadable } from "../protocol/unreadable.ts";
import type { KafkaSettings } from "../brokers/settings.ts";

export interface FetcherOptions {
  client: KafkaClient;
  topics: readonly string[];
  /** The feed of a partition of one of the topics. */
  feedOf: (topic: string, partition: number) => Feed;
  /** The id of the topic of a partition, where it is known. */
  topicIdOf: (feed: Feed) => string | undefined;
  settings: KafkaSettings;
  /** How long a fetch may gather more events while events come, in milliseconds. */
  linger: number;
  buffer: FetchBuffer;
  /**
   * Called when something (`who`: a partition, a broker, or the search for leaders) has failed `attempt` times in a row;
   * with `undefined` when it works again.
   */
  onFailure: (who: string, error: unknown, attempt: number) => void;
  /** Called when the leaders are known, before any partition is fetched. If it throws, this is tried again. */
  onLeaders: () => Promise<void>;
  /**
   * Called when the next offset of a partition, or its topic, does not exist. The partition is not fetched until it is
   * set again.
   */
  onGone: (feed: Feed) => void;
  /**
   * Called where the log of a new leader ends at `end`, before the next offset of a partition, or has other events there than
   * were read. Then comes `onGone`. If it throws, this is tried again.
   */
  onCut: (feed: Feed, end: number) => Promise<void>;
  /**
   * Called with the ends of a partition by its leader, as far as they are known: the offset after the last that may be read, and
   * the high watermark, the one after the last of all, where the leader has said it. -1 where it does not know them.
   */
  onEnd: (feed: Feed, end: number, high?: number) => void;
  /** Called with the records that were fetched, before they are in the buffer. */
  onFetched: (feed: Feed, spans: readonly FetchedSpan[]) => void;
  /** Called with the bytes that a fetch has brought, of partitions that the broker leads and of others. */
  onBytes: (bytes: FetchedBytes) => void;
}

/** What is to be fetched of a partition. */
interface Next {
  offset: number;
  /** The leadership in which the event before it was written; undefined where nobody knows it. */
  epoch: number | undefined;
  /** The leadership whose log was found to hold that event. */
  checked?: number;
}

/** Error codes that say that another broker leads the partition by now, or none. */
const moved = new Set([3, 5, 6, 9, 74, 75]);
/** The error code for a leadership that is over. */
const fencedEpoch = 74;
/** The waits between two attempts at a broker, a partition or a search, in milliseconds. */
const [firstWait, longestWait] = [200, 1_000];
/** The least time between two searches for leaders, in milliseconds. */
const leastBetween = 100;
/** How many times `fetchWait` a fetch waits at the most, where nothing has come for long. */
const mostPatience = 8;
/** The longest time for which a broker may keep a fetch, in milliseconds. */
export function longestFetch({ fetchWait }: KafkaSettings): number {
  return mostPatience * fetchWait;
}
/** An answer that is so late is no reason to give up, but to ask who leads by now, in milliseconds. */
const late = 1_000;
/** An answer of a replica that is so late is not waited for: the leader is asked, in milliseconds. */
const silent = 3_000;
const search = "fetch";

/**
 * Fetches partitions from the brokers that lead them, or from the replicas that these name, one request per broker at a time, as
 * long as the buffer has room. A partition that cannot be fetched, and a broker that does not answer, keep no others waiting.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  /** Of each partition that may be read; those that delivered records last are last. */
  readonly #next = new Map<Feed, Next>();
  readonly #stopped = new AbortController();
  /** As they were looked up last, without those that turned out to lead no more. */
  #leaders = new Map<Feed, Leader>();
  /** Only of partitions whose leader is known, in that leadership. */
  readonly #preferred: PreferredReplicas;
  /** Partitions that failed, until they are tried again. */
  readonly #resting = new Set<Feed>();
  /** How often in a row something failed, by who it was. */
  readonly #failures = new Map<string, number>();
  /** How many fetches in a row brought no event, of each node. */
  readonly #inVain = new Map<number, number>();
  readonly #following = new Map<number, Promise<void>>();
  /** Nodes whose answer to a fetch is so late that others are asked. */
  readonly #silent = new Set<number>();
  #searching: Promise<void> | undefined;
  /** The leaders are to be looked up (again), or asked anew. */
  #isDue = false;
  #isOutdated = false;
  /** When they were looked up last, by the monotonic clock in milliseconds. */
  #searched = -Infinity;
  #wake: () => void = () => undefined;
  #changed = Promise.resolve();

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#preferred = new PreferredReplicas(options.settings.rack);
    this.#change();
  }

  /** Begins to fetch a partition, from this offset on. `epoch`: the leadership in which the event before it was written. */
  set(feed: Feed, offset: number, epoch?: number): void {
    this.#next.set(feed, { offset, epoch });
    this.#preferred.forget(feed);
    this.#inVain.clear();
    this.#follow();
  }

  /** Stops fetching a partition; drops what a running request delivers of it. */
  unset(feed: Feed): void {
    this.#next.delete(feed);
    this.#preferred.forget(feed);
    this.#worked(partitionText(feed));
  }

  /** Call it when the buffer may have room again. */
  look(): void {
    this.#wake();
  }

  /**
   * Call it every ten seconds: asks the leaders for the ends of partitions that are read from another replica, and leaves replicas
   * that lacked for so long what their leaders had.
   */
  async askEnds(): Promise<void> {
    const { client, onEnd } = this.#options;
    const asked = this.#preferred.all;
    if (asked.length === 0) return;
    const ends = await client.offsets(
      asked.map(([feed]) => partitionOf(feed)),
      "end",
    );
    for (const [index, [feed, replica]] of asked.entries()) {
      const [end, next] = [ends[index]!, this.#next.get(feed)];
      if (end instanceof Error || next === undefined || this.#preferred.of(feed) !== replica) continue;
      if (replica.isDry && next.offset < (replica.endOfLeader ?? 0)) this.#leaveReplica(feed);
      Object.assign(replica, { end, endOfLeader: end, isDry: false });
      onEnd(feed, end);
    }
  }

  /** Does not wait for the answers of fetches that are under way. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake();
    await Promise.all([this.#searching, ...this.#following.values()]);
  }

  /** Looks up who leads, and again as long as a partition has no leader. `isOutdated`: what was said before is not true any more. */
  #follow({ isOutdated = false } = {}): void {
    this.#isDue = true;
    this.#isOutdated ||= isOutdated;
    if (this.#stopped.signal.aborted) return;
    this.#searching ??= this.#search().finally(() => (this.#searching = undefined));
  }

  async #search(): Promise<void> {
    const { signal } = this.#stopped;
    // Brokers may go on for a while to name one that does not lead any more.
    await sleep(Math.max(0, this.#searched + leastBetween - performance.now()), signal);
    for (let attempt = 1; this.#isDue && !signal.aborted; attempt += 1) {
      if (attempt > 1) await sleep(backOff(attempt - 1, firstWait, longestWait), signal);
      this.#isDue = false;
      this.#searched = performance.now();
      try {
        await this.#findLeaders();
        this.#worked(search);
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(search, error);
        this.#follow({ isOutdated: true });
      }
    }
  }

  async #findLeaders(): Promise<void> {
    const { client, topics, feedOf, onLeaders } = this.#options;
    const isOutdated = this.#isOutdated;
    this.#isOutdated = false;
    if (isOutdated) await client.refresh();
    const leaders = new Map<Feed, Leader>();
    for (const topic of topics) {
      for (const [partition, leader] of await client.leaders(topic)) {
        if (leader !== undefined) leaders.set(feedOf(topic, partition), leader);
      }
    }
    await onLeaders();
    this.#leaders = leaders;
    this.#leaveOutdated();
    for (const { node } of leaders.values()) this.#begin(node);
    for (const feed of this.#next.keys()) {
      if (leaders.has(feed)) continue;
      this.#failed(partitionText(feed), noLeader(partitionOf(feed)));
      this.#follow({ isOutdated: true });
    }
  }

  /** Another leader, or the same one elected again, is asked first. */
  #leaveOutdated(): void {
    for (const [feed, { node, leader }] of this.#preferred.all) {
      const now = this.#leaders.get(feed);
      if (now === undefined || !isSameLeader(now, leader)) this.#preferred.leave(feed);
      else if (!now.replicas.includes(node)) this.#preferred.failed(feed);
    }
  }

  /** Each broker that partitions are read from has its own loop: a broker that waits for events does not delay the others. */
  #begin(node: number): void {
    if (this.#following.has(node) || this.#stopped.signal.aborted || this.#wantedOf(node).size === 0) return;
    const done = this.#fetchFrom(node).finally(() => {
      this.#following.delete(node);
      this.#worked(brokerText(node));
      // Partitions that were set while the loop was ending.
      this.#begin(node);
    });
    this.#following.set(node, done);
  }

  async #fetchFrom(node: number): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && this.#wantedOf(node).size > 0) {
      this.#askAgain(node);
      if (!this.#options.buffer.hasRoom) {
        await this.#changed;
        continue;
      }
      try {
        await this.#check(node);
        await this.#fetchOnce(node);
        this.#worked(brokerText(node));
      } catch (error) {
        if (signal.aborted) return;
        for (const feed of this.#preferred.at(node).keys()) this.#leaveReplica(feed);
        // A broker that is gone cannot say who leads its partitions now.
        this.#follow({ isOutdated: true });
        // The leaders are read in place of a replica: nothing is held up.
        if (this.#wantedOf(node).size === 0) return;
        const attempt = this.#failed(brokerText(node), error);
        await sleep(backOff(attempt, firstWait, longestWait), signal);
      }
    }
  }

  /** After an election: what was read must be in the log of who leads now, which may have lost it (KIP-320). */
  async #check(node: number): Promise<void> {
    const read = [...this.#wantedOf(node)].flatMap(([feed, { offset, epoch, checked }]) => {
      const leader = this.#leaders.get(feed)!;
      return epoch === undefined || checked === leader.epoch ? [] : [{ feed, next: offset, epoch, leader }];
    });
    for (const [asked, own] of grouped(read, ({ leader }) => leader.node)) {
      try {
        await this.#checkAt(asked, own);
      } catch (error) {
        if (asked === node) throw error;
        // Its own loop tells what keeps a leader from answering.
        for (const { feed } of own) this.#readLeader(feed);
      }
    }
  }

  async #checkAt(node: number, read: readonly ReadUpTo[]): Promise<void> {
    const { client, onCut } = this.#options;
    const found = await divergences(client, node, read);
    for (const { feed, next, leader } of read) {
      const [now, end] = [this.#next.get(feed), found.get(feed)];
      if (now?.offset !== next) continue;
      if (end instanceof Error) this.#lead(feed, end);
      else if (end === undefined) now.checked = leader.epoch;
      else {
        await onCut(feed, end);
        this.#gone(feed);
      }
    }
  }

  async #fetchOnce(node: number): Promise<void> {
    const { client, buffer, feedOf, settings } = this.#options;
    const wanted = this.#wantedOf(node);
    // During the back-off after a failure the buffer or the partitions may have changed.
    if (wanted.size === 0 || !buffer.hasRoom) return;
    const { partitionMaxBytes } = settings;
    const [replicas, rack] = [this.#preferred.at(node), this.#preferred.rackFor(wanted.keys())];
    const places = Array.from(wanted, ([feed, { offset }]) => this.#placeOf(feed, offset));
    const patience = this.#patience(node);
    const timers = [setTimeout(() => this.#follow({ isOutdated: true }), patience.wait + late)];
    if (replicas.size > 0) timers.push(setTimeout(() => this.#isSilent(node), patience.wait + silent));
    const began = performance.now();
    const request = { places, partitionMaxBytes, ...patience, ...(rack !== undefined && { rack }) };
    const partitions = await unlessAborted(client.fetch(node, request), this.#stopped.signal).finally(() => {
      for (const timer of timers) clearTimeout(timer);
      this.#silent.delete(node);
    });
    if (partitions === undefined) return;
    const isInVain = partitions.every(({ records }) => records.length === 0);
    this.#inVain.set(node, isInVain ? (this.#inVain.get(node) ?? 0) + 1 : 0);
    const bytes = { leader: 0, follower: 0 };
    for (const fetched of partitions) {
      const feed = feedOf(fetched.topic, fetched.partition);
      const [from, replica] = [wanted.get(feed), replicas.get(feed)];
      bytes[replica === undefined ? "leader" : "follower"] += fetched.records.length;
      // It may have been set anew meanwhile.
      if (from === undefined || this.#next.get(feed) !== from) continue;
      if (replica !== undefined) this.#fetchedFromReplica(replica, feed, from, fetched);
      // Where it is read from a replica by now, that says what is to be known.
      else if (this.#preferred.of(feed) === undefined) this.#fetched(feed, from, fetched, node);
    }
    if (!isInVain) this.#options.onBytes(bytes);
    // A replica that lags may answer at once, with nothing.
    const least = began + Math.min(patience.wait, firstWait) - performance.now();
    if (isInVain && replicas.size > 0 && least > 0) await sleep(least, this.#stopped.signal);
  }

  /** What a replica answers that does not lead: only the leader decides what is in the log. */
  #fetchedFromReplica(replica: PreferredReplica, feed: Feed, from: Next, fetched: FetchedPartition): void {
    const { errorCode, lastStableOffset, records } = fetched;
    if (this.#preferred.of(feed) !== replica) {
      // It is read from its leader again. What was on its way is the same there, as long as that leads.
      if (errorCode === 0 && isSameLeader(this.#leaders.get(feed), replica.leader)) this.#take(feed, fetched, from);
      return;
    }
    // It knows of an election after which the leader is to be asked first.
    if (errorCode === fencedEpoch) return this.#lead(feed, brokerError(errorCode));
    if (errorCode !== 0) {
      this.#leaveReplica(feed);
      // Another broker may lead by now.
      this.#follow({ isOutdated: true });
      return;
    }
    replica.isDry = records.length === 0 && lastStableOffset <= from.offset;
    replica.end = Math.max(replica.end, lastStableOffset);
    if (records.length > 0) this.#preferred.delivered(feed);
    this.#worked(partitionText(feed));
    this.#options.onEnd(feed, replica.end);
    this.#take(feed, fetched, from);
  }

  /** What the leader answers: `node`. */
  #fetched(feed: Feed, from: Next, fetched: FetchedPartition, node: number): void {
    const { errorCode, lastStableOffset, highWatermark } = fetched;
    if (errorCode === outOfRange || errorCode === unknownTopicId) this.#gone(feed);
    else if (moved.has(errorCode)) this.#lead(feed, brokerError(errorCode));
    else if (errorCode !== 0) this.#rest(feed, brokerError(errorCode));
    else {
      this.#worked(partitionText(feed));
      this.#options.onEnd(feed, lastStableOffset, highWatermark);
      this.#take(feed, fetched, from);
      this.#prefer(feed, node, fetched);
    }
  }

  /** A broker does not answer: what it does not lead is read from the leaders. */
  #isSilent(node: number): void {
    this.#silent.add(node);
    for (const feed of this.#preferred.at(node).keys()) this.#leaveReplica(feed);
  }

  /** Reads a partition from the replica that its leader names, if `asked` leads it and names one. */
  #prefer(feed: Feed, asked: number, { preferredReplica: node, records, lastStableOffset }: FetchedPartition): void {
    const leader = this.#leaders.get(feed);
    // Another one may lead by now.
    if (node < 0 || node === asked || leader?.node !== asked) return;
    // It would have to wait for the answer that does not come.
    if (this.#silent.has(node)) this.#preferred.failed(feed);
    else if (this.#preferred.prefer(feed, node, leader, lastStableOffset)) this.#goOnAt(node, asked);
    // It names one though it was told no rack, and delivers nothing itself.
    else if (records.length === 0) this.#rest(feed, noReplica(partitionOf(feed), node));
  }

  /** The replica of a partition cannot be read, or lacks what its leader has. */
  #leaveReplica(feed: Feed): void {
    const replica = this.#preferred.of(feed);
    this.#preferred.failed(feed);
    this.#readLeader(feed, replica);
  }

  /** Reads a partition from its leader, until that names a replica again. */
  #readLeader(feed: Feed, replica = this.#preferred.of(feed)): void {
    this.#preferred.leave(feed);
    const leader = this.#leaders.get(feed);
    if (replica !== undefined && leader !== undefined) this.#goOnAt(leader.node, replica.node);
  }

  /** A partition is read from another node. It may come back soon: neither one is to wait for long meanwhile. */
  #goOnAt(node: number, former: number): void {
    for (const of of [node, former]) this.#inVain.delete(of);
    this.#begin(node);
  }

  /** A replica was read for so long that the leader is asked whether it still is the one to read from. */
  #askAgain(node: number): void {
    const now = performance.now();
    for (const [feed, { until }] of this.#preferred.at(node)) if (now >= until) this.#readLeader(feed);
  }

  #gone(feed: Feed): void {
    this.unset(feed);
    this.#options.onGone(feed);
  }

  /** Another broker leads the partition by now, or none. */
  #lead(feed: Feed, error: Error): void {
    this.#failed(partitionText(feed), error);
    this.#leaders.delete(feed);
    this.#preferred.leave(feed);
    this.#follow({ isOutdated: true });
  }

  /** Leaves the partition alone for a while. */
  #rest(feed: Feed, error: Error): void {
    const attempt = this.#failed(partitionText(feed), error);
    this.#resting.add(feed);
    void sleep(backOff(attempt, firstWait, longestWait), this.#stopped.signal).then(() => {
      this.#resting.delete(feed);
      const leader = this.#leaders.get(feed);
      if (leader !== undefined) this.#begin(leader.node);
    });
  }

  #placeOf(feed: Feed, offset: number) {
    const { epoch: leaderEpoch } = this.#leaders.get(feed)!;
    return { ...placeAt(feed, offset, this.#options.topicIdOf(feed)), leaderEpoch };
  }

  /**
   * How long a broker waits, and for how much. Where nothing came, the next event is wanted at once, and fewer and fewer
   * requests are made until then. While events come, a fetch gathers many of them, for as long as their batch can wait.
   */
  #patience(node: number): { wait: number; minBytes: number } {
    const { linger, settings } = this.#options;
    const inVain = this.#inVain.get(node);
    if (inVain === 0) return { wait: Math.min(linger, settings.fetchWait), minBytes: settings.fetchMinBytes };
    const times = Math.min(mostPatience, 2 ** Math.max(0, (inVain ?? 0) - 1));
    return { wait: times * settings.fetchWait, minBytes: 1 };
  }

  #take(feed: Feed, fetched: FetchedPartition, from: Next): void {
    if (fetched.records.length === 0) return;
    const { next, spans } = passing(fetched.records, from);
    // A broker fills its answer in the order of the request: partitions that waited longest come first.
    this.#next.delete(feed);
    // What is unreadable is found when its turn comes. It holds up no other partition.
    if (next !== undefined) this.#next.set(feed, next);
    this.#options.onFetched(feed, spans);
    this.#options.buffer.push(feed, from.offset, fetched);
  }

  /** What is to be fetched from a node. */
  #wantedOf(node: number): Map<Feed, Next> {
    const isWanted = (feed: Feed): boolean => this.#nodeOf(feed) === node && !this.#resting.has(feed);
    return new Map([...this.#next].filter(([feed]) => isWanted(feed)));
  }

  /** The node that a partition is read from; undefined where its leader is not known. */
  #nodeOf(feed: Feed): number | undefined {
    const leader = this.#leaders.get(feed);
    return leader === undefined ? undefined : (this.#preferred.of(feed) ?? leader).node;
  }

  /** Returns how often it has failed in a row. */
  #failed(who: string, error: unknown): number {
    const attempt = (this.#failures.get(who) ?? 0) + 1;
    this.#failures.set(who, attempt);
    this.#options.onFailure(who, error, attempt);
    return attempt;
  }

  #worked(who: string): void {
    if (this.#failures.delete(who)) this.#options.onFailure(who, undefined, 0);
  }

  #change(): void {
    this.#changed = new Promise((resolve) => {
      this.#wake = () => {
        resolve();
        this.#change();
      };
    });
  }
}

function brokerText(node: number): string {
  return `fetch from broker ${node}`;
}

function isSameLeader(one: Leader | undefined, other: Leader): boolean {
  return one?.node === other.node && one.epoch === other.epoch;
}

/** The least bytes between the begins of two spans: their times are as exact as that. */
const spanBytes = 64 * 1024;

/** What the heads of some records say. */
interface Passed {
  /** What comes after their last whole batch; the same as before them where that lies further ahead; undefined where a head is unreadable. */
  next: Next | undefined;
  spans: FetchedSpan[];
}

function passing(records: Buffer, from: Next): Passed {
  const next = { ...from };
  const spans: FetchedSpan[] = [];
  try {
    for (let at = 0, begun = 0; at < records.length;) {
      const entry = entryAt(records, at);
      if (entry === undefined) break;
      // The formats before 2 do not say in which leadership they were written.
      const head = entry.format === 2 ? batchHead(records, entry) : { lastOffset: entry.offset, epoch: undefined };
      if (head.lastOffset >= next.offset) {
        const time = entry.format === 2 ? newestTime(records, entry) : undefined;
        const end = head.lastOffset + 1;
        if (spans.length === 0 || at >= begun + spanBytes) {
          spans.push({ from: next.offset, end, first: time, last: time });
          begun = at;
        } else Object.assign(spans.at(-1)!, { end, last: time });
        Object.assign(next, { offset: end, epoch: head.epoch });
      }
      at = entry.end;
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { next: undefined, spans };
  }
  return { next, spans };
}
