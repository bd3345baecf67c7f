import type { FetchedPartition, FetchResponse } from "./fetch-response.ts";
import { FieldReader } from "./field-reader.ts";
import { RequestWriter } from "./request-writer.ts";

/** The first version of a Fetch request that names topics by their ids, and the one that is spoken here. */
export const fetchByIdVersion = 13;

/** What a fetch asks for, of topics by their ids. */
export interface FetchById {
  /** Milliseconds that the broker waits for `minBytes`. */
  wait: number;
  minBytes: number;
  maxBytes: number;
  isolationLevel: number;
  topics: readonly { id: string; partitions: readonly { partition: number; offset: number; maxBytes: number }[] }[];
}

const unknown = -1;

/** The body of a Fetch request of version 13, behind the client id of its head: no replica's, and without a session. */
export function fetchByIdRequest({ wait, minBytes, maxBytes, isolationLevel, topics }: FetchById): Buffer {
  const writer = new RequestWriter().noTags();
  writer.int32(unknown).int32(wait).int32(minBytes).int32(maxBytes).int8(isolationLevel);
  const [noSession, noEpoch] = [0, -1];
  writer.int32(noSession).int32(noEpoch);
  writer.list(topics, ({ id, partitions }) => {
    writer.uuid(id).list(partitions, ({ partition, offset, maxBytes: most }) => {
      // Neither the leader's epoch nor that of the last event is known; the start of the log is a replica's matter.
      writer.int32(partition).int32(unknown).int64(offset).int32(unknown).int64(unknown).int32(most).noTags();
    });
    writer.noTags();
  });
  writer.list([], () => undefined);
  return writer.text("").noTags().bytes;
}

/**
 * Decodes the response, without its length and correlation id. `nameOf` gives the topic of an id. Throws `Unreadable`.
 */
export function decodeFetchById(payload: Buffer, nameOf: (id: string) => string): FetchResponse {
  const reader = new FieldReader("fetch response", payload);
  reader.tags("head");
  const clientSideThrottleTime = reader.int32("throttle time");
  const errorCode = reader.int16("error code");
  const sessionId = reader.int32("session id");
  const partitions = reader
    .compactList("topics", () => {
      const topic = nameOf(reader.uuid("topic id") ?? "");
      const own = reader.compactList("partitions", () => readPartition(reader, topic));
      reader.tags("topic");
      return own;
    })
    .flat();
  reader.tags("tags");
  reader.end();
  return { clientSideThrottleTime, errorCode, sessionId, partitions };
}

// The order of the properties is the order of the wire.
function readPartition(reader: FieldReader, topic: string): FetchedPartition {
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
  // Only a client that names its rack is sent to another replica.
  reader.int32("preferred read replica");
  const records = reader.compactBytes("records");
  reader.tags("partition");
  return { ...head, records };
}
