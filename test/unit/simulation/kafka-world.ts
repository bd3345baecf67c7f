import { Kafka, logLevel } from "kafkajs";
import { LeftForLater } from "../../../engine/core/errors.ts";
import { nextPosition, type BatchRecord, type Journal, type Progress } from "../../../engine/core/journal.ts";
import type { Chunk, Feed } from "../../../engine/core/positions.ts";
import { consumerGroup } from "../../../engine/core/names.ts";
import { KafkaSource, type KafkaSourceOptions } from "../../../engine/sources/kafka/kafka-source.ts";
import { kafkaPartition } from "../../../engine/sources/kafka/positions/feed.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import { keptLog } from "../../support/engine.ts";
import { Random } from "../../support/random.ts";
import { Life, SimulatedClock } from "../../support/simulation/clock.ts";
import { SimulatedKafka, type SimulatedKafkaOptions } from "../../support/simulation/kafka/simulated-kafka.ts";
import { SimulatedNetwork, type Draw } from "../../support/simulation/network.ts";

/** The topic of the pipeline that reads here, and its consumer group. */
export const topic = "orders";
export const group = consumerGroup("orders");
/** The id of the data dir of a pipeline that is given none. */
export const dataDir = "a".repeat(16);

/** Values "a-0", "a-1" and on. */
export function some(count: number, name = "a"): string[] {
  return Array.from({ length: count }, (_, at) => `${name}-${at}`);
}

/** Time, a network and a cluster, all decided by one seed. `Math.random` is the seed's too, until the end. */
export class KafkaWorld {
  readonly clock = new SimulatedClock();
  readonly draw: Draw;
  readonly network: SimulatedNetwork;
  readonly kafka: SimulatedKafka;
  readonly #random = Math.random;

  constructor(seed: number, options: Omit<SimulatedKafkaOptions, "network" | "draw">) {
    const random = new Random(seed);
    this.draw = (n) => random.below(n);
    this.clock.install();
    Math.random = () => this.draw(2 ** 32) / 2 ** 32;
    this.network = new SimulatedNetwork(this.draw);
    this.kafka = new SimulatedKafka({ network: this.network, draw: this.draw, ...options });
  }

  /** A client as anyone makes one. */
  client(clientId = "test"): Kafka {
    const { brokers } = this.kafka.connection;
    return new Kafka({ clientId, brokers, socketFactory: this.kafka.socketFactory, logLevel: logLevel.NOTHING });
  }

  /** A pipeline that reads, from now on. */
  reading(options: SourceOptions = {}): Reading {
    return new Reading(this, options).start();
  }

  /** The first three partitions of the topic get so many events each, named after them. */
  produceAll(count: number, name = "a"): void {
    for (const partition of [0, 1, 2]) this.kafka.produce(topic, partition, some(count, `${name}${partition}`));
  }

  /** The offsets that a group has committed. */
  offsetsOf(id = group): Record<string, number> {
    return Object.fromEntries([...this.kafka.committed(id)].map(([place, { offset }]) => [place, offset]));
  }

  /** What has to be read by the pipeline's group, once each: sorted, as `Reading.read` has it. */
  due(): string[] {
    const due = this.kafka.truth.dueTo(group);
    return due.map((one) => `${one.topic}/${one.partition}/${one.offset} ${one.value}`).toSorted();
  }

  /** Lets time pass until a promise is settled, at most a minute. */
  async settled<Value>(promise: Promise<Value>, limit = 60_000): Promise<Value> {
    let isDone = false;
    // Whether it is rejected is for the caller, who gets the promise.
    promise
      .catch(() => undefined)
      .finally(() => (isDone = true))
      .catch(() => undefined);
    if (!(await this.clock.until(() => isDone, limit))) {
      throw new Error(`expected an end within ${limit} ms of the simulated time, found none`);
    }
    return promise;
  }

  /** Lets time pass until it is so. */
  async until(isThere: () => boolean, limit = 60_000): Promise<void> {
    if (!(await this.clock.until(isThere, limit))) {
      throw new Error(`expected it within ${limit} ms of the simulated time: ${isThere.toString()}`);
    }
  }

  end(): void {
    this.clock.uninstall();
    Math.random = this.#random;
  }
}

type PlaceOptions = NonNullable<Parameters<Journal["place"]>[2]>;

/** What a source asks of a journal, kept in memory: no disk, and no time. */
class MemoryJournal {
  readonly #progress: Progress = { positions: {}, batch: 0, clock: 0 };

