import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { decodeFetchResponse, type FetchedPartition } from "../../../engine/sources/kafka/protocol/fetch.ts";
import { RecordRun } from "../../../engine/sources/kafka/protocol/record-run.ts";
import { Random } from "../../support/random.ts";
import { read } from "./read.ts";
import { batchBytes, fetched, markBytes, responseBytes, type WrittenRecord } from "./written.ts";

// The same bytes are read by kafkajs too: it has to find the same events.

interface KafkajsResponse {
  responses: { topicName: string; partitions: object[] }[];
}
type KafkajsDecode = (bytes: Buffer) => Promise<KafkajsResponse>;
type KafkajsBatch = new (
  topic: string,
  from: string,
  data: object,
) => {
  messages: { offset: string; value: Buffer | null }[];
};

const load = createRequire(import.meta.url);
const Batch = load("kafkajs/src/consumer/batch.js") as KafkajsBatch;
const decodeOf = (version: number): KafkajsDecode =>
  (load(`kafkajs/src/protocol/requests/fetch/v${version}/response.js`) as { decode: KafkajsDecode }).decode;

/** Batches of some producers, in and out of transactions, some of which are given up; with holes and compression. */
function written(random: Random, partition: number, hasTransactions: boolean): FetchedPartition {
  const batches: Buffer[] = [];
  const open = new Map<number, number>();
  const abortedTransactions: FetchedPartition["abortedTransactions"] = [];
  let offset = random.below(1000);
  for (let count = 0; count < 30; count += 1) {
    const producerId = 1 + random.below(3);
    const begun = open.get(producerId);
    if (begun !== undefined && random.below(3) === 0) {
      const kind = random.pick("abort", "commit");
      batches.push(markBytes(offset, producerId, kind));
      if (kind === "abort") abortedTransactions.push({ producerId: BigInt(producerId), firstOffset: begun });
      open.delete(producerId);
      offset += 1;
      continue;
    }
    const isTransactional = begun !== undefined || (hasTransactions && random.below(2) === 0);
    const records = someRecords(random);
    const lastDelta = records.at(-1)!.delta + random.below(3);
    batches.push(
      batchBytes({ baseOffset: offset, records, lastDelta, codec: random.below(2), isTransactional, producerId }),
    );
    if (isTransactional && begun === undefined) open.set(producerId, offset);
    offset += lastDelta + 1;
  }
  abortedTransactions.sort((one, other) => one.firstOffset - other.firstOffset);
  return fetched(Buffer.concat(batches), { partition, abortedTransactions });
}

function someRecords(random: Random): WrittenRecord[] {
  let delta = 0;
  return Array.from({ length: 1 + random.below(12) }, () => ({
    delta: (delta += 1 + (random.below(4) === 0 ? random.below(5) : 0)) - 1,
    value: random.below(8) === 0 ? null : Buffer.alloc(random.pick(0, 1, 60, 130, 20_000), 97 + random.below(26)),
    key: random.pick(null, Buffer.alloc(0), Buffer.from("key"), Buffer.alloc(200, 120)),
    headers: random.below(3) === 0 ? [["name", Buffer.from("value")]] : [],
    time: random.below(100_000) - 50_000,
  }));
}

async function readAlike(version: number): Promise<void> {
  const random = new Random(version);
  for (let count = 0; count < 6; count += 1) {
    const partitions = [written(random, 0, false), written(random, 1, true)];
    const payload = responseBytes(version, partitions);
    const ours = decodeFetchResponse(payload, version).partitions;
    const theirs = (await decodeOf(version)(payload)).responses[0]!;
    for (const [at, partition] of ours.entries()) {
      // From within transactions on, kafkajs takes events of those given up for events that count.
      const from = at === 0 ? random.below(1100) : 0;
      const expected = new Batch(theirs.topicName, String(from), theirs.partitions[at]!).messages;
      const { records, error } = read(partition, from, new RecordRun(1 + random.below(50)));
      expect(error).toBeUndefined();
      expect(records).toEqual(
        expected.map(({ offset, value }) => [Number(offset), value === null ? null : String(value)]),
      );
    }
  }
}

// Each of these has fields that the one before it has not.
test.each([4, 11])("version %i, six responses", readAlike);

test.each([5, 7])("version %i, six responses", { tags: ["rest"] }, readAlike);
