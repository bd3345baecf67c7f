import type { Chunk, Feed, PositionRange } from "../../../core/positions.ts";
import { brokerError, noLeader, outOfRange, placeAt, type Brokers } from "../brokers/brokers.ts";
import { kafkaPartition } from "../positions/feed.ts";
import type { Codecs } from "../protocol/codecs.ts";
import type { FetchedPartition } from "../protocol/fetch.ts";
import { RecordBatches } from "../protocol/record-batches.ts";
import { eventsOf, RecordRun } from "../protocol/record-run.ts";

const readBytes = 4 * 1024 * 1024;
/** After this many answers in a row without the expected events, the read fails. */
const mostEmpty = 20;

/** Reads ranges of partitions again, outside of the consumer group. */
export class PartitionReader {
  readonly #brokers: Brokers;
  readonly #codecs: Codecs;
  readonly #topicIdOf: (feed: Feed) => string | undefined;
  readonly #run = new RecordRun();

  /** `topicIdOf`: the id of the topic of a partition, where it is known. */
  constructor(brokers: Brokers, codecs: Codecs, topicIdOf: (feed: Feed) => string | undefined = () => undefined) {
    this.#brokers = brokers;
    this.#codecs = codecs;
    this.#topicIdOf = topicIdOf;
  }

  /**
   * The rest of a range, from an offset on. Throws what kafkajs throws, and UnreadableRecords; the caller can then go
   * on at the offset reached.
   */
  async *read({ feed, last: end }: PositionRange, from: number): AsyncGenerator<Chunk> {
    const { topic, partition } = kafkaPartition(feed)!;
    let [empty, isSaidEmpty] = [0, true];
    for (let position = from; position <= end;) {
      const fetched = await this.#refreshingLeaders(() => this.#fetch(feed, position));
      if (fetched === "gone") {
        const earliest = await this.#refreshingLeaders(() => this.#brokers.earliest(topic, partition));
        if (earliest <= position) return;
        position = earliest;
        continue;
      }
      if (fetched === undefined || fetched.records.length === 0) {
        // A broker also answers without events when it throttles the client, reads slowly, or became leader just now.
        const logEnd = await this.#refreshingLeaders(() => this.#brokers.end(topic, partition));
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
    const fetched = await this.#refreshingLeaders(() => this.#fetch(feed, logEnd - 1));
    return fetched !== "gone" && saysEmpty(fetched, logEnd);
  }

  /** What a broker has from an offset on; undefined where it does not say, `gone` where the offset is out of range. */
  async #fetch(feed: Feed, offset: number): Promise<FetchedPartition | "gone" | undefined> {
    const { topic, partition } = kafkaPartition(feed)!;
    const leader = (await this.#brokers.leaders(topic)).get(partition);
    if (leader === undefined) throw noLeader(feed);
    const wanted = {
      places: [placeAt(feed, offset, this.#topicIdOf(feed))],
      partitionMaxBytes: readBytes,
      wait: 100,
      minBytes: 1,
    };
    const [fetched] = await this.#brokers.fetch(leader, wanted);
    if (fetched === undefined) return undefined;
    if (fetched.errorCode === outOfRange) return "gone";
    if (fetched.errorCode !== 0) throw brokerError(fetched.errorCode);
    return fetched;
  }

  /** After a failure another broker may lead: refreshes the leaders for the next attempt. */
  async #refreshingLeaders<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#brokers.refresh().catch(() => undefined);
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
