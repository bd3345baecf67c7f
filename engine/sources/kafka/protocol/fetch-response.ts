import type { AbortedTransaction } from "./aborted-transactions.ts";
import { FieldReader } from "./field-reader.ts";
import { Unreadable } from "./unreadable.ts";

/** The versions of the answer that are read, one after the other. */
const versions = { first: 4, last: 11 };

/** A broker's answer to a fetch. */
export interface FetchResponse {
  /**
   * Milliseconds for which the client has to leave the broker alone: 0 before version 8, when the broker waited itself.
   * Under this name kafkajs waits, if it is handed the response.
   */
  clientSideThrottleTime: number;
  /** Kafka's error code for the whole answer; 0 if there is none, and always before version 7. */
  errorCode: number;
  /** 0 without a fetch session. */
  sessionId: number;
  partitions: FetchedPartition[];
}

/** What a fetch brought for one partition. Offsets that the broker does not know are -1. */
export interface FetchedPartition {
  topic: string;
  partition: number;
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
  highWatermark: number;
  /** Events behind it belong to transactions that are still open. */
  lastStableOffset: number;
  /** The first offset that the broker still has; -1 before version 5. */
  logStartOffset: number;
  abortedTransactions: AbortedTransaction[];
  /** Batches one after the other; a part of the response, not a copy. */
  records: Buffer;
}

/** Decodes a Fetch response, without its length and correlation id. Throws `Unreadable`. */
export function decodeFetchResponse(payload: Buffer, version: number): FetchResponse {
  if (!Number.isInteger(version) || version < versions.first || version > versions.last) {
    throw new Unreadable(
      `expected a fetch response of version ${versions.first} to ${versions.last}, found ${version}`,
    );
  }
  const reader = new FieldReader("fetch response", payload);
  const throttleTime = reader.int32("throttle time");
  const errorCode = version >= 7 ? reader.int16("error code") : 0;
  const sessionId = version >= 7 ? reader.int32("session id") : 0;
  const partitions = reader.list("topics", () => readTopic(reader, version)).flat();
  reader.end();
  return { clientSideThrottleTime: version >= 8 ? throttleTime : 0, errorCode, sessionId, partitions };
}

function readTopic(reader: FieldReader, version: number): FetchedPartition[] {
  const topic = reader.text("topic");
  return reader.list("partitions", () => readPartition(reader, version, topic));
}

// The order of the properties is the order of the wire.
function readPartition(reader: FieldReader, version: number, topic: string): FetchedPartition {
  const head = {
    topic,
    partition: reader.int32("partition"),
    errorCode: reader.int16("error code"),
    highWatermark: reader.int64("high watermark"),
    lastStableOffset: reader.int64("last stable offset"),
    logStartOffset: version >= 5 ? reader.int64("log start offset") : -1,
    abortedTransactions: reader.list("aborted transactions", () => readAborted(reader)),
  };
  // Only a client that names its rack is sent to another replica.
  if (version >= 11) reader.int32("preferred read replica");
  return { ...head, records: reader.bytes("records") };
}

function readAborted(reader: FieldReader): AbortedTransaction {
  return { producerId: reader.bigint("producer id"), firstOffset: reader.int64("first offset") };
}
