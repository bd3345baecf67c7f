/** The stage that could not process an event, as the format names it. */
export type Component = "ingestor" | "dedup" | "join" | "sink" | "otlp-receiver";

/** The stages that receive events: OTLP has one of its own. */
export type Receiver = Extract<Component, "ingestor" | "otlp-receiver">;

/** The reason of a letter whose event ended the threads that processed it. */
export const threadDeath = "thread_death";

/** The reason of a letter whose event is too large to be processed: it holds no more than the beginning of the event. */
export const tooLarge = "too_large";

/** The most bytes of an event of Kafka: by itself, ClickHouse takes no row of more than 10 MiB. */
export const mostEventBytes = 8 * 1024 * 1024;

/** How the reasons begin of rows that ClickHouse refused; ClickHouse's name of the error follows. */
export const refusedBySink = "sink_rejection_";

/** An event that could not be processed, before it has a place in the queue. */
export interface Rejection {
  component: Component;
  /** A closed set, used as a metric label: `parse_error`, `transform_error`, `schema_mismatch`, `thread_death`, `too_large`, `sink_rejection_<NAME>`. */
  reason: string;
  /** A sentence that names the field, what was expected and what was found. Never holds a secret. */
  error: string;
  /** The event's text as it reached that component. */
  original_message: string;
  /** How `original_message` encodes the bytes of an event that is not UTF-8; absent for a text. */
  encoding?: "base64";
  /** Place of the event in its batch; of a letter in the queue, its position in its feed. */
  position: number;
  /** Of an event of Kafka: cluster id, topic and partition that the position belongs to. */
  feed?: string;
  /** Of an OTLP event its signal, of one of Kafka its topic. */
  origin?: string;
  /** The event as the source received it, where an earlier step has changed it. A reprocess sends this one. */
  source_message?: string;
}

/** How many of these dead letters are rows that ClickHouse refused. */
export function refusedRows(rejections: readonly Pick<Rejection, "reason">[]): number {
  return rejections.filter(({ reason }) => reason.startsWith(refusedBySink)).length;
}

/** A rejection with its place in the queue. */
export interface DeadLetter extends Rejection {
  /** Decimal, ascending in the order of arrival in the queue, never used twice for one pipeline. */
  message_id: string;
  /** ISO 8601, UTC: when the letter became visible. */
  received_at: string;
}

export interface DeadLetterState {
  last_received_at: string | null;
  last_consumed_at: string | null;
  total_messages: number;
  unconsumed_messages: number;
  /** What they count for `max_bytes`. */
  bytes: number;
  /** The bounds now: at either of them the pipeline pauses. `max_bytes` becomes less as the disk fills. */
  max_bytes: number;
  max_messages: number;
}

/** The bounds of the dead letters of each pipeline. */
export interface DeadLetterLimits {
  maxBytes: number;
  maxCount: number;
  /** Older letters are removed, in milliseconds; `Infinity`: none is. */
  maxAge: number;
}

export const defaultDeadLetterLimits: DeadLetterLimits = {
  maxBytes: 1024 * 1024 * 1024,
  maxCount: 1_000_000,
  maxAge: Infinity,
};

/** What a letter takes on disk without its texts, about. */
const letterFields = 192;

/** What a letter takes on disk, about: the size by which it counts for the bounds. */
export function letterBytes({ error, original_message, source_message, feed, origin }: Rejection): number {
  let bytes = letterFields + Buffer.byteLength(error) + Buffer.byteLength(original_message);
  for (const text of [source_message, feed, origin]) if (text !== undefined) bytes += Buffer.byteLength(text);
  return bytes;
}

export interface DeadLetterPage {
  messages: DeadLetter[];
  /** Pass as `cursor` for the next page; absent on the last. */
  next_cursor?: string;
  has_more: boolean;
}

/** Which letters a list has. All that is given holds for each of them. */
export interface LetterFilter {
  component?: string;
  /** The whole reason. */
  reason?: string;
  /** When they became visible: at or after `since`, before `until`. In the form of `received_at`. */
  since?: string;
  until?: string;
}

/** Letters by their ids, or every letter that is in the queue now, up to a limit. */
export type Selection = { mode: "all" } | { mode: "selected"; message_ids: readonly string[] };

export interface Discarded {
  discarded_count: number;
  /** Ids of no letter, or of one that is being reprocessed. */
  unknown: string[];
}

/** The most letters that `all` takes in one call, and that a selection may name. */
export const mostLetters = { all: 10_000, selected: 1_000 } as const;

/**
 * The dead letters of one pipeline. Letters enter only with the commit of their batch (see `Journal.commit`), and leave
 * in one write each time. A letter that is being reprocessed stays, locked, until its event is settled.
 */
export interface DeadLetterQueue {
  state(): DeadLetterState;
  /**
   * A page of at most `limit` (1..1000) letters after `cursor`, oldest first. With a filter it may have fewer, or none, and
   * `has_more` nevertheless: one call looks at a bounded number of letters. Takes nothing out.
   */
  list(limit: number, cursor?: string, filter?: LetterFilter): DeadLetterPage;
  /** Takes the oldest `limit` (1..1000) letters out, and returns them once their removal is durable. */
  consume(limit: number): Promise<DeadLetter[]>;
  /** Takes every letter out; returns how many. */
  purge(): Promise<number>;
  /** Takes letters out, at most `mostLetters` of them. */
  discard(selection: Selection): Promise<Discarded>;
}

/** A dead letter that goes through the pipeline again, with its number as its position. */
export interface LetterEvent {
  number: number;
  /** The event as the source received it. */
  text: string;
  /** How `text` encodes the bytes of an event that is not UTF-8. */
  encoding?: "base64";
  /** Which of the pipeline's sources it came from (see `Event.origin`). */
  origin?: string;
}