  place(_pipeline_id: string, positions: Record<Feed, number>, { notes }: PlaceOptions = {}): Promise<void> {
    Object.assign(this.#progress.positions, positions);
    if (notes !== undefined) this.#progress.notes = notes;
    return Promise.resolve();
  }

  commit(feed: Feed, last: number, epoch?: number): void {
    this.#progress.positions[feed] = last;
    if (epoch !== undefined) this.#progress.epochs = { ...this.#progress.epochs, [feed]: { at: last, epoch } };
  }

  /** What a copy of the data dir has. */
  copy(): MemoryJournal {
    const copy = new MemoryJournal();
    Object.assign(copy.#progress, structuredClone(this.#progress));
    return copy;
  }

  pending(): BatchRecord[] {
    return [];
  }

  progress(): Progress {
    return this.#progress;
  }

  giveUp(): Promise<void> {
    return Promise.resolve();
  }

  next(feed: Feed): number | undefined {
    return nextPosition(feed, this.#progress, []);
  }
}

export interface SourceOptions {
  topics?: readonly string[];
  replicas?: number;
  start?: "earliest" | "latest";
  adopted?: string;
  run?: string;
  earlier?: readonly string[];
  dataDir?: string;
  options?: KafkaSourceOptions["options"];
  journal?: MemoryJournal;
  /** Where Sluice is. */
  rack?: string;
  /** It does not begin to read, as while its target does not answer. */
  isOnlyOpen?: boolean;
}

/** A pipeline that reads a real Kafka source, and takes each event as written at once. */
export class Reading {
  readonly journal: MemoryJournal;
  readonly source: KafkaSource;
  /** `topic/partition/offset value` of each event, in the order in which it was read. */
  readonly read: string[] = [];
  /** What telemetry heard, by the names of its functions. */
  readonly heard: [event: string, fields: Record<string, unknown>][] = [];
  /** While it takes no events, they stay in the buffer of the source. */
  isHeldUp = false;
  readonly #isOnlyOpen: boolean;
  readonly #drain = new AbortController();
  readonly #leave = new AbortController();
  readonly #life = new Life();
  #loop: Promise<void> | undefined;

  constructor(world: KafkaWorld, options: SourceOptions = {}) {
    const { topics = [topic], replicas = 1, run = "11111111" } = options;
    this.journal = options.journal ?? new MemoryJournal();
    this.#isOnlyOpen = options.isOnlyOpen === true;
    const telemetry = new Proxy({} as Telemetry, {
      get: (_target, event) => (fields: Record<string, unknown>) => void this.heard.push([String(event), fields]),
    });
    const { start = "earliest", adopted } = options;
    this.source = new KafkaSource({
      pipeline_id: "orders",
      connection: world.kafka.connection,
      topics: new Map(topics.map((name) => [name, { start, adopted, hasDedup: false }])),
      replicas,
      identity: { dataDir: options.dataDir ?? dataDir, run, earlier: new Set(options.earlier) },
      options: options.options ?? { on_lost: "pause" },
      settings: { ...defaultKafkaSettings, ...(options.rack !== undefined && { rack: options.rack }) },
      journal: this.journal,
      telemetry,
      pause: new RetryPause("orders", telemetry),
      log: keptLog(),
      bufferBytes: 1024 * 1024,
      maxDelay: 1_000,
      socketFactory: world.kafka.socketFactory,
    });
  }

  start(): this {
    this.#loop = this.#life.run(() => this.#run());
    return this;
  }

  /** SIGKILL: its connections end, and it leaves nothing. */
  kill(): void {
    this.#life.end();
  }

  /** Of each partition of the topic, by its number: the offsets that were read. */
  offsets(): Record<number, number[]> {
    const found: Record<number, number[]> = {};
    for (const line of this.read) {
      const [of, partition, offset] = line.split(" ")[0]!.split("/");
      if (of === topic) (found[Number(partition)] ??= []).push(Number(offset));
    }
    return found;
  }

  heardOf(event: string): Record<string, unknown>[] {
    return this.heard.filter(([name]) => name === event).map(([, fields]) => fields);
  }

  async close(): Promise<void> {
    this.#drain.abort();
    this.source.drain();
    await this.#loop?.catch((error: unknown) => {
      if (!(error instanceof LeftForLater)) throw error;
    });
    await this.source.close();
    this.#leave.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#drain;
    const signals = { drain: signal, leave: this.#leave.signal };
    await this.source.open(signals);
    if (this.#isOnlyOpen) return;
    await this.source.begin();
    while (!signal.aborted) {
      if (this.isHeldUp) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      const chunks = await this.source.next(1_000, 1e6);
      if (chunks.length > 0) await this.source.mayWrite();
      for (const chunk of chunks) this.#take(chunk);
      await this.source.wait(1, undefined, signal);
    }
  }

  #take({ feed, events, last, epoch }: Chunk): void {
    const of = kafkaPartition(feed)!;
    for (const event of events) {
      const value = event.within!.toString("utf8", event.start, event.end);
      this.read.push(`${of.topic}/${of.partition}/${event.position} ${value}`);
    }
    const first = this.journal.next(feed) ?? 0;
    this.journal.commit(feed, last, epoch);
    this.source.acknowledge([{ feed, base: first, first, last, count: events.length }]);
  }
}
