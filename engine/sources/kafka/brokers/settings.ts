/** How Kafka is read, for all pipelines of a process. Times in milliseconds, sizes in bytes. */
export interface KafkaSettings {
  /** A member that is not heard for so long is taken for dead, and its partitions go to others. */
  sessionTimeout: number;
  heartbeatInterval: number;
  /** A fetch is answered when so much is there, or after `fetchWait`. */
  fetchMinBytes: number;
  fetchWait: number;
  /** The most that one fetch brings, of all partitions of a broker and of one of them. */
  fetchMaxBytes: number;
  partitionMaxBytes: number;
  /** How often it is looked for new partitions. */
  metadataMaxAge: number;
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

/** No fetch brings more than so many bytes, which may be held; a batch that is larger comes whole, alone. */
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
