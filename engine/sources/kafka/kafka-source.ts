import { Arrivals } from "../../flow/arrivals.ts";
import { LeftForLater } from "../../core/errors.ts";
import { consumerGroup } from "../../core/names.ts";
import type { Chunk, Feed, PositionRange } from "../../core/positions.ts";
import { sleep } from "../../flow/sleep.ts";
import type { Source, SourceSignals } from "../../core/source.ts";
import { RetryPause } from "../../flow/retry-pause.ts";
import { Absence } from "./absence.ts";
import { Acknowledgements } from "./acknowledgements.ts";
import { BackPressure } from "./back-pressure.ts";
import { Brokers } from "./brokers.ts";
import { kafkaClient } from "./connection.ts";
import { kafkaPartition, partitionText } from "./feed.ts";
import { FetchBuffer } from "./fetch-buffer.ts";
import { Fetcher } from "./fetcher.ts";
import { Group } from "./group.ts";
import { clientId } from "./identity.ts";
import type { KafkaSourceParts } from "./kafka-source-parts.ts";
import { Lag } from "./lag.ts";
import { Membership } from "./membership.ts";
import { Opening } from "./opening.ts";
import { PartitionReader } from "./partition-reader.ts";
import { settingsWithin } from "./settings.ts";
import { KafkaPositions } from "./positions.ts";
import { Codecs } from "./protocol/codecs.ts";
import { UnreadableRecords } from "./protocol/unreadable.ts";
import { troubleText } from "./trouble.ts";
import { Troubles } from "./troubles.ts";

/** Before a partition is fetched again that may have been lost and is not, in milliseconds. */
const leastWait = 200;

/**
 * Topics as a pipeline reads them. The journal knows where each partition goes on; the consumer group only says which
 * partitions are ours to read, and is told how far we have come; one group has members that subscribe to all topics. Fetches belong to no group, so the same reader serves
 * what comes next and what has to be made again.
 */
export class KafkaSource implements Source {
  readonly keepsReading = false;
  waitsForSettled = false;
  readonly #parts: KafkaSourceParts;
  readonly #positions: KafkaPositions;
  readonly #group: Group;
  readonly #brokers: Brokers;
  readonly #opening: Opening;
  readonly #room: RetryPause;
  readonly #troubles: Troubles;
  readonly #acknowledgements = new Acknowledgements((offsets) => this.#commit(offsets));
  readonly #absence: Absence;
  #checking: Promise<void> | undefined;
  readonly #lag: Lag;
  readonly #backPressure: BackPressure;
  #signals: SourceSignals | undefined;
  #reader: PartitionReader | undefined;
  #buffer: FetchBuffer | undefined;
  #fetcher: Fetcher | undefined;
  #membership: Membership | undefined;
  /** Partitions that are ours to read. */
  #held: ReadonlySet<Feed> = new Set();
  /** Those of them that are fetched. */
  #reading = new Set<Feed>();
  /** Partitions that go on where their topic holds nothing, once what was fetched of them before is read. */
  readonly #lost = new Set<Feed>();
  #isDraining = false;
  #closing: Promise<void> | undefined;
  #looking: NodeJS.Timeout | undefined;
  readonly #arrivals = new Arrivals();

