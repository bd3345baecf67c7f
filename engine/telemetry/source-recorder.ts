import type { Registry } from "prom-client";
import type { Log } from "./log.ts";
import { beginAtZero, engineMetrics, exposeRowRates, type EngineMetrics } from "./metrics.ts";
import { RefusalsOfPipeline } from "./refused-senders.ts";
import { RowRate } from "./row-rate.ts";
import type { Telemetry, EventOf } from "./telemetry.ts";
import {
  type JoinHeld,
  type KeysHeld,
  type OpenTransaction,
  type PartitionLag,
  type PipelineCounters,
  type SourceLag,
  type ThrottlingBroker,
  zeroCounters,
} from "../core/counters.ts";
import { type RequestRefusal, unknownPipeline } from "../core/refusals.ts";
import type { Pause } from "../core/pause.ts";

/**
 * Any client may join a group, under any name, so the number of members shown and the length of their names are
 * limited.
 */
const [mostShown, longestShown] = [20, 100];

/** A pipeline with more partitions has no series for each: scrapes would grow with all partitions of all pipelines. */
const mostSeries = 100;

/** The events of sources: log lines, metrics and counters of health. */
class SourceRecorder implements Pick<
  Telemetry,
  | "eventsCompacted"
  | "positionsSkipped"
  | "logCut"
  | "topicRecreated"
  | "rewound"
  | "rewoundNothing"
  | "positionMoved"
  | "foreignCommit"
  | "foreignMembers"
  | "takenOver"
  | "wasFrozen"
  | "assigned"
  | "throttled"
  | "fetched"
  | "lag"
