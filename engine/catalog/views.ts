import { consumerGroup } from "../core/names.ts";
import type { PipelineHealth, PipelineView } from "../core/pipeline-view.ts";
import { hasConsumerGroup, isPushed } from "../sources/registry.ts";
import type { DeadLetters } from "../state/dead-letters.ts";
import type { StoreJournal } from "../state/journal.ts";
import type { Streams } from "../streams/streams.ts";
import type { Recorder } from "../telemetry/recorder.ts";
import type { CatalogEntry } from "./catalog.ts";
import type { PipelineRegistry } from "./registry.ts";

interface PipelineViewsOptions {
  registry: PipelineRegistry;
  journal: StoreJournal;
  letters: DeadLetters;
  streams: Streams;
  recorder: Recorder;
}

/** Pipelines as a caller of the engine sees them: without the hash of their token, and frozen. */
export class PipelineViews {
  readonly #options: PipelineViewsOptions;

  constructor(options: PipelineViewsOptions) {
    this.#options = options;
  }

  /** As long as a pipeline is not changed, its config and options are the same objects. Throws PIPELINE_NOT_FOUND. */
  get(pipeline_id: string): PipelineView {
    return viewOf(this.#options.registry.get(pipeline_id));
  }

  /** Newest first; each as `get` gives it. */
  list(): PipelineView[] {
    return this.#options.registry.list().map(viewOf);
  }

  /** Throws PIPELINE_NOT_FOUND. */
  health(pipeline_id: string): PipelineHealth {
    const { registry, journal, letters, recorder, streams } = this.#options;
    const { config, options, status, failure, created_at, updated_at } = registry.get(pipeline_id);
    const { counters, pause, at_least_once, profile_remark, keys, join, source, foreign_members, refusals, rate } =
      recorder.observed(pipeline_id);
    const stream = streams.state(pipeline_id);
    const freshness_seconds = this.freshness(pipeline_id);
    return {
      pipeline_id,
      pipeline_name: config.name,
      overall_status: status,
      ...(failure !== undefined && { failure }),
      ...(pause !== undefined && { paused: pause }),
      ...(at_least_once !== undefined && { at_least_once }),
      ...(profile_remark !== undefined && { profile_remark }),
      ...(refusals.shown !== undefined && { refused_senders: refusals.shown }),
      ...(stream !== undefined && { stream }),
      ...(freshness_seconds !== undefined && { freshness_seconds }),
      rows_per_second: rate.perSecond,
      pending_batches: journal.pendingCount(pipeline_id),
      dead_letters: letters.queue(pipeline_id).state(),
      ...(keys !== undefined && { keys }),
      ...(config.join !== undefined && { join: { ...join, waiting: journal.waitingRows(pipeline_id) } }),
      ...(hasConsumerGroup(config) && { consumer_group: consumerGroup(pipeline_id, options) }),
      ...(source === undefined ? this.#unread(pipeline_id) : { source }),
      ...(foreign_members !== undefined && { foreign_members }),
      counters: { ...counters },
      created_at,
      updated_at,
    };
  }

  /** See `PipelineHealth.freshness_seconds`. */
  freshness(pipeline_id: string): number | undefined {
    const { config } = this.#options.registry.get(pipeline_id);
    const ages = [
      isPushed(config) ? this.#ageInStream(pipeline_id) : this.#ageInTopics(pipeline_id),
      ...(config.join === undefined ? [] : [this.#ageInJoin(pipeline_id)]),
    ];
    const known = ages.filter((age) => age !== undefined);
    return known.length === ages.length ? Math.max(...known) : undefined;
  }

  #ageInStream(pipeline_id: string): number | undefined {
    const { streams } = this.#options;
    if (streams.state(pipeline_id) === undefined) return undefined;
    return secondsSince(streams.oldest(pipeline_id));
  }

  /** An event that was not written when the lag was reported is older by now. */
  #ageInTopics(pipeline_id: string): number | undefined {
    const { source, source_at } = this.#options.recorder.observed(pipeline_id);
    if (source?.lag === 0) return 0;
    if (source?.lag_seconds === undefined) return undefined;
    return source.lag_seconds + (performance.now() - source_at) / 1000;
  }

  #ageInJoin(pipeline_id: string): number | undefined {
    const { journal, recorder } = this.#options;
    const { oldest_row, join } = recorder.observed(pipeline_id);
    const isKnown = join !== undefined || journal.waitingRows(pipeline_id) === 0;
    return isKnown ? secondsSince(oldest_row) : undefined;
  }

  /** What is known of a source with a consumer group that has read nothing yet: it has no offset to commit, and its lag is unknown. */
  #unread(pipeline_id: string): Pick<PipelineHealth, "source"> {
    const { registry, journal } = this.#options;
    if (!hasConsumerGroup(registry.get(pipeline_id).config)) return {};
    const isUnread =
      Object.keys(journal.progress(pipeline_id).positions).length + journal.pendingCount(pipeline_id) === 0;
    return isUnread ? { source: { partitions: 0, uncommitted: 0 } } : {};
  }
}

/** Of a time in milliseconds since the epoch; 0 for none. */
function secondsSince(time: number | undefined): number {
  return time === undefined ? 0 : Math.max(0, Date.now() - time) / 1000;
}

/** Config and options are those of the registry: they are frozen, so that no copy is needed. */
function viewOf({ token: _token, ...entry }: CatalogEntry): PipelineView {
  freezeDeeply(entry.config);
  freezeDeeply(entry.options);
  return entry;
}

function freezeDeeply(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freezeDeeply);
}