  constructor(parts: KafkaSourceParts) {
    const { pipeline_id, connection, topics, identity, journal, telemetry, log, socketFactory } = parts;
    const settings = settingsWithin(parts.settings, parts.bufferBytes);
    if (settings.partitionMaxBytes < parts.settings.partitionMaxBytes) {
      const bytes = { pipeline_id, bytes: settings.partitionMaxBytes, fetch: parts.settings.partitionMaxBytes };
      log.warn(
        bytes,
        "The limits.memory of the sources leaves less than one fetch: one batch of messages is fetched at a time.",
      );
    }
    this.#parts = { ...parts, settings };
    const client = kafkaClient(connection, clientId(identity, 0), log, socketFactory);
    this.#positions = new KafkaPositions(topics.keys(), pipeline_id, journal);
    this.#brokers = new Brokers(client, settings);
    this.#group = new Group(client, this.#brokers, consumerGroup(pipeline_id), [...topics.keys()]);
    this.#room = new RetryPause(pipeline_id, telemetry);
    this.#lag = new Lag(pipeline_id, telemetry, this.#positions, () => this.#turn());
    this.#opening = new Opening(parts, this.#group, this.#positions, this.#room, ({ partitions }) => {
      for (const { feed, high } of partitions) this.#lag.end(feed, high);
    });
    this.#troubles = new Troubles(pipeline_id, telemetry);
    this.#backPressure = new BackPressure(pipeline_id, telemetry);
    // The last heartbeat was some time before, and the looks are some time apart.
    this.#absence = new Absence(settings.sessionTimeout / 2);
  }

  async open(signals: SourceSignals): Promise<number[]> {
    this.#signals = signals;
    const codecs = await Codecs.load();
    this.#reader = new PartitionReader(this.#brokers, codecs, (feed) => this.#positions.topicIdOf(feed));
    this.#buffer = new FetchBuffer(codecs, this.#parts.bufferBytes);
    const { givenUp, isMoved } = await this.#opening.run(signals);
    this.waitsForSettled = isMoved;
    this.#lag.opened(this.#positions.feeds);
    this.#absence.begin();
    return givenUp;
  }

  begin(): Promise<void> {
    const { connection, settings, identity, pipeline_id, log, socketFactory } = this.#parts;
    const topics = [...this.#parts.topics.keys()];
    const buffer = this.#buffer!;
    this.#positions.began();
    this.#fetcher = new Fetcher({
      brokers: this.#brokers,
      topics,
      feedOf: (topic, partition) => this.#positions.feed(topic, partition),
      settings,
      buffer,
      onTrouble: (error, attempt) => {
        if (error === undefined) this.#troubles.clear("fetch");
        else this.#troubles.note("fetch", error, attempt);
      },
      topicIdOf: (feed) => this.#positions.topicIdOf(feed),
      onLeaders: () => this.#lookAtTopics(),
      onGone: (feed) => {
        this.#lost.add(feed);
        this.#lookForLost();
      },
      onEnd: (feed, end) => this.#lag.end(feed, end),
    });
    buffer.onChange = () => this.#changed();
    const groupId = consumerGroup(pipeline_id);
    this.#membership = new Membership({
      ...this.#parts,
      positions: this.#positions,
      opening: this.#opening,
      troubles: this.#troubles,
      signals: this.#signals!,
      member: (number) => ({
        kafka: kafkaClient(connection, clientId(identity, number), log, socketFactory),
        groupId,
        topics,
        settings,
      }),
      onHeld: (feeds) => this.#hold(feeds),
    });
    this.#membership.join();
    // Brokers before Kafka 3.1 take no fetch by the id of a topic.
    this.#looking = setInterval(
      () => void this.#lookAtTopics().catch(() => undefined),
      settings.metadataMaxAge,
    ).unref();
    return Promise.resolve();
  }

  next(limit: number, maxBytes: number): Promise<Chunk[]> {
    if (this.#isDraining || this.#buffer === undefined) return Promise.resolve([]);
    try {
      const chunks = this.#buffer.take(limit, maxBytes);
      for (const { feed, last } of chunks) this.#positions.handedOut(feed, last);
      return Promise.resolve(chunks);
    } catch (error) {
      if (!(error instanceof UnreadableRecords)) throw error;
      this.#unreadable(error);
      return Promise.resolve([]);
    }
  }

  wait(_count: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    return this.#arrivals.wait(() => this.#buffer?.isEmpty === false, until, signal);
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    for (const { feed, ...range } of ranges) {
      const last = Math.min(range.last, this.#positions.goneFrom(feed) - 1);
      let from = range.first;
      for (let attempt = 1; from <= last && this.#positions.isThere(feed); attempt += 1) {
        try {
          for await (const chunk of this.#reader!.read({ ...range, feed, last }, from)) {
            from = chunk.last + 1;
            yield chunk;
          }
          this.#room.leave();
          break;
        } catch (error) {
          // Of a topic that was created again nothing is read: what was in it is gone.
          await this.#lookAtTopic(feed).catch(() => undefined);
          if (!this.#positions.isThere(feed)) break;
          await this.#opening.wait({ class: "source", text: troubleText(error) }, attempt, this.#signals!);
        }
      }
    }
  }

  stillHolds(ranges: readonly PositionRange[]): Promise<boolean> {
    return this.#opening.stillHolds(ranges, this.#signals!);
  }

  mayWrite(): Promise<void> {
    if (!this.#absence.wasAway) return Promise.resolve();
    return (this.#checking ??= this.#checkOwner().finally(() => (this.#checking = undefined)));
  }

  acknowledge(ranges: readonly PositionRange[]): void {
    this.#say(this.#positions.settle(ranges));
  }

  drain(): void {
    this.#isDraining = true;
    this.#changed();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#isDraining = true;
    clearInterval(this.#looking);
    this.#absence.end();
    this.#backPressure.end();
    this.#sayAgain();
    await this.#acknowledgements.told();
    this.#lag.stop();
    await Promise.allSettled([this.#fetcher?.stop(), this.#membership?.leave()]);
    this.#troubles.clearAll();
    this.#room.leave();
    await Promise.allSettled([this.#group.close(), this.#brokers.close()]);
  }

  #turn(): void {
    this.#sayAgain();
    // Fetches tell of the ends; while there are none, the brokers are asked.
    if (this.#held.size === 0) void this.#opening.read().catch(() => undefined);
  }

  /** A commit may have failed, after which nothing came that would have said it anew. */
  #sayAgain(): void {
    this.#say(this.#positions.unsaid().keys());
  }

  /** Another may have been given what this one reads while it stood still. */
  async #checkOwner(): Promise<void> {
    this.#parts.telemetry.wasAway({ pipeline_id: this.#parts.pipeline_id });
    while (this.#absence.wasAway) {
      this.#absence.over();
      await this.#opening.checkOwner(this.#signals!);
    }
  }

  /** Tells the group how far partitions have come. Before the first join nobody is there to say it: its claims do. */
  #say(feeds: Iterable<Feed>): void {
    if (this.#membership === undefined) return;
    for (const feed of feeds) this.#acknowledgements.note(feed, this.#positions.final(feed)!);
  }

  async #commit(offsets: ReadonlyMap<Feed, number>): Promise<void> {
    await this.mayWrite();
    await this.#membership!.commit(offsets);
  }

  /** Reads these partitions, and no others. */
  #hold(feeds: ReadonlySet<Feed>): void {
    this.#held = feeds;
    for (const feed of this.#reading) if (!feeds.has(feed)) this.#stopReading(feed);
    for (const feed of feeds) this.#read(feed);
    this.#lag.held(feeds);
  }

  #read(feed: Feed): void {
    if (!this.#held.has(feed) || this.#reading.has(feed) || this.#closing !== undefined) return;
    this.#reading.add(feed);
    this.#fetcher!.set(feed, this.#positions.next(feed)!);
  }

  #stopReading(feed: Feed): void {
    this.#lost.delete(feed);
    this.#fetcher!.unset(feed);
    this.#buffer!.drop(feed);
    this.#reading.delete(feed);
  }

  #lookForLost(): void {
    for (const feed of this.#lost) {
      if (this.#buffer!.holds(feed) || !this.#lost.delete(feed)) continue;
      void this.#findAgain(feed);
    }
  }

  /** Where it goes on is not in the topic, or the topic is another one: the options say what follows. */
  async #findAgain(feed: Feed): Promise<void> {
    this.#reading.delete(feed);
    const { drain } = this.#signals!;
    for (let attempt = 1; !drain.aborted && this.#held.has(feed); attempt += 1) {
      try {
        if (await this.#opening.isRecreated()) return await this.#membership!.rejoin();
        await this.#opening.checkRange(this.#signals!, { only: feed, isRunning: true });
        this.#room.leave();
        this.#troubles.clear("offsets");
        this.#sayAgain();
        // A broker that does not know of the topic yet is not asked without a pause.
        await sleep(leastWait, drain);
        return this.#read(feed);
      } catch (error) {
        if (error instanceof LeftForLater) return;
        this.#troubles.note("offsets", error, attempt);
        await sleep(1_000, drain);
      }
    }
  }

  async #lookAtTopic(feed: Feed): Promise<void> {
    this.#positions.saw(await this.#brokers.topicIds([kafkaPartition(feed)!.topic]));
  }

  /** Asks whether the topics are still the same: one that was created again may hold what comes next by its name. */
  async #lookAtTopics(): Promise<void> {
    if (this.#held.size === 0 || !(await this.#opening.isRecreated())) return;
    void this.#membership!.rejoin();
  }

  /** Bytes that are no records stay so: a person has to look, and meanwhile it is tried again now and then. */
  #unreadable(error: UnreadableRecords): void {
    const feed = this.#positions.feed(error.topic, error.partition);
    const who = partitionText(feed);
    this.#positions.handedOut(feed, error.offset - 1);
    this.#stopReading(feed);
    this.#troubles.note(who, error, Infinity);
    setTimeout(() => {
      this.#troubles.clear(who);
      this.#read(feed);
    }, 30_000).unref();
  }

  #changed(): void {
    if (this.#closing === undefined) this.#backPressure.look(this.#buffer?.hasRoom !== false);
    this.#fetcher?.look();
    this.#lookForLost();
    this.#arrivals.came();
  }
}
