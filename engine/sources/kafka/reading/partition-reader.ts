import type { Chunk, Feed, PositionRange } from "../../../core/positions.ts";
import { outOfRange, placeAt } from "../brokers/brokers.ts";
import type { KafkaClient, Leader, OffsetAt, TopicPartition } from "../brokers/client.ts";
import { noLeader } from "../brokers/leaders.ts";
import { brokerError } from "../brokers/requests.ts";
import { divergences } from "../brokers/divergences.ts";
import { partitionOf } from "../positions/feed.ts";
import type { Codecs } from "../protocol/codecs.ts";
import type { FetchedPartition } from "../protocol/fetch.ts";
import { RecordBatches } from "../protocol/record-batches.ts";
import { eventsOf, RecordRun } from "../protocol/record-run.ts";

const readBytes = 4 * 1024 * 1024;
/** After this many answers in a row without the expected events, the read fails. */
const mostEmpty = 20;

/** Reads ranges of partitions again, outside of the consumer group. */
export class PartitionReader {
  readonly #client: KafkaClient;
  readonly #codecs: Codecs;
  readonly #topicIdOf: (feed: Feed) => string | undefined;
  readonly #run = new RecordRun();

  /** `topicIdOf`: the id of the topic of a partition, where it is known. */
  constructor(client: KafkaClient, codecs: Codecs, topicIdOf: (feed: Feed) => string | undefined = () => undefined) {
    this.#client = client;
    this.#codecs = codecs;
    this.#topicIdOf = topicIdOf;
  }

  /**
   * The rest of a range, from an offset on, as far as the log still has it. Throws what the client throws, and
   * UnreadableRecords; the caller can then go on at the offset reached.
   */
  async *read(range: PositionRange, from: number): AsyncGenerator<Chunk> {
    const { feed } = range;
    const { topic, partition } = partitionOf(feed);
    let [end, checked]: [number, number | undefined] = [range.last, undefined];
    let [empty, isSaidEmpty] = [0, true];
    for (let position = from; position <= end;) {
      const leader = await this.#refreshingLeaders(() => this.#leaderOf(feed));
      if (range.epoch !== undefined && checked !== leader.epoch) {
        end = await this.#refreshingLeaders(() => this.#lastThere({ ...range, epoch: range.epoch! }, leader));
        checked = leader.epoch;
        continue;
      }
      const fetched = await this.#refreshingLeaders(() => this.#fetch(feed, leader, position));
      if (fetched === "gone") {
        const earliest = await this.#refreshingLeaders(() => this.#offset({ topic, partition }, "first"));
        if (earliest <= position) return;
        position = earliest;
        continue;
      }
      if (fetched === undefined || fetched.records.length === 0) {
        // A broker also answers without events when it throttles the client, reads slowly, or became leader just now.
        const logEnd = await this.#refreshingLeaders(() => this.#offset({ topic, partition }, "end"));
        if (logEnd <= position) return;
        empty += 1;
        isSaidEmpty &&= saysEmpty(fetched, logEnd);
        if (empty < mostEmpty) continue;
        // A log that was cut within a batch ends with offsets that have no events, until the next event comes.
        if (isSaidEmpty && (await this.#endsEmpty(feed, logEnd))) return;
        throw noEvents(topic, partition, position, logEnd);
      }
      [empty, isSaidEmpty] = [0, true];
      const batches = new RecordBatches(fetched, position, this.#codecs, this.#run);
      while (batches.next()) {
        const { count, offsets } = this.#run;
        let inside = 0;
        while (inside < count && offsets[inside]! <= end) inside += 1;
        const events = eventsOf(this.#run, 0, inside, topic);
        if (events.length > 0) yield { feed, events, last: events.at(-1)!.position };
      }
      if (batches.nextOffset === position) return;
      position = batches.nextOffset;
    }
  }

  /** Whether there is no event at the end of a log, which brokers read from their own disk. */
  async #endsEmpty(feed: Feed, logEnd: number): Promise<boolean> {
    const leader = await this.#refreshingLeaders(() => this.#leaderOf(feed));
    const fetched = await this.#refreshingLeaders(() => this.#fetch(feed, leader, logEnd - 1));
    return fetched !== "gone" && saysEmpty(fetched, logEnd);
  }

  async #leaderOf(feed: Feed): Promise<Leader> {
    const place = partitionOf(feed);
    const leader = (await this.#client.leaders(place.topic)).get(place.partition);
    if (leader === undefined) throw noLeader(place);
    return leader;
  }

  /** The last offset of a range that the log of a leader has as it was: from where they part on it has other events. */
  async #lastThere({ feed, last, epoch }: PositionRange & { epoch: number }, leader: Leader): Promise<number> {
    const parted = await divergences(this.#client, leader.node, [{ feed, next: last + 1, epoch, leader }]);
    const end = parted.get(feed);
    if (end instanceof Error) throw end;
    return end === undefined ? last : end - 1;
  }

  /** What a broker has from an offset on; undefined where it does not say, `gone` where the offset is out of range. */
  async #fetch(feed: Feed, leader: Leader, offset: number): Promise<FetchedPartition | "gone" | undefined> {
    const wanted = {
      places: [{ ...placeAt(feed, offset, this.#topicIdOf(feed)), leaderEpoch: leader.epoch }],
      partitionMaxBytes: readBytes,
      wait: 100,
      minBytes: 1,
    };
    const [fetched] = await this.#client.fetch(leader.node, wanted);
    if (fetched === undefined) return undefined;
    if (fetched.errorCode === outOfRange) return "gone";
    if (fetched.errorCode !== 0) throw brokerError(fetched.errorCode);
    return fetched;
  }

  async #offset(place: TopicPartition, at: OffsetAt): Promise<number> {
    const [offset] = await this.#client.offsets([place], at);
    if (offset instanceof Error) throw offset;
    return offset!;
  }

  /** After a failure another broker may lead: refreshes the leaders for the next attempt. */
  async #refreshingLeaders<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#client.refresh().catch(() => undefined);
      throw error;
    }
  }
}

/** Whether an answer without events knows the end of the log. */
function saysEmpty(fetched: FetchedPartition | undefined, logEnd: number): boolean {
  return fetched?.records.length === 0 && fetched.lastStableOffset >= logEnd;
}

function noEvents(topic: string, partition: number, from: number, end: number): Error {
  const where = `topic ${topic}, partition ${partition}`;
  return new Error(`${where}: expected events between the offsets ${from} and ${end}, found none`);
}
