import { expect, test } from "vitest";
import { Codecs, codecNames } from "../../../engine/sources/kafka/protocol/codecs.ts";
import { decodeFetchResponse } from "../../../engine/sources/kafka/protocol/fetch.ts";
import { RecordBatches } from "../../../engine/sources/kafka/protocol/record-batches.ts";
import { RecordRun } from "../../../engine/sources/kafka/protocol/record-run.ts";
import { Unreadable, UnreadableRecords } from "../../../engine/sources/kafka/protocol/unreadable.ts";
import { Random } from "../../support/random.ts";
import { batchBytes, compressors, fetched, markBytes, messageBytes, numbered, responseBytes } from "./written.ts";

// Bytes with some of them changed: reading them ends, with records that lie where they may, or with an error.

const codecs = await Codecs.load(4 * 1024 * 1024);
const abortedTransactions = [{ producerId: 1n, firstOffset: 3 }];

const sound = [
  ...codecNames.map((_, codec) =>
    Buffer.concat([
      batchBytes({ records: numbered(3), codec }),
      batchBytes({ baseOffset: 3, records: numbered(4, 3), codec, isTransactional: true, producerId: 1 }),
      markBytes(7, 1, "abort", codec),
      batchBytes({ baseOffset: 8, records: [...numbered(40, 8), { delta: 45, value: Buffer.alloc(500, 97) }], codec }),
    ]),
  ),
  ...[0, 1, 2, 3].map((codec) =>
    Buffer.concat([
      messageBytes({ offset: 1, format: 0, value: Buffer.from("one") }),
      messageBytes({ offset: 3, format: 1, codec, value: compressors[codec]!(messages()) }),
    ]),
  ),
];

function messages(): Buffer {
  const values = ["two", "three"].map((value) => Buffer.from(value.repeat(20)));
  return Buffer.concat(values.map((value, offset) => messageBytes({ offset, format: 1, value })));
}

/** The bytes with one to four changes: a bit, a byte, a number, or a part cut out. */
function changed(bytes: Buffer, random: Random): Buffer {
  let copy = Buffer.from(bytes);
  for (let count = 1 + random.below(4); count > 0; count -= 1) {
    const at = random.below(copy.length);
    const kind = random.below(5);
    if (kind === 0) copy[at]! ^= 1 << random.below(8);
    else if (kind === 1) copy[at] = random.pick(0, 1, 0x7f, 0x80, 0xff, random.below(256));
    else if (kind === 2 && at + 4 <= copy.length) copy.writeInt32BE(random.pick(-1, 0, 2 ** 31 - 1, -(2 ** 31)), at);
    else if (kind === 3) copy = Buffer.concat([copy.subarray(0, at), copy.subarray(at + random.below(9))]);
    else copy.fill(0xff, at, Math.min(copy.length, at + random.below(12)));
    if (copy.length === 0) return copy;
  }
  return copy;
}

/** Reads all; throws what reading may not throw, or an assertion. Gives back whether it ended without an error. */
function isReadable(records: Buffer, from: number, run: RecordRun): boolean {
  const batches = new RecordBatches(fetched(records, { abortedTransactions }), from, codecs, run);
  let before = from - 1;
  try {
    while (batches.next()) {
      for (let at = 0; at < run.count; at += 1) {
        const [offset, start, end] = [run.offsets[at]!, run.starts[at]!, run.ends[at]!];
        const lies = end === -1 ? start >= 0 : start >= 0 && start <= end && end <= run.bytes.length;
        if (!(offset > before) || !lies) throw new Error(`record ${offset} at ${start} to ${end}`);
        before = offset;
      }
      if (!(batches.nextOffset > before)) throw new Error(`next offset ${batches.nextOffset} behind ${before}`);
    }
    return true;
  } catch (error) {
    if (error instanceof UnreadableRecords) return false;
    throw error;
  } finally {
    if (!(batches.nextOffset > before)) expect.unreachable(`next offset ${batches.nextOffset} behind ${before}`);
  }
}

test("what is changed is sound before", () => {
  for (const records of sound) expect(isReadable(records, 0, new RecordRun())).toBe(true);
});

test.each([1, 2])("records, seed %i", (seed) => {
  const random = new Random(seed);
  const run = new RecordRun(7);
  let readable = 0;
  for (let count = 0; count < 1000; count += 1) {
    if (isReadable(changed(random.pick(...sound), random), random.below(12), run)) readable += 1;
  }
  expect(readable).toBeGreaterThan(50);
  expect(readable).toBeLessThan(950);
});

test.each([1, 2])("records cut out of random bytes, seed %i", (seed) => {
  const random = new Random(seed);
  for (let count = 0; count < 1000; count += 1) {
    const bytes = Buffer.from(
      Array.from({ length: random.below(200) }, () => random.pick(0, 0, 1, 2, random.below(256))),
    );
    isReadable(bytes, random.below(3), new RecordRun(3));
  }
});

test.each([4, 5, 7, 11])("responses of version %i", (version) => {
  const random = new Random(version);
  const payload = responseBytes(version, [fetched(sound[0]!, { abortedTransactions }), fetched(sound[1]!)]);
  for (let count = 0; count < 300; count += 1) {
    try {
      for (const { records } of decodeFetchResponse(changed(payload, random), version).partitions) {
        isReadable(records, 0, new RecordRun());
      }
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
    }
  }
});
