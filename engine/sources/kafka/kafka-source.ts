import type { ISocketFactory } from "kafkajs";
import type { KafkaConnection } from "../../../schemas/pipeline.ts";
import { Arrivals } from "../../flow/arrivals.ts";
import { consumerGroup } from "../../core/names.ts";
import type { SourcePause } from "../../core/pause.ts";
import type { Chunk, Feed, PositionRange } from "../../core/positions.ts";
import type { Source, SourceSignals } from "../../core/source.ts";
import type { Hide } from "../../peers/hidden-secrets.ts";
import type { Log } from "../../telemetry/log.ts";
import { Brokers } from "./brokers/brokers.ts";
import { kafkaClient } from "./brokers/connection.ts";
import { failureText, hidingFrom, SourceFailures, waysOutOfKafka } from "./brokers/failures.ts";
import { settingsWithin, type KafkaSettings } from "./brokers/settings.ts";
import { OwnerCheck } from "./group/owner-check.ts";
import { Group } from "./group/group.ts";
import { clientId, instanceId } from "./group/identity.ts";
import { Membership } from "./group/membership.ts";
import { OffsetCommits } from "./group/offset-commits.ts";
import { Opening, type OpeningOptions } from "./group/opening.ts";
import { kafkaPartition, partitionText } from "./positions/feed.ts";
import { Lag } from "./positions/lag.ts";
import { KafkaPositions } from "./positions/positions.ts";
import { Codecs, mostBytesBefore } from "./protocol/codecs.ts";
import { BackPressure } from "./reading/back-pressure.ts";
import { FetchBuffer } from "./reading/fetch-buffer.ts";
import { longestFetch } from "./reading/fetcher.ts";
import { HeldPartitions } from "./reading/held-partitions.ts";
import { PartitionReader } from "./reading/partition-reader.ts";

/** An end of a partition that fetches have not named for so long, and for as long as two may take, is asked for, in milliseconds. */
const outdated = 10_000;
const noop = (): void => undefined;

/** The parts and settings of a Kafka source. */
export interface KafkaSourceOptions extends OpeningOptions {
  /** With its secrets resolved; all topics share it. */
  connection: KafkaConnection;
  /** Members of the consumer group. */
  replicas: number;
  settings: KafkaSettings;
  log: Log;
  /** The most bytes of fetched events that are not read yet. */
  bufferBytes: number;
  /** How long a batch waits for more events, in milliseconds. */
  maxDelay: number;
  /** Opens the connections to the brokers; without one they are sockets of this machine. */
  socketFactory?: ISocketFactory;
}

/**
 * Reads the topics of a pipeline. The journal holds the next offset of each partition; the consumer group assigns the
 * partitions, and gets the offsets as commits. A pipeline has one group, whose members subscribe to all topics. Fetches
 * do not belong to the group, so the same code reads new events and reads the events of a pending batch again.
 */
export class KafkaSource implements Source {
  readonly keepsReading = false;
  waitsForSettled = false;
  readonly wayOutOfLoss = waysOutOfKafka.lost;
  readonly feedText = partitionText;
  readonly #options: KafkaSourceOptions;
  readonly #hide: Hide;
  readonly #positions: KafkaPositions;
  readonly #group: Group;
  readonly #brokers: Brokers;
  readonly #opening: Opening;
  readonly #pause: SourcePause;
  readonly #failures: SourceFailures;
  readonly #commits = new OffsetCommits((offsets) => this.#commit(offsets));
  readonly #ownerCheck: OwnerCheck;
  readonly #lag: Lag;
  readonly #backPressure: BackPressure;
  #signals: SourceSignals | undefined;
  #reader: PartitionReader | undefined;
  #buffer: FetchBuffer | undefined;
  #partitions: HeldPartitions | undefined;
  #membership: Membership | undefined;
  #isDraining = false;
  #closing: Promise<void> | undefined;
  #topicCheck: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  readonly #arrivals = new Arrivals();