> {
  protected readonly log: Log;
  protected readonly metrics: EngineMetrics;
  readonly #observed = new Map<string, Observed>();

  constructor(log: Log, registry: Registry) {
    this.log = log;
    this.metrics = engineMetrics(registry, log);
    exposeRowRates(registry, () => this.#observed);
  }

  /** What a pipeline has done since the process started, and its pauses. Its counters begin at 0 with the first call. */
  observed(pipeline_id: string): Observed {
    const known = this.#observed.get(pipeline_id);
    if (known !== undefined) return known;
    const observed = new Observed(new RefusalsOfPipeline(pipeline_id, this.log));
    this.#observed.set(pipeline_id, observed);
    beginAtZero(this.metrics, pipeline_id);
    return observed;
  }

  /** Drops the series and counters of a deleted pipeline. */
  forget(pipeline_id: string): void {
    this.#observed.get(pipeline_id)?.refusals.close();
    this.#observed.delete(pipeline_id);
    for (const metric of Object.values(this.metrics) as EngineMetrics["paused"][]) {
      void forgetSeries(metric, pipeline_id);
    }
  }

  /** Logs what waits to be logged. */
  close(): void {
    for (const { refusals } of this.#observed.values()) refusals.close();
  }

  eventsCompacted({ pipeline_id, batch, count }: EventOf<"eventsCompacted">): void {
    this.observed(pipeline_id).counters.events_compacted += count;
    this.metrics.eventsCompacted.inc({ pipeline_id }, count);
    this.log.warn(
      { pipeline_id, batch, count },
      "Compaction of the topic removed events of a pending batch; the batch goes on without them.",
    );
  }

  positionsSkipped({ pipeline_id, topic, partition, from, to }: EventOf<"positionsSkipped">): void {
    const count = Math.max(0, to - from);
    this.observed(pipeline_id).counters.positions_skipped += count;
    this.metrics.positionsSkipped.inc({ pipeline_id }, count);
    this.log.error(
      { pipeline_id, topic, partition, from, to, count },
      "The next offsets to read are not in the topic; they are skipped.",
    );
  }

  logCut({ pipeline_id, topic, partition, from, to }: EventOf<"logCut">): void {
    this.observed(pipeline_id).counters.logs_cut += 1;
    this.metrics.logsCut.inc({ pipeline_id });
    this.log.error(
      { pipeline_id, topic, partition, from, to },
      "The log of a partition is not the one that was read. Reading goes on where they part; it is unknown how many events the log lost there.",
    );
  }

  topicRecreated({ pipeline_id, topic, from, to, hasDedup }: EventOf<"topicRecreated">): void {
    this.observed(pipeline_id).counters.topics_recreated += 1;
    this.metrics.topicsRecreated.inc({ pipeline_id });
    const effect = hasDedup ? " Its events with keys that the former topic had are dropped as duplicates." : "";
    this.log.error(
      { pipeline_id, topic, from, to },
      `A topic was deleted and created again. The new topic is read; the number of unread events of the former topic is unknown.${effect}`,
    );
  }

  rewound({ pipeline_id, topic, partition, from, to }: EventOf<"rewound">): void {
    this.log.warn(
      { pipeline_id, topic, partition, from, to },
      "A partition is read again, as x-sluice.rewind asks for.",
    );
  }

  rewoundNothing({ pipeline_id, asked }: EventOf<"rewoundNothing">): void {
    this.log.warn(
      { pipeline_id, asked },
      "Nothing is read again, although x-sluice.rewind asks for it: nothing of what it names was read, or is still there.",
    );
  }

  positionMoved({ pipeline_id, topic, partition, from, to, hasDedup }: EventOf<"positionMoved">): void {
    this.observed(pipeline_id).counters.positions_moved += 1;
    this.metrics.positionsMoved.inc({ pipeline_id });
    const effect =
      hasDedup && to < from ? " Events that are read again within the dedup window are dropped as duplicates." : "";
    this.log.warn(
      { pipeline_id, topic, partition, from, to },
      `The offsets of the consumer group were changed from outside; reading goes on at the new offsets.${effect}`,
    );
  }

  foreignCommit({ pipeline_id, topic, partition, offset, local }: EventOf<"foreignCommit">): void {
    this.observed(pipeline_id).counters.foreign_commits += 1;
    this.metrics.foreignCommits.inc({ pipeline_id });
    this.log.warn(
      { pipeline_id, topic, partition, offset, local },
      "Another application committed an offset in the consumer group; the offset is ignored.",
    );
  }

  foreignMembers({ pipeline_id, members }: EventOf<"foreignMembers">): void {
    const observed = this.observed(pipeline_id);
    this.metrics.foreignMembers.set({ pipeline_id }, members.length);
    if (members.length === 0) delete observed.foreign_members;
    else observed.foreign_members = members.slice(0, mostShown).map((name) => name.slice(0, longestShown));
    if (members.length > 0) {
      this.log.warn(
        { pipeline_id, members: observed.foreign_members },
        "Other applications are members of the consumer group: Sluice does not read their partitions.",
      );
    } else this.log.info({ pipeline_id }, "All group members are Sluice again.");
  }

  takenOver({ pipeline_id, run, batches, rows }: EventOf<"takenOver">): void {
    this.observed(pipeline_id).counters.events_skipped += rows;
    this.metrics.eventsSkipped.inc({ pipeline_id }, rows);
    this.log.warn(
      { pipeline_id, run, batches, rows },
      "The consumer group is taken over from another run; pending batches that the other run may have read are given up.",
    );
  }

  wasFrozen({ pipeline_id }: EventOf<"wasFrozen">): void {
    this.observed(pipeline_id).counters.owner_checks += 1;
    this.metrics.ownerChecks.inc({ pipeline_id });
    this.log.warn(
      { pipeline_id },
      "The process was frozen, or its clock was set: nothing is written until the owner of the consumer group is confirmed.",
    );
  }

  assigned({ pipeline_id, partitions }: EventOf<"assigned">): void {
    this.log.info({ pipeline_id, partitions }, "The consumer group assigned partitions.");
  }

  throttled({ pipeline_id, seconds }: EventOf<"throttled">): void {
    this.metrics.throttledSeconds.inc({ pipeline_id }, seconds);
  }

  fetched({ pipeline_id, leader, follower }: EventOf<"fetched">): void {
    this.metrics.fetchedBytes.inc({ pipeline_id, from: "leader" }, leader);
    this.metrics.fetchedBytes.inc({ pipeline_id, from: "follower" }, follower);
  }

  lag({ pipeline_id, ...source }: EventOf<"lag">): void {
    const observed = this.observed(pipeline_id);
    this.#transactions(pipeline_id, observed.source?.open_transactions, source.open_transactions);
    this.#throttling(pipeline_id, observed.source?.throttled_by, source.throttled_by);
    observed.source = source;
    observed.source_at = performance.now();
    this.metrics.uncommitted.set({ pipeline_id }, source.uncommitted);
    setIfKnown(this.metrics.lag, pipeline_id, source.lag);
    setIfKnown(this.metrics.lagSeconds, pipeline_id, source.lag_seconds);
    this.#partitionLags(pipeline_id, observed, source.by_partition ?? []);
    setIfKnown(this.metrics.heldBack, pipeline_id, source.held_back);
    this.metrics.partitions.set({ pipeline_id }, source.partitions);
  }

  #partitionLags(pipeline_id: string, observed: Observed, all: readonly PartitionLag[]): void {
    const before = observed.partition_lags;
    observed.partition_lags = new Map();
    for (const { topic, partition: number, lag } of all.length > mostSeries ? [] : all) {
      if (lag === undefined) continue;
      const [partition, key] = [String(number), `${topic}/${number}`];
      // Topics of two clusters may have one name.
      const sum = lag + (observed.partition_lags.get(key)?.lag ?? 0);
      observed.partition_lags.set(key, { lag: sum, labels: { pipeline_id, topic, partition } });
    }
    for (const { labels, lag } of observed.partition_lags.values()) this.metrics.partitionLag.set(labels, lag);
    for (const [key, { labels }] of before)
      if (!observed.partition_lags.has(key)) this.metrics.partitionLag.remove(labels);
  }

  #throttling(pipeline_id: string, before: ThrottlingBroker[] = [], now: ThrottlingBroker[] = []): void {
    if (before.length === 0 && now.length > 0)
      this.log.warn(
        { pipeline_id, brokers: now },
        "A client quota of the brokers keeps the pipeline from reading for a considerable part of the time.",
      );
    if (before.length > 0 && now.length === 0)
      this.log.info({ pipeline_id }, "No client quota keeps the pipeline from reading for long any more.");
  }

  #transactions(pipeline_id: string, before: OpenTransaction[] = [], now: OpenTransaction[] = []): void {
    for (const one of now.filter((of) => !isIn(before, of)))
      this.log.warn(
        { pipeline_id, ...one },
        "A transaction of a producer has been open for longer than a minute; what comes behind it in its partition is not read.",
      );
    for (const { since: _since, ...one } of before.filter((of) => !isIn(now, of)))
      this.log.info({ pipeline_id, ...one }, "A transaction that was open for long holds nothing back any more.");
  }
}

