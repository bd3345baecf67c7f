import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import type { LetterEvent } from "../core/dead-letter.ts";
import type { Care, EventPlace } from "../batch/careful-reading.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { BatchRecord, FinalKeys, Progress, SourceNotes } from "../core/journal.ts";
import type { Feed, RewoundPartition } from "../core/positions.ts";
import type { Readiness } from "../core/readiness.ts";
import type { SourceSample } from "../event/newest-events.ts";
import type { SendOptions } from "../delivery/protocol.ts";
import type { ThreadHold } from "../flow/thread-hold.ts";
import type { TargetRules } from "../peers/targets.ts";
import type { KafkaSettings } from "../sources/kafka/brokers/settings.ts";
import type { rewindSource, SourcePart } from "../sources/open.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** Everything that a thread needs to run a pipeline, as plain data. */
export interface PipelineSpec {
  pipeline_id: string;
  /** Of the current revision, with secrets resolved. Never leaves the process. */
  config: PipelineConfig;
  revision: number;
  options: SendOptions & Omit<EngineOptions, "access_token">;
  /** Where `host: embedded` is reached; absent where no pipeline uses it. */
  embedded?: { url: string; socketPath: string; username: string; password: string; memory: string };
  /** Which servers may be connected to; without it, the defaults. */
  targets?: TargetRules;
  /** The stream of pushed events; absent for a pipeline that reads from Kafka. */
  stream?: { folder: string; end: number };
  /** The folder of the log of its join; absent for a pipeline without one. */
  join?: { folder: string };
  /** The names of this process in Kafka groups, and the settings of Kafka. */
  kafka: { dataDir: string; run: string; earlier: string[]; settings: KafkaSettings };
  progress: Progress;
  pending: BatchRecord[];
  /** The number of dedup's keys that the thread will load. */
  finalKeys: number;
  /** The salt of dedup's fingerprints. */
  salt: Uint8Array;
  /** The dead letters of the batches in `pending`. */
  letters: LetterEvent[];
  /** How it reads after one of its threads died. */
  care?: Care;
  /** Earlier revisions of the batches in `pending`, with the connection of the current one. */
  revisions: [number, PipelineConfig][];
}

/** What a thread needs to check whether a pipeline could run. */
export type CheckedSpec = Pick<PipelineSpec, "pipeline_id" | "config" | "options" | "embedded" | "targets" | "kafka">;

/** What a thread needs to take a sample of a source. Secrets are resolved. */
export type SampledSpec = SourcePart & Pick<PipelineSpec, "kafka">;

/** What a thread needs to tell what a rewind reads again. Secrets are resolved. */
export type RewoundSpec = Parameters<typeof rewindSource>[0];

/** A thread's end of the channel to its process. */
export interface ThreadPort {
  postMessage(messages: FromThread[]): void;
  on(event: "message", listener: (message: ToThread) => void): unknown;
}

/** A thread, as its process reaches it. Messages are structured clones, and arrive in the order they were sent in. */
export interface WorkerLike {
  /** Where it notes which pipeline keeps it from all others; absent where nobody looks. */
  readonly hold?: ThreadHold;
  postMessage(message: ToThread): void;
  on(event: "message", listener: (messages: FromThread[]) => void): unknown;
  /** The error that ends it; `exit` follows. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** It has ended, and sends no more messages. */
  on(event: "exit", listener: () => void): unknown;
  /** Ends it at once. */
  terminate(): Promise<unknown>;
}

/** An error on its way between threads. */
export interface PlainError {
  code?: ErrorCode;
  message: string;
}

export type ToThread =
  /** `number`: by which the thread notes in its hold that it works for the pipeline. */
  | { type: "start"; spec: PipelineSpec; number: number }
  | { type: "stop"; pipeline_id: string; limit: number }
  | { type: "abort"; pipeline_id: string }
  | { type: "arrived"; pipeline_id: string; end: number }
  | { type: "reprocess"; call: number; pipeline_id: string; letters: LetterEvent[] }
  | { type: "check"; call: number; spec: CheckedSpec }
  | { type: "sample"; call: number; spec: SampledSpec }
  | { type: "rewind"; call: number; spec: RewoundSpec }
  /** Answers a call to the journal, by its `call` number. */
  | { type: "answer"; call: number; error?: PlainError; keys?: FinalKeys[] };

export type FromThread =
  | { type: "prepare" | "amend"; call: number; record: BatchRecord }
  | { type: "commit"; call: number; record: BatchRecord; released?: BatchRecord }
  | { type: "set back"; call: number; pipeline_id: string; from: number; to: number }
  | { type: "mark"; call: number; pipeline_id: string; clock: number }
  | { type: "keys"; call: number; pipeline_id: string; after: number }
  | {
      type: "place";
      call: number;
      pipeline_id: string;
      positions: Record<Feed, number>;
      isMove: boolean;
      notes?: SourceNotes;
    }
  | { type: "give up"; call: number; record: BatchRecord }
  /** A call of a telemetry function. */
  | { type: "telemetry"; event: keyof Telemetry; fields: Record<string, unknown> }
  | { type: "logged"; level: "debug" | "info" | "warn" | "error"; fields: Record<string, unknown>; sentence: string }
  | { type: "started"; pipeline_id: string }
  /** After that: its source and its target answer as they should. */
  | { type: "opened"; pipeline_id: string }
  /** The event that is processed from now on; absent when it is done. Sent only in careful reading. */
  | { type: "trying"; pipeline_id: string; event?: EventPlace }
  /** An exception ends the thread: its text without secrets, and the pipeline that it belongs to, where that is known. */
  | { type: "dying"; error: string; pipeline_id?: string }
  /** Answers a `reprocess`: the letters are prepared, or why they are not. */
  | { type: "reprocessing"; call: number; error?: PlainError }
  /** Answers a `check`. */
  | { type: "checked"; call: number; readiness: Readiness }
  /** Answers a `rewind`. */
  | { type: "rewound"; call: number; partitions?: RewoundPartition[]; error?: PlainError }
  /** Answers a `sample`. */
  | { type: "sampled"; call: number; sample?: SourceSample; error?: PlainError }
  /** The pipeline was ended, or failed with an error that no retry mends. Also the answer to a start that fails. */
  | { type: "left"; pipeline_id: string; error?: PlainError };
