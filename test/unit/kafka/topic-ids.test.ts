import { describe, expect, test } from "vitest";
import { decodeFetchById, fetchByIdRequest, type FetchById } from "../../../engine/sources/kafka/protocol/fetch.ts";
import { decodeMetadata, metadataBody } from "../../../engine/sources/kafka/protocol/metadata.ts";
import { Unreadable } from "../../../engine/sources/kafka/protocol/unreadable.ts";
import { TopicIds } from "../../../engine/sources/kafka/positions/topic-ids.ts";
import { fetched, int16, int32, int64, int8 } from "./written.ts";

const idBytes = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
const id = "AAECAwQFBgcICQoLDA0ODw";
const noTags = int8(0);
/** A tagged field, as a later broker may add it: its number, its length, its bytes. */
const oneTag = Buffer.from([1, 7, 2, 0xaa, 0xbb]);
const compact = (bytes: Buffer | string): Buffer => Buffer.concat([int8(bytes.length + 1), Buffer.from(bytes)]);

describe("metadata of topics", () => {
  const broker = [int32(1), compact("host"), int32(9092), int8(0), oneTag];
  const [replicas, inSync, offline] = [
    [3, 1, 2],
    [2, 1],
    [2, 2],
  ].map(([count, ...nodes]) => {
    return Buffer.concat([int8(count!), ...nodes.map(int32)]);
  });
  const partition = [int16(0), int32(0), int32(1), int32(5), replicas!, inSync!, offline!, noTags];
  const head = [noTags, int32(0), int8(2), ...broker, compact("cluster"), int32(1)];
  const topic = (errorCode: number, of: Buffer) => [int16(errorCode), compact("orders"), of, int8(0)];
  const end = [int32(-1), oneTag];

  test("name their ids", () => {
    const of = [...topic(0, idBytes), int8(2), ...partition, int32(-1), noTags];
    const payload = Buffer.concat([...head, int8(2), ...of, ...end]);
    expect(decodeMetadata(payload)).toEqual({
      clusterId: "cluster",
      nodes: [{ node: 1, host: "host", port: 9092 }],
      topics: new Map([
        ["orders", { errorCode: 0, id, partitions: [{ partition: 0, leader: 1, epoch: 5, replicas: [1] }] }],
      ]),
    });
  });

  test("name none where the topic is not there, or the cluster gives none", () => {
    const of = [...topic(3, Buffer.alloc(16)), int8(1), int32(-1), noTags];
    const payload = Buffer.concat([...head, int8(2), ...of, ...end]);
    expect(decodeMetadata(payload).topics).toEqual(new Map([["orders", { errorCode: 3, partitions: [] }]]));
    for (let length = 0; length < payload.length; length += 1) {
      expect(() => decodeMetadata(payload.subarray(0, length))).toThrow(Unreadable);
    }
  });

  test("are refused where a topic has more partitions than any is read with, before they are decoded", () => {
    // 10,001 as a varint, and one too large: the bytes of the partitions stand for themselves.
    const of = [...topic(0, idBytes), Buffer.from([0x92, 0x4e]), Buffer.alloc(20_000)];
    const payload = Buffer.concat([...head, int8(2), ...of, ...end]);
    expect(() => decodeMetadata(payload)).toThrow(
      /^metadata response, byte \d+, partitions of topic orders: expected at most 10000, found 10001$/,
    );
  });

  test("are asked for by name, and no topic is made", () => {
    const asked = Buffer.concat([
      noTags,
      int8(2),
      Buffer.alloc(16),
      compact("orders"),
      noTags,
      Buffer.alloc(3),
      noTags,
    ]);
    expect(metadataBody(["orders"])).toEqual(asked);
  });
});

describe("a fetch by ids of topics", () => {
  const wanted: FetchById = {
    wait: 750,
    minBytes: 100,
    maxBytes: 1000,
    isolationLevel: 1,
    rack: "b",
    topics: [{ id, partitions: [{ partition: 3, leaderEpoch: 6, offset: 2 ** 40, maxBytes: 500 }] }],
  };

  test("is asked for", () => {
    const head = [noTags, int32(-1), int32(750), int32(100), int32(1000), int8(1), int32(0), int32(-1)];
    const partition = [int32(3), int32(6), int64(2 ** 40), int32(-1), int64(-1), int32(500), noTags];
    const asked = [...head, int8(2), idBytes, int8(2), ...partition, noTags, int8(1), compact("b"), noTags];
    expect(fetchByIdRequest(wanted)).toEqual(Buffer.concat(asked));
  });

  test("is answered", () => {
    const records = Buffer.alloc(300, 7);
    const aborted = [int8(2), int64(9), int64(4), noTags];
    // 301 as a varint.
    const sized = [Buffer.from([0xad, 0x02]), records];
    const partition = [int32(3), int16(0), int64(12), int64(11), int64(2), ...aborted, int32(-1), ...sized, oneTag];
    const other = [int32(4), int16(100), int64(-1), int64(-1), int64(-1), int8(0), int32(-1), int8(0), noTags];
    const topics = [int8(2), idBytes, int8(3), ...partition, ...other, noTags];
    const payload = Buffer.concat([noTags, int32(5), int16(0), int32(0), ...topics, noTags]);
    expect(decodeFetchById(payload, (of) => (of === id ? "orders" : ""))).toEqual({
      clientSideThrottleTime: 5,
      throttleTime: 5,
      errorCode: 0,
      sessionId: 0,
      partitions: [
        fetched(records, {
          highWatermark: 12,
          lastStableOffset: 11,
          logStartOffset: 2,
          abortedTransactions: [{ producerId: 9n, firstOffset: 4 }],
        }),
        fetched(Buffer.alloc(0), {
          partition: 4,
          errorCode: 100,
          highWatermark: -1,
          lastStableOffset: -1,
          logStartOffset: -1,
        }),
      ],
    });
    for (let length = 0; length < payload.length; length += 7) {
      expect(() => decodeFetchById(payload.subarray(0, length), () => "orders")).toThrow(Unreadable);
    }
  });
});

describe("partitions by the ids of their topics", () => {
  test("are called as before where an id is new here, and by the id of a topic that takes the name of another", () => {
    const ids = new TopicIds();
    expect([ids.feedRead("c", "orders", 1), ids.idOf("c/orders/1")]).toEqual(["c/orders/1", undefined]);
    ids.saw("c", new Map([["orders", "one"]]));
    expect([ids.feedThere("c", "orders", 1), ids.unnoted("c"), ids.recreated("c")]).toEqual([
      "c/orders/1",
      ["orders"],
      [],
    ]);
    ids.noted(ids.notes("c", ["orders"]));
    ids.saw("c", new Map([["orders", "two"]]));
    expect(ids.recreated("c")).toEqual([{ topic: "orders", from: "one", to: "two" }]);
    expect([ids.feedRead("c", "orders", 1), ids.feedThere("c", "orders", 1)]).toEqual(["c/orders/1", "c/orders/1/two"]);
    ids.noted(ids.notes("c", ["orders"]));
    expect([ids.feedRead("c", "orders", 1), ids.recreated("c")]).toEqual(["c/orders/1/two", []]);
    expect([ids.idOf("c/orders/1"), ids.idOf("c/orders/1/two")]).toEqual(["one", "two"]);
    expect(() => ids.saw("c", new Map([["orders", "one"]]))).toThrow(/from before it was created again/);
  });
});
