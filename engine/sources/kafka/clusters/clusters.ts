import { EngineError } from "../../../core/errors.ts";
import { rangesOf } from "../../../core/journal.ts";
import type { Chunk, Feed, PositionRange } from "../../../core/positions.ts";
import type { Source, SourceJournal, SourceSignals } from "../../../core/source.ts";
import { waysOutOfKafka } from "../brokers/failures.ts";
import { kafkaPartition, partitionText } from "../positions/feed.ts";

/** Reads topics of one cluster. */
export interface ClusterSource extends Source {
  /** The id of its cluster, after `open`. */
  readonly cluster: string;
  /** Before `begin`: batches with these ranges were given up, so they are read again. */
  readAgain(ranges: readonly PositionRange[]): void;
}

export interface ClustersOptions {
  pipeline_id: string;
  /** The journal as a reader of its own sees it (see `SharedJournal`). */
  journal: Pick<SourceJournal, "pending">;
  /** One for each connection. */
  sources: readonly ClusterSource[];
}

/**
 * Reads topics of several clusters, such as those of the two sides of a join: each by a source of its own, with a consumer
 * group there. A batch may have events of all of them. It reads when all of them may; after that, one that cannot
 * read does not keep the others from it.
 */
export class Clusters implements Source {
  readonly keepsReading = false;
  readonly wayOutOfLoss = waysOutOfKafka.lost;
  readonly feedText = partitionText;
  readonly #options: ClustersOptions;
  readonly #sources: readonly ClusterSource[];
  /** Which one is asked first for the next events. */
  #first = 0;

  constructor(options: ClustersOptions) {
    this.#options = options;
    this.#sources = options.sources;
  }

  get waitsForSettled(): boolean {
    return this.#sources.some((source) => source.waitsForSettled);
  }

  /** One after the other: a batch that one gives up is not pending for the next one, and is read again by those before. */
  async open(signals: SourceSignals): Promise<number[]> {
    const { journal, pipeline_id } = this.#options;
    const pending = new Map(journal.pending(pipeline_id).map((record) => [record.batch, record]));
    const all: number[] = [];
    for (const [index, source] of this.#sources.entries()) {
      const givenUp = await source.open(signals);
      const ranges = givenUp.flatMap((batch) => rangesOf(pending.get(batch)!));
      for (const opened of this.#sources.slice(0, index)) opened.readAgain(ranges);
      all.push(...givenUp);
    }
    this.#checkClusters();
    return all;
  }

  async begin(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.begin()));
  }

  /** Half of the room goes to the one that is asked first, which is each in its turn, and more where the others have less. */
  async next(limit: number, maxBytes: number): Promise<Chunk[]> {
    const order = this.#sources.map((_source, index) => this.#sources[(this.#first + index) % this.#sources.length]!);
    this.#first = (this.#first + 1) % this.#sources.length;
    const chunks: Chunk[] = [];
    let [count, bytes] = [0, 0];
    for (const [index, source] of [...order, ...order].entries()) {
      const share = index < order.length ? order.length - index : 1;
      const room = Math.ceil((limit - count) / share);
      if (room <= 0 || bytes >= maxBytes) break;
      const found = await source.next(room, (maxBytes - bytes) / share);
      chunks.push(...found);
      for (const { events } of found) {
        count += events.length;
        for (const { size } of events) bytes += size;
      }
    }
    return chunks;
  }

  async wait(count: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const end = (): void => over.abort();
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    await Promise.race(this.#sources.map((source) => source.wait(count, until, over.signal)));
    end();
    signal.removeEventListener("abort", end);
  }

  /** Ranges of a cluster that is not read any more are gone. */
  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    for (const source of this.#sources) yield* source.again(rangesIn(source, ranges));
  }

  async mayHaveCompacted(ranges: readonly PositionRange[]): Promise<boolean> {
    if (ranges.some(({ feed }) => !this.#sources.some((source) => isIn(source, feed)))) return false;
    const own = this.#sources.map((source) => source.mayHaveCompacted(rangesIn(source, ranges)));
    return (await Promise.all(own)).every(Boolean);
  }

  async mayWrite(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.mayWrite()));
  }

  acknowledge(ranges: readonly PositionRange[]): void {
    for (const source of this.#sources) source.acknowledge(rangesIn(source, ranges));
  }

  drain(): void {
    for (const source of this.#sources) source.drain();
  }

  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.close()));
  }

  /** In one cluster they would have one consumer group, and each would be given topics of the other. */
  #checkClusters(): void {
    const [cluster] = this.#sources.map((source) => source.cluster);
    if (new Set(this.#sources.map((source) => source.cluster)).size === this.#sources.length) return;
    throw new EngineError("NOT_SUPPORTED", `pipeline ${this.#options.pipeline_id}: ${oneClusterText(cluster!)}`);
  }
}

/** The connections of a pipeline lead to the same cluster. */
export function oneClusterText(cluster: string): string {
  return `the connections of its sources lead to one Kafka cluster, ${cluster}: give all sources the same connection_params`;
}

function isIn({ cluster }: ClusterSource, feed: Feed): boolean {
  return kafkaPartition(feed)?.cluster === cluster;
}

function rangesIn(source: ClusterSource, ranges: readonly PositionRange[]): PositionRange[] {
  return ranges.filter(({ feed }) => isIn(source, feed));
}