function isIn(all: readonly OpenTransaction[], one: OpenTransaction): boolean {
  const { cluster, topic, partition, offset } = one;
  return all.some(
    (of) => of.cluster === cluster && of.topic === topic && of.partition === partition && of.offset === offset,
  );
}

/** A gauge has no sample while its value is not known. */
function setIfKnown(gauge: EngineMetrics["lag"], pipeline_id: string, value: number | undefined): void {
  if (value === undefined) gauge.remove({ pipeline_id });
  else gauge.set({ pipeline_id }, value);
}

async function forgetSeries(metric: EngineMetrics["paused"], pipeline_id: string): Promise<void> {
  const { values } = await metric.get();
  for (const { labels } of values) {
    const { le: _bucket, quantile: _quantile, ...own } = labels as Record<string, string>;
    if (own["pipeline_id"] === pipeline_id) metric.remove(own as { pipeline_id: string; class: string });
  }
}

/** The state of a pipeline besides its catalog entry. It is lost when the process ends. */
class Observed {
  readonly counters: PipelineCounters = zeroCounters();
  readonly rate = new RowRate();
  /** By class: a source and a target may pause a pipeline at the same time. */
  readonly #pauses = new Map<Pause["class"], { pause: Pause; began: number }>();
  /** Its pause of the class `thread` is about a hold, and not about a death. */
  hasHeld = false;
  at_least_once?: string;
  profile_remark?: string;
  keys?: KeysHeld;
  join?: JoinHeld;
  source?: SourceLag;
  /** When that was reported, by the monotonic clock in milliseconds. */
  source_at = 0;
  /** When the oldest row of its join was made that waits for the table, in milliseconds since the epoch. */
  oldest_row: number | undefined;
  /** The series of the lag of its partitions, by topic and partition. */
  partition_lags = new Map<
    string,
    { lag: number; labels: { pipeline_id: string; topic: string; partition: string } }
  >();
  foreign_members?: string[];
  readonly refusals: RefusalsOfPipeline;

  constructor(refusals: RefusalsOfPipeline) {
    this.refusals = refusals;
  }

