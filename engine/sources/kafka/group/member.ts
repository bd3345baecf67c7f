import type { Consumer, Kafka } from "kafkajs";
import { backOff } from "../../../flow/back-off.ts";
import type { Feed } from "../../../core/positions.ts";
import { waitAtMost } from "../../../flow/wait-at-most.ts";
import { sleep } from "../../../flow/sleep.ts";
import { kafkaPartition } from "../positions/feed.ts";
import type { KafkaSettings } from "../brokers/settings.ts";
import { isUnknownMember } from "../brokers/failures.ts";

export interface MemberOptions {
  kafka: Kafka;
  groupId: string;
  topics: readonly string[];
  settings: KafkaSettings;
  /** Called when the group has assigned these partitions, by topic; maybe again with the same ones. */
  onAssigned(partitions: Readonly<Record<string, number[]>>): void;
  /** Called when it is not a member and joins again: with the error, and the number of failed attempts. */
  onFailure(error: unknown, attempt: number): void;
}

/** An offset to commit for a partition. */
export interface Commit {
  feed: Feed;
  /** The next offset to read. */
  offset: number;
  metadata: string;
}

const [firstWait, longestWait] = [200, 10_000];
/** How long a member that stops waits to leave its group, in milliseconds. */
const longestLeave = 3_000;

/**
 * A member of the consumer group. It holds partitions, sends heartbeats and commits; it does not fetch events, which
 * the fetcher does. When kafkajs gives up a consumer, a new one is made, until `stop`.
 */
export class Member {
  readonly #options: MemberOptions;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #joined: Promise<Consumer> | undefined;
  /** Ends the current consumer. */
  #end: (reason?: unknown) => void = () => undefined;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Throws what kafkajs throws: a member cannot commit partitions that it has lost. */
  async commit(commits: readonly Commit[]): Promise<void> {
    if (this.#joined === undefined) throw new Error("expected a member of the group, found none: it joins again");
    const end = this.#end;
    // Before its first join has ended, kafkajs drops a commit without an error.
    const consumer = await this.#joined;
    const offsets = commits.map(({ feed, offset, metadata }) => {
      const { topic, partition } = kafkaPartition(feed)!;
      return { topic, partition, offset: String(offset), metadata };
    });
    await consumer.commitOffsets(offsets).catch((error: unknown) => {
      // A consumer that has lost its id and could not rejoin at once sends no heartbeats, and never joins by itself.
      if (isUnknownMember(error)) end(error);
      throw error;
    });
  }

  /** Leaves the group. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      const started = performance.now();
      const error = await this.#live();
      if (signal.aborted) return;
      // After a consumer that ran for a while the attempts are counted from the start.
      if (performance.now() - started > longestWait) attempt = 1;
      this.#options.onFailure(error, attempt);
      this.#options.onAssigned({});
      await sleep(backOff(attempt, firstWait, longestWait), signal);
    }
  }

  /** Runs one consumer; resolves with the error that ended it. */
  async #live(): Promise<unknown> {
    const { kafka, groupId, topics, settings } = this.#options;
    const { sessionTimeout, heartbeatInterval, metadataMaxAge } = settings;
    const rebalanceTimeout = Math.max(sessionTimeout, 60_000);
    const consumer = kafka.consumer({
      groupId,
      sessionTimeout,
      heartbeatInterval,
      rebalanceTimeout,
      metadataMaxAge,
      // It fetches nothing: this is the time between its heartbeats.
      maxWaitTimeInMs: Math.max(50, Math.floor(heartbeatInterval / 2)),
      allowAutoTopicCreation: false,
      retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000, restartOnFailure: () => Promise.resolve(false) },
    });
    const { signal } = this.#stopped;
    const ended = new Promise<unknown>((resolve) => {
      this.#end = resolve;
    });
    const end = this.#end;
    const onStop = (): void => end();
    consumer.on("consumer.crash", ({ payload }) => end(payload.error));
    signal.addEventListener("abort", onStop);
    const heartbeatTimeout = new HeartbeatTimeout(rebalanceTimeout + sessionTimeout, end);
    consumer.on("consumer.heartbeat", () => heartbeatTimeout.restart());
    const pause = (): void => consumer.pause(topics.map((topic) => ({ topic })));
    consumer.on("consumer.group_join", ({ payload }) => {
      heartbeatTimeout.restart();
      this.#options.onAssigned(payload.memberAssignment);
    });
    let joining: Promise<void> | undefined;
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...topics], fromBeginning: true });
      heartbeatTimeout.restart();
      joining = consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve(pause()) });
      pause();
      this.#joined = joining.then(() => consumer);
      this.#joined.catch(() => undefined);
      return await ended;
    } catch (error) {
      return error;
    } finally {
      this.#joined = undefined;
      signal.removeEventListener("abort", onStop);
      heartbeatTimeout.stop();
      await leave(consumer, joining);
    }
  }
}

/**
 * Detects a consumer that neither sends heartbeats nor joins for longer than a rebalance and a session together.
 * kafkajs leaves a consumer in this state when it has lost its id and fails to rejoin.
 */
class HeartbeatTimeout {
  readonly #limit: number;
  readonly #onLimit: (reason: Error) => void;
  #timer: NodeJS.Timeout | undefined;

  /** `limit` in milliseconds, after which `onLimit` is called once. */
  constructor(limit: number, onLimit: (reason: Error) => void) {
    this.#limit = limit;
    this.#onLimit = onLimit;
  }

  /** Restarts the time limit: after a heartbeat or a join, or when the consumer starts. */
  restart(): void {
    clearTimeout(this.#timer);
    const text = `expected a heartbeat or a join of the consumer group within ${this.#limit} ms, found none: it joins again`;
    this.#timer = setTimeout(() => this.#onLimit(new Error(text)), this.#limit).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/**
 * Leaves the group. A consumer that is joining cannot leave before it has joined, and would stay a member if it was
 * abandoned; this waits a limited time for it.
 */
function leave(consumer: Consumer, joining: Promise<void> | undefined): Promise<void> {
  const left = Promise.resolve(joining)
    .catch(() => undefined)
    .then(() => consumer.disconnect())
    .catch(() => undefined);
  return waitAtMost(longestLeave, left);
}
