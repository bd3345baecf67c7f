import type { EngineSettings } from "../../engine/index.ts";
import { CliError } from "./cli-error.ts";
import type { Settings } from "./settings.ts";
import type { SettingName } from "./settings-table.ts";

/** How Kafka is read, for all pipelines. Throws CliError for settings of which one contradicts another. */
export function kafkaSettings(settings: Settings): NonNullable<EngineSettings["kafka"]> {
  const milliseconds = (name: SettingName): number => Math.ceil(settings.duration(name));
  const kafka = {
    sessionTimeout: milliseconds("kafka_session_timeout"),
    heartbeatInterval: milliseconds("kafka_heartbeat_interval"),
    fetchMaxBytes: settings.size("kafka_fetch_size"),
    partitionMaxBytes: settings.size("kafka_partition_fetch_size"),
    fetchWait: milliseconds("kafka_fetch_wait"),
    metadataMaxAge: milliseconds("kafka_metadata_age"),
  };
  // Of two heartbeats one may be lost or late, and the member is still taken for alive.
  if (kafka.heartbeatInterval * 2 >= kafka.sessionTimeout) {
    throw contradiction(settings, "kafka_heartbeat_interval", "less than half of", "kafka_session_timeout");
  }
  if (kafka.partitionMaxBytes > kafka.fetchMaxBytes) {
    throw contradiction(settings, "kafka_partition_fetch_size", "at most", "kafka_fetch_size");
  }
  return kafka;
}

function contradiction(settings: Settings, name: SettingName, what: string, other: SettingName): CliError {
  const bound = `${settings.text(other)} of ${settings.origin(other)}`;
  return new CliError(`${settings.origin(name)}: expected ${what} the ${bound}, found "${settings.text(name)}"`);
}
