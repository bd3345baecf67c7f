import { FieldReader } from "./field-reader.ts";
import { grouped } from "./grouped.ts";
import { RequestWriter } from "./request-writer.ts";

/** OffsetForLeaderEpoch, by which brokers say how far the log of a leadership goes (KIP-320). */
export const epochEndsRequest = { name: "OffsetForLeaderEpoch", key: 23, version: 4 };

/** A leadership of a partition whose log is asked for. */
export interface EpochPlace {
  topic: string;
  partition: number;
  /** The leadership by what the client knows. */
  leaderEpoch: number;
  /** The one that is asked for. */
  epoch: number;
}

/** How far the log of a leadership goes, by the log of the leader. */
export interface EpochEnd {
  topic: string;
  partition: number;
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
  /** The one that was asked for, or the last before it of which the leader has a record; -1 where it knows neither. */
  epoch: number;
  /** The offset after its last record; -1 where it is not known. */
  end: number;
}

const consumer = -1;

/** The body of the request, after the request header. */
export function epochEndsBody(places: readonly EpochPlace[]): Buffer {
  const writer = new RequestWriter().noTags().int32(consumer);
  writer.list([...grouped(places, ({ topic }) => topic)], ([topic, own]) => {
    writer.text(topic).list(own, ({ partition, leaderEpoch, epoch }) => {
      writer.int32(partition).int32(leaderEpoch).int32(epoch).noTags();
    });
    writer.noTags();
  });
  return writer.noTags().bytes;
}

/** Decodes the response, without its length and correlation id. Throws `Unreadable`. */
export function decodeEpochEnds(payload: Buffer): EpochEnd[] {
  const reader = new FieldReader("leader epoch response", payload);
  reader.tags("head");
  reader.int32("throttle time");
  const ends = reader.compactList("topics", () => {
    const topic = reader.compactText("topic") ?? "";
    const own = reader.compactList("partitions", () => readEnd(reader, topic));
    reader.tags("topic");
    return own;
  });
  reader.tags("tags");
  reader.end();
  return ends.flat();
}

// The properties are in the order of the protocol.
function readEnd(reader: FieldReader, topic: string): EpochEnd {
  const errorCode = reader.int16("error code");
  const partition = reader.int32("partition");
  const found = { topic, partition, errorCode, epoch: reader.int32("leader epoch"), end: reader.int64("end offset") };
  reader.tags("partition");
  return found;
}
