import { expect, test } from "vitest";
import { RecordRun } from "../../../engine/sources/kafka/protocol/record-run.ts";
import { read } from "./read.ts";
import { batchBytes, compressors, fetched, int32, messageBytes, numbered, type WrittenMessage } from "./written.ts";

const formats = [0, 1] as const;
const codecs = [1, 2, 3] as const;

function plain(format: 0 | 1, values: [number, string | null][]): Buffer {
  return Buffer.concat(
    values.map(([offset, value]) =>
      messageBytes({ offset, format, value: value === null ? null : Buffer.from(value), key: Buffer.from("k") }),
    ),
  );
}

/** Messages compressed together: format 0 writes their offsets, format 1 counts them from 0. */
function packed(format: 0 | 1, codec: number, values: [number, string | null][], first: number): Buffer {
  const inner = plain(format, format === 0 ? values : values.map(([offset, value]) => [offset - first, value]));
  return messageBytes({ offset: values.at(-1)![0], format, codec, value: compressors[codec]!(inner) });
}

const values: [number, string | null][] = [
  [10, "a"],
  [11, null],
  [12, ""],
  [15, "behind a hole"],
];

test.each(formats)("messages of format %i", (format) => {
  const { records, nextOffset, runs } = read(fetched(plain(format, values)), 10);
  expect(records).toEqual(values);
  expect([nextOffset, runs]).toEqual([16, [4]]);
});

test.each(formats.flatMap((format) => codecs.map((codec) => [format, codec] as const)))(
  "messages of format %i compressed together with codec %i",
  (format, codec) => {
    const more: [number, string | null][] = [
      [20, "x"],
      [21, "y"],
    ];
    const bytes = Buffer.concat([
      packed(format, codec, values, 10),
      packed(format, codec, more, 20),
      plain(format, [[22, "z"]]),
    ]);
    const { records, nextOffset, runs } = read(fetched(bytes), 10);
    expect(records).toEqual([...values, ...more, [22, "z"]]);
    expect([nextOffset, runs]).toEqual([23, [4, 2, 1]]);
    const within = read(fetched(bytes), 12, new RecordRun(1));
    expect(within.records).toEqual([...values.slice(2), ...more, [22, "z"]]);
    expect(within.nextOffset).toBe(23);
  },
);

test("messages that compaction took from those compressed together", () => {
  const left: [number, string][] = [
    [13, "13"],
    [17, "17"],
  ];
  expect(read(fetched(packed(1, 1, left, 10)), 10).records).toEqual(left);
});

test("an offset within leaves out what is below it, and a part at the end is left alone", () => {
  const bytes = plain(1, values);
  const cut = read(fetched(bytes.subarray(0, -1)), 11);
  expect(cut.records).toEqual(values.slice(1, 3));
  expect(cut.nextOffset).toBe(13);
  expect(read(fetched(packed(1, 1, values, 10)), 100)).toEqual({ records: [], runs: [], nextOffset: 100 });
});

test("a topic that went over to format 2", () => {
  const bytes = Buffer.concat([
    plain(0, [[1, "old"]]),
    plain(1, [[2, "newer"]]),
    batchBytes({ baseOffset: 3, records: numbered(2, 3) }),
  ]);
  expect(read(fetched(bytes)).records).toEqual([
    [1, "old"],
    [2, "newer"],
    [3, "3"],
    [4, "4"],
  ]);
});

const one: WrittenMessage = { offset: 5, format: 1, value: Buffer.from("value") };
const wrong = (at: number, bytes: Buffer): Buffer => {
  const message = messageBytes(one);
  return Buffer.concat([message.subarray(0, at), bytes, message.subarray(at + bytes.length)]);
};
const around = (inner: Buffer, offset = 5): Buffer =>
  messageBytes({ offset, format: 1, codec: 1, value: compressors[1]!(inner) });

test.each<[string, Buffer, string]>([
  [
    "too short",
    Buffer.concat([wrong(8, int32(13))]),
    "expected a message of at least 14 bytes within 25, found a size of 13",
  ],
  ["a value beyond it", wrong(30, int32(6)), "found a length of 6"],
  ["a value that ends before it", wrong(30, int32(4)), "expected a message to end after its value, found 1 more bytes"],
  ["a value of a negative length", wrong(30, int32(-2)), "found a length of -2"],
  ["a key beyond it", wrong(26, int32(6)), "within their message"],
  ["compressed twice", around(around(messageBytes(one))), "found them compressed twice"],
  [
    "formats mixed under one compression",
    around(plain(0, [[5, "v"]])),
    "expected messages of format 1 together, found one of format 0",
  ],
  [
    "a part of a message under compression",
    around(messageBytes(one).subarray(0, -1)),
    "expected a message of at least 14 bytes within",
  ],
  [
    "offsets that go back under compression",
    around(
      plain(1, [
        [3, "a"],
        [3, "b"],
        [4, "c"],
      ]),
    ),
    "expected a message with an offset of 5 to 5, found 4",
  ],
  [
    "offsets that go back",
    plain(1, [
      [3, "a"],
      [3, "b"],
    ]),
    "expected a batch at offset 4 or above, found one at 3",
  ],
  ["no bytes under compression", around(Buffer.alloc(0)), "expected messages under compression, found none"],
  [
    "null under compression",
    messageBytes({ offset: 5, format: 1, codec: 1, value: null }),
    "expected 0 bytes of records compressed with gzip",
  ],
])("%s is an error", (_title, bytes, message) => {
  expect(String(read(fetched(bytes)).error)).toContain(message);
});
