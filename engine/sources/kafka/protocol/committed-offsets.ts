import { FieldReader } from "./field-reader.ts";

/** The version of OffsetFetch whose answer is read here: the first that says in which leadership a record was read. */
export const committedOffsetsVersion = 5;

/** What a group has committed for a partition. Without an offset it has committed nothing. */
export interface CommittedOffset {
  topic: string;
  partition: number;
  /** The next offset to read; -1 where there is none. */
  offset: number;
  /** Of the record before it: consumers name it, tools that move a group do not, and then it is -1. */
  leaderEpoch: number;
  metadata: string;
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
}

export interface CommittedOffsets {
  partitions: CommittedOffset[];
  /** Kafka's error code for the whole answer; 0 if there is none. */
  errorCode: number;
}

/** Decodes an OffsetFetch response of version 5, without its length and correlation id. Throws `Unreadable`. */
export function decodeCommittedOffsets(payload: Buffer): CommittedOffsets {
  const reader = new FieldReader("offsets response", payload);
  reader.int32("throttle time");
  const partitions = reader
    .list("topics", () => {
      const topic = reader.text("topic");
      return reader.list("partitions", () => readPartition(reader, topic));
    })
    .flat();
  const errorCode = reader.int16("error code");
  reader.end();
  return { partitions, errorCode };
}

// The properties are in the order of the protocol.
function readPartition(reader: FieldReader, topic: string): CommittedOffset {
  return {
    topic,
    partition: reader.int32("partition"),
    offset: reader.int64("offset"),
    leaderEpoch: reader.int32("leader epoch"),
    metadata: reader.nullableText("metadata") ?? "",
    errorCode: reader.int16("error code"),
  };
}
