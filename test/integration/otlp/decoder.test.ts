import { EventEmitter, once } from "node:events";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import type { Decoded, ToDecode } from "../../../engine/sources/otlp/decoding/decode.ts";
import { Decoder, type DecodingLimits } from "../../../engine/sources/otlp/decoding/decoder.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { requestOf, wireOf } from "../../unit/otlp/requests.ts";
import { costlyBody } from "../../security/otlp-amplification.ts";
import { logs } from "./senders.ts";

let decoder: Decoder;

afterEach(() => decoder.close());

function withLimits(limits: Partial<DecodingLimits> = {}): void {
  // On a slow machine a thread takes longer to begin than a sender waits.
  decoder = new Decoder({ maxWait: 60_000, ...limits });
}

const whole = { signal: "logs", encoding: "protobuf", isCompressed: false, receivedAt: 7 } as const;

/** A caller that never goes. */
const waiting = { isGone: false };

/** A body that takes long to parse. */
const costly = () => costlyBody("objects of different shapes", 2 * 1024 * 1024);

/** What becomes of a body. */
function decoded(request: Partial<ToDecode> & { body: Buffer }): Promise<Decoded> {
  return decoder.decode({ ...whole, ...request }, waiting, (found) => Promise.resolve(found));
}

/** A body that is never decoded without the thread. */
const packed = () => ({ body: gzipSync(logs(2)), isCompressed: true });

const rowsOfTwo = { kind: "rows", push: rowsOf("logs", logs(2), "protobuf", 7) };

test("the rows of a body are the same with the thread and without it", async () => {
  withLimits();
  expect(await decoded({ body: logs(2) })).toEqual(rowsOfTwo);
  expect(await decoded(packed())).toEqual(rowsOfTwo);
  const long = logs(20_000);
  const expected = rowsOf("logs", long, "protobuf", 7);
  const found = await decoded({ body: Buffer.from(long) });
  expect(found.kind === "rows" && found.push.bytes.equals(expected.bytes)).toBe(true);
  expect(found).toMatchObject({ push: { ends: expected.ends, receivedAt: 7, signal: "logs" } });
});

test("a thread that fails on a body and goes on still knows where its rows are", { tags: ["rest"] }, async () => {
  withLimits();
  expect(await decoded(packed())).toEqual(rowsOfTwo);
  await expect(decoded({ ...packed(), signal: "none" as never })).rejects.toThrow();
  for (let times = 0; times < 3; times += 1) expect(await decoded(packed())).toEqual(rowsOfTwo);
});

test("a small body of many rows is taken", async () => {
  withLimits();
  const body = wireOf(
    "logs",
    requestOf(
      "logs",
      Array.from({ length: 10_000 }, () => ({})),
    ),
  );
  const found = await decoded({ body });
  expect(found.kind === "rows" && found.push.ends.length).toBe(10_000);
});

test.each<[string, Partial<ToDecode> & { body: Buffer }, Decoded["kind"]]>([
  ["that is no gzip", { body: Buffer.from("no gzip"), isCompressed: true }, "malformed"],
  ["that is no request", { body: gzipSync(Buffer.from("no request")), isCompressed: true }, "malformed"],
  ["that is larger than it may be", { body: gzipSync(Buffer.alloc(5 << 20)), isCompressed: true }, "too_large"],
])("a body %s is refused, and the next is taken", async (_title, request, kind) => {
  withLimits();
  expect(await decoded(request)).toMatchObject({ kind });
  expect(await decoded(packed())).toEqual(rowsOfTwo);
});

test(
  "a body that takes more memory than one may is refused, and a new thread takes those that waited",
  { tags: ["rest"] },
  async () => {
    withLimits({ memory: 16 });
    const { signal, encoding, bytes } = costly();
    const [first, second] = [decoded({ signal, encoding, body: bytes }), decoded(packed())];
    expect(await first).toMatchObject({ kind: "never_fits", message: expect.stringContaining("more time or memory") });
    expect(await second).toEqual(rowsOfTwo);
  },
);

test("a body that takes more time than one may is refused", { tags: ["rest"] }, async () => {
  withLimits({ time: 1 });
  const { signal, encoding, bytes } = costly();
  const first = decoded({ signal, encoding, body: bytes });
  expect(await first).toMatchObject({ kind: "never_fits", message: expect.stringContaining("more time or memory") });
});

test("no body is decoded while as many rows are being stored as may be", async () => {
  withLimits({ storing: 1 });
  const events: string[] = [];
  const stored = new EventEmitter();
  const first = decoder.decode({ ...whole, ...packed() }, waiting, () => {
    events.push("first decoded");
    return once(stored, "end");
  });
  await expect.poll(() => events).toEqual(["first decoded"]);
  const second = decoder.decode({ ...whole, body: logs(1) }, waiting, () => {
    events.push("second decoded");
    return Promise.resolve();
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  events.push("first stored");
  stored.emit("end");
  await Promise.all([first, second]);
  expect(events).toEqual(["first decoded", "first stored", "second decoded"]);
});

test("a body is not decoded where its caller has gone before its turn, or it has waited for too long", async () => {
  withLimits({ storing: 1, maxWait: 50 });
  const stored = new EventEmitter();
  const began = once(stored, "began");
  const first = decoder.decode({ ...whole, ...packed() }, waiting, () => {
    stored.emit("began");
    return once(stored, "end");
  });
  await began;
  const leaving = { isGone: false };
  const late = decoder.decode({ ...whole, body: logs(1) }, waiting, () => Promise.resolve("decoded"));
  await expect(late).rejects.toMatchObject({ because: "late" });
  const gone = decoder.decode({ ...whole, body: logs(1) }, leaving, () => Promise.resolve("decoded"));
  leaving.isGone = true;
  const missed = expect(gone).rejects.toMatchObject({ because: "gone" });
  stored.emit("end");
  await Promise.all([first, missed]);
});

test("what was decoded is not stored where its caller has gone meanwhile", async () => {
  withLimits();
  const leaving = { isGone: false };
  const found = decoder.decode({ ...whole, ...packed() }, leaving, () => Promise.resolve("stored"));
  leaving.isGone = true;
  await expect(found).rejects.toMatchObject({ because: "gone" });
});

test("requests that wait are refused when the receiver is closed", async () => {
  withLimits();
  const both = Promise.allSettled([decoded(packed()), decoded(packed())]);
  await decoder.close();
  expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