  constructor(options: KafkaSourceOptions) {
    const { pipeline_id, connection, topics, identity, journal, telemetry, log, socketFactory } = options;
    const settings = settingsWithin(options.settings, options.bufferBytes);
    if (settings.partitionMaxBytes < options.settings.partitionMaxBytes) {
      const bytes = { pipeline_id, bytes: settings.partitionMaxBytes, fetch: options.settings.partitionMaxBytes };
      log.warn(
        bytes,
        "The limits.memory of the sources leaves less than one fetch: one batch of messages is fetched at a time.",
      );
    }
    this.#options = { ...options, settings };
    this.#hide = hidingFrom(connection);
    const client = kafkaClient(connection, clientId(identity, 0), log, socketFactory);
    this.#positions = new KafkaPositions(topics.keys(), pipeline_id, journal);
    this.#brokers = new Brokers(client, settings);
    this.#group = new Group(this.#brokers, consumerGroup(pipeline_id, options.options), [...topics.keys()]);
    this.#pause = options.pause;
    this.#lag = new Lag({
      pipeline_id,
      telemetry,
      positions: this.#positions,
      throttling: this.#brokers.throttling,
      onTurn: () => this.#turn(),
    });
    this.#opening = new Opening({ ...options, hide: this.#hide }, this.#group, this.#positions, ({ partitions }) => {
      for (const { feed, ends } of partitions) if (ends !== undefined) this.#lag.end(feed, ends.high);
      this.#lag.waits(this.#positions.feeds);
    });
    this.#failures = new SourceFailures(pipeline_id, telemetry, this.#hide);
    this.#backPressure = new BackPressure(pipeline_id, telemetry);
    this.#ownerCheck = new OwnerCheck(
      settings.sessionTimeout,
      async () => {
        await this.#opening.checkOwner(this.#signals!);
      },
      () => telemetry.wasFrozen({ pipeline_id }),
    );
  }

  /** The id of its cluster; empty before it is open. */
  get cluster(): string {
    return this.#positions.cluster;
  }

  async open(signals: SourceSignals): Promise<number[]> {
    this.#signals = signals;
    const again = await Codecs.load(mostBytesBefore);
    this.#reader = new PartitionReader(this.#brokers, again, (feed) => this.#positions.topicIdOf(feed));
    this.#buffer = new FetchBuffer(await Codecs.load(), this.#options.bufferBytes);
    const { givenUp, isMoved } = await this.#opening.run(signals);
    this.waitsForSettled = isMoved;
    this.#lag.opened(this.#positions.feeds);
    this.#ownerCheck.begin();
    return givenUp;
  }

  begin(): Promise<void> {
    const { settings } = this.#options;
    const topics = [...this.#options.topics.keys()];
    const buffer = this.#buffer!;
    this.#positions.began();
    const partitions = new HeldPartitions({
      client: this.#brokers,
      topics,
      settings,
      linger: lingerFor(this.#options.maxDelay),
      buffer,
      positions: this.#positions,
      opening: this.#opening,
      failures: this.#failures,
      pause: this.#pause,
      signals: this.#signals!,
      rejoin: () => this.#membership!.rejoin(),
      onFound: () => this.#commitAgain(),
      onEnd: (feed, end, high) => this.#lag.end(feed, end, high),
      onFetched: (feed, spans) => this.#lag.fetched(feed, spans),
      onBytes: (bytes) => this.#lag.brought(bytes),
    });
    this.#partitions = partitions;
    buffer.onChange = () => this.#changed();
    this.#membership = this.#joining(partitions, topics);
    this.#membership.join();
    // Brokers before Kafka 3.1 cannot fetch by topic id, so a recreated topic is not noticed by a fetch.
    const check = (): void => void partitions.checkTopics().catch(() => undefined);
    this.#topicCheck = setInterval(check, settings.metadataMaxAge).unref();
    return Promise.resolve();
  }

  /** Before `begin`: batches with these ranges were given up, so they are read again. */
  readAgain(ranges: readonly PositionRange[]): void {
    for (const range of ranges) this.#positions.givenUp(range);
  }

  next(limit: number, maxBytes: number): Promise<Chunk[]> {
    if (this.#isDraining || this.#partitions === undefined) return Promise.resolve([]);
    return Promise.resolve(this.#partitions.take(limit, maxBytes));
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
          this.#pause.leave();
          break;
        } catch (error) {
          // A topic that was created again is not read: the events of the old one are gone.
          await this.#checkTopic(feed).catch(() => undefined);
          if (!this.#positions.isThere(feed)) break;
          await this.#opening.wait({ class: "source", text: failureText(error, this.#hide) }, attempt, this.#signals!);
        }
      }
    }
  }

  mayHaveCompacted(ranges: readonly PositionRange[]): Promise<boolean> {
    return this.#opening.stillHolds(ranges, this.#signals!);
  }

  mayWrite(): Promise<void> {
    return this.#ownerCheck.passed();
  }

  acknowledge(ranges: readonly PositionRange[]): void {
    this.#commitFinal(this.#positions.settle(ranges));
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
    this.#partitions?.end();
    clearInterval(this.#topicCheck);
    this.#ownerCheck.end();
    this.#backPressure.end();
    this.#commitAgain();
    await this.#commits.flushed();
    this.#lag.stop();
    await Promise.allSettled([this.#partitions?.stop(), this.#membership?.leave()]);
    this.#failures.clearAll();
    this.#pause.leave();
    await this.#brokers.close().catch(() => undefined);
  }

  #joining(partitions: HeldPartitions, topics: readonly string[]): Membership {
    const { pipeline_id, connection, identity, log, replicas, settings, socketFactory, telemetry } = this.#options;
    const groupId = consumerGroup(pipeline_id, this.#options.options);
    return new Membership({
      pipeline_id,
      topics,
      replicas,
      identity,
      telemetry,
      positions: this.#positions,
      opening: this.#opening,
      failures: this.#failures,
      signals: this.#signals!,
      hide: this.#hide,
      member: (number) => ({
        client: new Brokers(kafkaClient(connection, clientId(identity, number), log, socketFactory), settings),
        leaving: this.#brokers,
        groupId,
        instanceId: instanceId(identity, number),
        clientId: clientId(identity, number),
        topics,
        settings,
      }),
      heartbeatInterval: settings.heartbeatInterval,
      onHeld: (feeds) => {
        partitions.hold(feeds);
        this.#lag.held(feeds);
      },
      onDoubt: () => this.#ownerCheck.doubt(),
    });
  }

  /** Resolves when brokers have been asked for the ends, where they are. */
  #turn(): Promise<void> | undefined {
    this.#commitAgain();
    // Fetches from leaders report the end offsets. Without partitions to fetch, and while fetches bring no answer, or there is no
    // room for one, the brokers are asked for them.
    const quiet = 2 * longestFetch(this.#options.settings) + outdated;
    const isDue = this.#partitions?.isEmpty !== false || this.#lag.isOutdated(quiet);
    if (this.#looking !== undefined) return undefined;
    const asking: Promise<unknown> = isDue ? this.#opening.read() : this.#partitions!.askEnds();
    const looked = asking.then(noop, noop);
    this.#looking = looked.finally(() => (this.#looking = undefined));
    return isDue ? looked : undefined;
  }

  /** Commits offsets that the group does not have: a commit may have failed with no later one to replace it. */
  #commitAgain(): void {
    this.#commitFinal(this.#positions.uncommitted().keys());
  }

  /**
   * Commits the final offsets of partitions. Before the first join there is no member to commit them: the claims of
   * that join do.
   */
  #commitFinal(feeds: Iterable<Feed>): void {
    if (this.#membership === undefined) return;
    for (const feed of feeds) this.#commits.add(feed, this.#positions.final(feed)!);
  }

  async #commit(offsets: ReadonlyMap<Feed, number>): Promise<void> {
    await this.mayWrite();
    await this.#membership!.commit(offsets);
  }

  async #checkTopic(feed: Feed): Promise<void> {
    this.#positions.saw(await this.#brokers.topicIds([kafkaPartition(feed)!.topic]));
  }

  #changed(): void {
    if (this.#closing === undefined) this.#backPressure.look(this.#buffer?.hasRoom !== false);
    this.#partitions?.look();
    this.#arrivals.came();
  }
}

/** A part of the delay that a batch may have, and at most 100 ms, as what a fetch waits for comes on top of that delay. */
function lingerFor(maxDelay: number): number {
  return Math.min(100, Math.max(5, Math.round(maxDelay / 4)));
}
