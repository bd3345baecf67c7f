import type { ISocketFactory } from "kafkajs";
import type { EngineOptions, KafkaConnection, KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import type { Journal } from "../../core/journal.ts";
import type { RetryPause } from "../../core/pause.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { KafkaIdentity } from "./group/identity.ts";
import type { KafkaSettings } from "./brokers/settings.ts";

/** What is known of a topic that is read. */
export interface TopicParts {
  /** Where it begins if nobody knows anything of it, and the options do not say. */
  start: KafkaSourceConfig["consumer_group_initial_offset"];
  hasDedup: boolean;
}

/** What a Kafka source is made of. */
export interface KafkaSourceOptions {
  pipeline_id: string;
  /** With its secrets resolved: one for all topics. */
  connection: KafkaConnection;
  /** By their names, at least one. */
  topics: ReadonlyMap<string, TopicParts>;
  /** Members of the consumer group. */
  replicas: number;
  identity: KafkaIdentity;
  options: Pick<EngineOptions, "start" | "take_over" | "on_lost">;
  settings: KafkaSettings;
  journal: Journal;
  telemetry: Telemetry;
  /** Where it waits while brokers fail, or the group is not ours. */
  pause: RetryPause;
  log: Log;
  /** Bytes that are held of what was fetched and not read yet. */
  bufferBytes: number;
  /** Opens the connections to the brokers; without one they are sockets of this machine. */
  socketFactory?: ISocketFactory;
}
