import type { EngineOptions, KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import type { Journal } from "../../core/journal.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { KafkaIdentity } from "./identity.ts";
import type { KafkaSettings } from "./settings.ts";

/** What a Kafka source is made of. */
export interface KafkaSourceParts {
  pipeline_id: string;
  /** With its secrets resolved. */
  source: KafkaSourceConfig;
  /** Members of the consumer group. */
  replicas: number;
  identity: KafkaIdentity;
  options: Pick<EngineOptions, "start" | "take_over" | "on_lost">;
  settings: KafkaSettings;
  journal: Journal;
  telemetry: Telemetry;
  log: Log;
  hasDedup: boolean;
  /** Bytes that are held of what was fetched and not read yet. */
  bufferBytes: number;
}
