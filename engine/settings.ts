import type { Registry } from "prom-client";
import type { SecretSource } from "./catalog/secrets.ts";
import type { DeadLetterLimits } from "./core/dead-letter.ts";
import type { PushRates } from "./ingest/rate-limits.ts";
import type { Machine } from "./machine.ts";
import type { TargetRules } from "./peers/targets.ts";
import type { KafkaSettings } from "./sources/kafka/brokers/settings.ts";
import type { OtlpSettings } from "./sources/otlp/receiver/settings.ts";
import type { Standby } from "./state/data-dir.ts";
import type { Log } from "./telemetry/log.ts";

/** How an engine is opened. */
export interface EngineSettings {
  /** The folder of all state; made where there is none. */
  dataDir: string;
  log: Log;
  registry: Registry;
  secrets: SecretSource;
  /** Threads that run pipelines. Default: one less than the cores, at least 1, at most 4. */
  threads?: number;
  /** How long a stop drains, in milliseconds. Default five minutes. */
  drainLimit?: number;
  /** Milliseconds between two looks for events older than `max_age` in pipelines at rest. Default one minute. */
  sweepEvery?: number;
  /** Which servers pipelines may connect to, where that differs from the defaults. */
  targets?: TargetRules;
  /** How Kafka is read, where it differs from the defaults. */
  kafka?: Partial<KafkaSettings>;
  /** How OTLP is received, where it differs from the defaults. */
  otlp?: Omit<OtlpSettings, "maxWait">;
  /** The bounds of the dead letters of each pipeline, where they differ from the defaults. */
  deadLetters?: Partial<DeadLetterLimits>;
  /** The most that the stream of one pipeline may hold, in bytes. Default: half of what is free beside it on the disk. */
  streamMaxBytes?: number;
  /** What senders may push to one pipeline in a second. Unlimited by default. */
  pushRates?: Partial<PushRates>;
  /** How long a request of a sender waits for its turn to be decoded or stored, in milliseconds. Default 2,000. */
  pushMaxWait?: number;
  /** Wait for a data dir that another process holds. Without it, that is an error. */
  standby?: Standby;
  /** Internal: what a simulation replaces of the machine. */
  machine?: Partial<Machine>;
}
