import { expect, test } from "vitest";
import { read } from "./read.ts";
import { fetched } from "./written.ts";
import written from "./java-batches.json" with { type: "json" };

/** Written by Kafka's Java client 4.3.1, at offset 100 and on; its LZ4 of format 0 has the wrong head checksum of old clients. */
const batches = written.map(({ name, format, records }) => ({ name, format, records: Buffer.from(records, "base64") }));

function value(at: number, least: number): string {
  let text = `{"n":${at},"text":"`;
  while (text.length < least) text += "the same words again, ";
  return `${text}"}`;
}

/** The value of each record: the second is a tombstone, the third is empty. */
function values(count: number, least: number): [number, string | null][] {
  return Array.from({ length: count }, (_, at) => [100 + at, at === 1 ? null : at === 2 ? "" : value(at, least)]);
}

const isCodec = (name: string): boolean => ["none", "gzip", "snappy", "lz4", "zstd"].includes(name);

test.each(batches.filter(({ name }) => isCodec(name)))("format $format, $name", ({ name, records }) => {
  const [count, least] = name === "none" ? [3, 30] : [70, 1000];
  const { records: found, nextOffset, error } = read(fetched(records), 100);
  expect(error).toBeUndefined();
  expect(found).toEqual(values(count, least));
  expect(nextOffset).toBe(100 + count);
  expect(read(fetched(records), 102).records).toEqual(values(count, least).slice(2));
});

test("a batch of twenty of which compaction left each third offset", () => {
  const { records, nextOffset } = read(fetched(batches.find(({ name }) => name === "compacted")!.records), 100);
  expect(records).toEqual([2, 5, 8, 11, 14, 17].map((at) => [100 + at, value(at, 30)]));
  expect(nextOffset).toBe(120);
});

test("transactions of two producers side by side, the first given up", () => {
  const abortedTransactions = [{ producerId: 7n, firstOffset: 100 }];
  const { records } = batches.find(({ name }) => name === "transactions")!;
  const result = read(fetched(records, { abortedTransactions }), 100);
  expect(result.records).toEqual([102, 103, 106, 108, 109].map((offset) => [offset, value(offset - 100, 20)]));
  expect(result.nextOffset).toBe(111);
});
