import type { SchemaField, SourceConfig } from "../../schemas/pipeline.ts";
import type { Feed } from "./positions.ts";

/**
 * A kind of source: everything that the rest of the engine needs of it. Each folder of `sources/` has one, without I/O,
 * and the registry there lists them all.
 */
export interface SourceKind<Config extends SourceConfig = SourceConfig> {
  /** The types of the configs that it takes. */
  readonly types: readonly Config["type"][];
  /**
   * Whether events are pushed, and stored in a stream of the pipeline before they are read. Otherwise the source is a
   * log.
   */
  readonly isPushed: boolean;
  /** Whether senders authenticate with an access token of the pipeline. */
  readonly hasAccessToken: boolean;
  /** What distinguishes the events of one source of a pipeline from those of another. */
  readonly origin: {
    /** What it is called, such as `topic`. */
    readonly name: string;
    /** Whether the same source may have another origin after an edit: events of the former one are its events too. */
    readonly mayChange: boolean;
  };
  /** The origin of a source's events; undefined where a pipeline has one source of this kind at most. */
  originOf(source: Config): string | undefined;
  /** The origin of a feed of this kind; undefined for any other feed. */
  originOfFeed(feed: Feed): string | undefined;
  /** The fields of its events. */
  fieldsOf(source: Config): readonly SchemaField[];
  /** The fields that every event must have: the others may be absent or null. */
  requiredFieldsOf(source: Config): readonly SchemaField[];
  /**
   * Why the sources of one pipeline, all of this kind, are refused, as a text after "expected"; undefined where they
   * are valid.
   */
  obstacleOf(sources: readonly Config[]): string | undefined;
}
