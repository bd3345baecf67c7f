import type { AbortedTransaction } from "./aborted-transactions.ts";
import { FieldReader } from "./field-reader.ts";
import { Unreadable } from "./unreadable.ts";
import { RequestWriter } from "./request-writer.ts";

/** The versions of the answer that are read, one after the other. */
const versions = { first: 4, last: 11 };

/** A broker's answer to a fetch. */
export interface FetchResponse {
  /**
   * Milliseconds for which the client must not send: 0 before version 8, when the broker waited itself. kafkajs obeys a
   * response field of this name.
   */
  clientSideThrottleTime: number;
  /** Milliseconds for which a quota keeps the client waiting: from now on, or before version 8 until this answer. */
  throttleTime: number;
  /** Kafka's error code for the whole answer; 0 if there is none, and always before version 7. */
  errorCode: number;
  /** 0 without a fetch session. */
  sessionId: number;
  partitions: FetchedPartition[];
}

/** The part of a fetch response for one partition. Offsets that the broker does not know are -1. */
export interface FetchedPartition {
  topic: string;
  partition: number;
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
  highWatermark: number;
  /** Events after it belong to transactions that are still open. */
  lastStableOffset: number;
  /** The first offset in the log; -1 before version 5. */
  logStartOffset: number;
  abortedTransactions: AbortedTransaction[];
  /** The node to read the partition from in place of this one; -1: none, and always before version 11. */
  preferredReplica: number;
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
  return { clientSideThrottleTime: version >= 8 ? throttleTime : 0, throttleTime, errorCode, sessionId, partitions };
}

function readTopic(reader: FieldReader, version: number): FetchedPartition[] {
  const topic = reader.text("topic");
  return reader.list("partitions", () => readPartition(reader, version, topic));
}

// The properties are in the order of the protocol.
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
  const preferredReplica = version >= 11 ? reader.int32("preferred read replica") : -1;
  return { ...head, preferredReplica, records: reader.bytes("records") };
}

function readAborted(reader: FieldReader): AbortedTransaction {
  return { producerId: reader.bigint("producer id"), firstOffset: reader.int64("first offset") };
}

/** The version of Fetch requests that is used here, the first that names topics by their ids. */
export const fetchByIdVersion = 13;

/** What a fetch asks for, of topics by their ids. */
export interface FetchById {
  /** Milliseconds that the broker waits for `minBytes`. */
  wait: number;
  minBytes: number;
  maxBytes: number;
  isolationLevel: number;
  /** Where the client is; empty where it does not say. */
  rack: string;
  topics: readonly { id: string; partitions: readonly FetchedPlace[] }[];
}

/** Where a partition is to be read from. */
interface FetchedPlace {
  partition: number;
  /** The leadership in which the broker is asked; -1: in any. */
  leaderEpoch: number;
  offset: number;
  maxBytes: number;
}

const unknown = -1;

/** The body of a Fetch request of version 13, after the request header: from a consumer, without a fetch session. */
export function fetchByIdRequest({ wait, minBytes, maxBytes, isolationLevel, rack, topics }: FetchById): Buffer {
  const writer = new RequestWriter().noTags();
  writer.int32(unknown).int32(wait).int32(minBytes).int32(maxBytes).int8(isolationLevel);
  const [noSession, noEpoch] = [0, -1];
  writer.int32(noSession).int32(noEpoch);
  writer.list(topics, ({ id, partitions }) => {
    writer.uuid(id).list(partitions, ({ partition, leaderEpoch, offset, maxBytes: most }) => {
      // The epoch of the last event, and where a log starts, are sent by replicas.
      writer.int32(partition).int32(leaderEpoch).int64(offset).int32(unknown).int64(unknown).int32(most).noTags();
    });
    writer.noTags();
  });
  writer.list([], () => undefined);
  return writer.text(rack).noTags().bytes;
}

/**
 * Decodes the response, without its length and correlation id. `nameOf` gives the topic of an id. Throws `Unreadable`.
 */
export function decodeFetchById(payload: Buffer, nameOf: (id: string) => string): FetchResponse {
  const reader = new FieldReader("fetch response", payload);
  reader.tags("head");
  const throttleTime = reader.int32("throttle time");
  const errorCode = reader.int16("error code");
  const sessionId = reader.int32("session id");
  const partitions = reader
    .compactList("topics", () => {
      const topic = nameOf(reader.uuid("topic id") ?? "");
      const own = reader.compactList("partitions", () => readPartitionById(reader, topic));
      reader.tags("topic");
      return own;
    })
    .flat();
  reader.tags("tags");
  reader.end();
  return { clientSideThrottleTime: throttleTime, throttleTime, errorCode, sessionId, partitions };
}

// The properties are in the order of the protocol.
function readPartitionById(reader: FieldReader, topic: string): FetchedPartition {
  const head = {
    topic,
    partition: reader.int32("partition"),
    errorCode: reader.int16("error code"),
    highWatermark: reader.int64("high watermark"),
    lastStableOffset: reader.int64("last stable offset"),
    logStartOffset: reader.int64("log start offset"),
    abortedTransactions: reader.compactList("aborted transactions", () => {
      const aborted = { producerId: reader.bigint("producer id"), firstOffset: reader.int64("first offset") };
      reader.tags("aborted transaction");
      return aborted;
    }),
  };
  const preferredReplica = reader.int32("preferred read replica");
  const records = reader.compactBytes("records");
  reader.tags("partition");
  return { ...head, preferredReplica, records };
}
