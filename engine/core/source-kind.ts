import type { SchemaField, SourceConfig } from "../../schemas/pipeline.ts";
import type { Receiver } from "./dead-letter.ts";
import type { Feed } from "./positions.ts";
import type { FedField } from "./transform.ts";

/**
 * A kind of source: everything that the rest of the engine needs of it. Each folder of `sources/` has one, without I/O,
 * and the registry there lists them all.
 */
export interface SourceKind<Config extends SourceConfig = SourceConfig> {
  /** The types of the configs that it takes. */
  readonly types: readonly Config["type"][];
  /** What dead letters and metrics call the stage that receives its events. */
  readonly receiver: Receiver;
  /**
   * Whether events are pushed, and stored in a stream of the pipeline before they are read. Otherwise the source is a
   * log.
   */
  readonly isPushed: boolean;
  /** Whether senders authenticate with an access token of the pipeline. */
  readonly hasAccessToken: boolean;
  /**
   * Whether a consumer group reads it: its members are the `replicas` of the source, and what is final is committed to
   * the log as well.
   */
  readonly hasConsumerGroup: boolean;
  /**
   * What distinguishes the events of one source of a pipeline from those of another; undefined: a pipeline has one
   * source of this kind at most.
   */
  readonly origin: SourceOrigin<Config> | undefined;
  /** The fields of its events. */
  fieldsOf(source: Config): readonly FedField[];
  /** The fields of which every event is checked to have them, or not to have another kind there where they are not required. */
  declaredFieldsOf(source: Config): readonly SchemaField[];
  /**
   * Why the sources of one pipeline, all of this kind, are refused, as a text after "expected"; undefined where they
   * are valid. `isJoin`: they are the sides of a join.
   */
  obstacleOf(sources: readonly Config[], isJoin: boolean): string | undefined;
}

/** The origin of events. All sources of one pipeline have different ones. */
export interface SourceOrigin<Config extends SourceConfig = SourceConfig> {
  /** What sentences call it, such as `topic`. */
  readonly name: string;
  /** The key of the config that says it. */
  readonly key: string;
  /** Whether the same source may have another origin after an edit: events of the former one are its events too. */
  readonly mayChange: boolean;
  /** The origin of a source's events. */
  of(source: Config): string;
  /** The origin of a feed of this kind; undefined for any other feed. */
  ofFeed(feed: Feed): string | undefined;
}