  /**
   * The pause that began first, after that of another owner: until that is over nothing is written, and what else was
   * to be corrected corrects nothing. The death of a thread is over, so whatever it waits for now comes before that.
   */
  get pause(): Pause | undefined {
    const pauses = [...this.#pauses.values()].map(({ pause }) => pause);
    const owner = pauses.find((pause) => pause.class === "owner");
    return owner ?? pauses.find((pause) => pause.class !== "thread") ?? pauses[0];
  }

  /**
   * Notes a pause, or the current text of one, which has lasted since its first text. Returns whether that says more than
   * other figures.
   */
  paused(pause: Pause): boolean {
    const before = this.#pauses.get(pause.class);
    const { began = performance.now(), pause: first = pause } = before ?? {};
    this.#pauses.set(pause.class, { pause: { ...pause, since: first.since }, began });
    return before === undefined || withoutFigures(before.pause.text) !== withoutFigures(pause.text);
  }

  /** Removes a pause; false where there is none. */
  pauseEnded(kind: Pause["class"]): boolean {
    return this.#pauses.delete(kind);
  }

  /** The pauses that have not ended, and the seconds since each began, by the monotonic clock. */
  get open(): { class: Pause["class"]; seconds: number }[] {
    return [...this.#pauses].map(([kind, { began }]) => ({ class: kind, seconds: (performance.now() - began) / 1000 }));
  }
}

/** Which partition it is about is no figure. */
function withoutFigures(text: string): string {
  return text.replaceAll(/(?<!partition )\b\d+\b/g, "0");
}

/** The events of push requests: what was stored of them, and back-pressure. */
export class IntakeRecorder
  extends SourceRecorder
  implements Pick<Telemetry, "eventAccepted" | "eventRefused" | "exportAnswered" | "noExportRefused" | "backpressure">
{
  /** Senders may name any pipeline: those that there are not are shown as one. */
  readonly #ofUnknown = new RefusalsOfPipeline(unknownPipeline, this.log);

  override close(): void {
    super.close();
    this.#ofUnknown.close();
  }

  eventAccepted({ pipeline_id, bytes }: EventOf<"eventAccepted">): void {
    this.metrics.requests.inc({ pipeline_id, status: "202" });
    this.metrics.bytesProcessed.inc({ pipeline_id, component: "ingestor", direction: "out" }, bytes);
  }

  eventRefused({ pipeline_id, status, ...refusal }: EventOf<"eventRefused">): void {
    this.metrics.requests.inc({ pipeline_id, status: String(status) });
    this.#refused(pipeline_id, refusal);
  }

  exportAnswered(event: EventOf<"exportAnswered">): void {
    const { pipeline_id, signal, transport, refusal, bytesIn, bytesOut, records } = event;
    const component = `otlp.${signal}`;
    const labels = { pipeline_id, component, transport, status: refusal === undefined ? "ok" : "error" };
    this.metrics.receiverRequests.inc(labels);
    this.metrics.receiverRequestsAlias.inc(labels);
    this.metrics.receiverDuration.observe(labels, event.seconds);
    if (refusal !== undefined) {
      this.metrics.receiverRefusals.inc({ pipeline_id, component, transport, reason: refusal.reason });
      this.#refused(pipeline_id, refusal);
    }
    if (bytesIn > 0) this.metrics.bytesProcessed.inc({ pipeline_id, component, direction: "in" }, bytesIn);
    if (event.leftOut > 0) this.metrics.pointsLeftOut.inc({ pipeline_id }, event.leftOut);
    if (event.refusedSpans > 0) this.metrics.spansRefused.inc({ pipeline_id }, event.refusedSpans);
    if (records === 0) return;
    this.metrics.bytesProcessed.inc({ pipeline_id, component, direction: "out" }, bytesOut);
    this.metrics.processorMessages.inc({ pipeline_id, component, status: "out" }, records);
  }

  noExportRefused(refusal: EventOf<"noExportRefused">): void {
    this.#refused(unknownPipeline, refusal);
  }

  #refused(pipeline_id: string, refusal: RequestRefusal): void {
    this.metrics.pushRefusals.inc({ pipeline_id, reason: refusal.reason });
    const refusals = pipeline_id === unknownPipeline ? this.#ofUnknown : this.observed(pipeline_id).refusals;
    refusals.add(refusal);
  }

  backpressure({ pipeline_id, component = "ingestor", active, seconds }: EventOf<"backpressure">): void {
    const labels = { pipeline_id, component };
    const isIngestor = component === "ingestor";
    this.metrics.backpressureActive.set(labels, active ? 1 : 0);
    if (isIngestor) this.metrics.ingestorActive.set({ pipeline_id }, active ? 1 : 0);
    if (active) {
      this.metrics.backpressureEvents.inc(labels);
      if (isIngestor) this.metrics.ingestorEvents.inc({ pipeline_id });
      this.log.warn({ pipeline_id }, "Back-pressure: the buffer is full, no more events are read or accepted.");
    } else {
      this.metrics.backpressureDuration.observe(labels, seconds);
      if (isIngestor) this.metrics.ingestorDuration.observe({ pipeline_id }, seconds);
      this.log.info({ pipeline_id, seconds }, "Back-pressure is over.");
    }
  }
}
