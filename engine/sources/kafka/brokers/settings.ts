/** How Kafka is read, for all pipelines of a process. Times in milliseconds, sizes in bytes. */
export interface KafkaSettings {
  /** After this time without a heartbeat the group removes a member and gives its partitions to others. */
  sessionTimeout: number;
  heartbeatInterval: number;
  /** A broker answers a fetch when it has this many bytes, or after `fetchWait`. */
  fetchMinBytes: number;
  fetchWait: number;
  /** The most bytes of one fetch: of all partitions of a broker, and of one partition. */
  fetchMaxBytes: number;
  partitionMaxBytes: number;
  /** How often members look for new partitions. */
  metadataMaxAge: number;
  /** Where this machine is, by the names that brokers have for their racks (`broker.rack`). */
  rack?: string;
}

export const defaultKafkaSettings: KafkaSettings = {
  sessionTimeout: 30_000,
  heartbeatInterval: 3_000,
  fetchMinBytes: 100 * 1024,
  fetchWait: 750,
  fetchMaxBytes: 10 * 1024 * 1024,
  partitionMaxBytes: 256 * 1024,
  metadataMaxAge: 60_000,
};

/** Limits a fetch to `most` bytes, those that may be buffered; a batch that is larger is fetched whole and alone. */
export function settingsWithin(settings: KafkaSettings, bufferBytes: number): KafkaSettings {
  const most = Math.max(1, Math.floor(bufferBytes));
  const { fetchMaxBytes, partitionMaxBytes, fetchMinBytes } = settings;
  return {
    ...settings,
    fetchMaxBytes: Math.min(fetchMaxBytes, most),
    partitionMaxBytes: Math.min(partitionMaxBytes, most),
    fetchMinBytes: Math.min(fetchMinBytes, most),
  };
}
