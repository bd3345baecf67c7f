import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import type { LetterEvent } from "../core/dead-letter.ts";
import type { Care, EventPlace } from "../batch/careful-reading.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { BatchRecord, FinalKeys, Progress, SourceNotes } from "../core/journal.ts";
import type { Feed } from "../core/positions.ts";
import type { SendOptions } from "../delivery/protocol.ts";
import type { KafkaSettings } from "../sources/kafka/brokers/settings.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** Everything that a thread needs to run a pipeline, as plain data. */
export interface PipelineSpec {
  pipeline_id: string;
  /** Of the current revision, with secrets resolved. Never leaves the process. */
  config: PipelineConfig;
  revision: number;
  options: SendOptions & Pick<EngineOptions, "create_table" | "start" | "take_over">;
  /** Where `host: embedded` is reached; absent where no pipeline uses it. */
  embedded?: { url: string; username: string; password: string };
  /** Where pushed events lie; absent for a pipeline that reads from Kafka. */
  stream?: { folder: string; end: number };
  /** Who reads from Kafka, and how. */
  kafka: { dataDir: string; run: string; earlier: string[]; settings: KafkaSettings };
  progress: Progress;
  pending: BatchRecord[];
  /** What dedup's fingerprints are made with. */
  salt: Uint8Array;
  /** The dead letters that `pending` names. */
  letters: LetterEvent[];
  /** After a thread of this pipeline died: how it reads then. */
  care?: Care;
  /** Earlier revisions that `pending` names, with the connection of the current one. */
  revisions: [number, PipelineConfig][];
}

/** What a thread hears its process by. */
export interface ThreadPort {
  postMessage(message: FromThread): void;
  on(event: "message", heard: (message: ToThread) => void): unknown;
}

/** A thread, as its process holds it. Messages are structured clones, and come in their order. */
export interface WorkerLike {
  postMessage(message: ToThread): void;
  on(event: "message", heard: (message: FromThread) => void): unknown;
  /** What it died of; `exit` follows. */
  on(event: "error", failed: (error: Error) => void): unknown;
  /** It is gone: nothing more is heard of it. */
  on(event: "exit", gone: () => void): unknown;
  /** Ends it at once. */
  terminate(): Promise<unknown>;
}

/** An error on its way between threads. */
export interface PlainError {
  code?: ErrorCode;
  message: string;
}

export type ToThread =
  | { type: "start"; spec: PipelineSpec }
  | { type: "stop"; pipeline_id: string; limit: number }
  | { type: "abort"; pipeline_id: string }
  | { type: "arrived"; pipeline_id: string; end: number }
  | { type: "reprocess"; call: number; pipeline_id: string; letters: LetterEvent[] }
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
  | { type: "told"; event: keyof Telemetry; fields: Record<string, unknown> }
  | { type: "logged"; level: "debug" | "info" | "warn" | "error"; fields: Record<string, unknown>; sentence: string }
  | { type: "started"; pipeline_id: string }
  /** The event that is processed from now on; none: it is done. Said only while a pipeline reads with care. */
  | { type: "trying"; pipeline_id: string; event?: EventPlace }
  /** Answers a `reprocess`: the letters are prepared, or why they are not. */
  | { type: "reprocessing"; call: number; error?: PlainError }
  /** The pipeline has ended: as it was told to, or with what no wait can mend. Also the answer to a start that fails. */
  | { type: "left"; pipeline_id: string; error?: PlainError };
