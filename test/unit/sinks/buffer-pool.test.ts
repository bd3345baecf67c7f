import { describe, expect, test } from "vitest";
import { BufferPool } from "../../../engine/sinks/clickhouse/encode/buffer-pool.ts";
import { RowBody } from "../../../engine/sinks/clickhouse/encode/row-body.ts";

const kilobyte = 1024;

describe("a buffer pool", () => {
  test("hands out a buffer that was given back, for a size near to its own", () => {
    const pool = new BufferPool(1_000 * kilobyte);
    const first = pool.take(200 * kilobyte);
    pool.give(first);
    const second = pool.take(190 * kilobyte);
    expect(second.buffer).toBe(first.buffer);
    expect(pool.take(190 * kilobyte).buffer).not.toBe(first.buffer);
    pool.give(second.subarray(10, 20));
    expect(pool.take(90 * kilobyte).buffer).not.toBe(first.buffer);
    expect(pool.take(300 * kilobyte).buffer).not.toBe(first.buffer);
    expect(pool.take(200 * kilobyte).buffer).toBe(first.buffer);
  });

  test("never hands out a buffer twice, however often it was given back", () => {
    const pool = new BufferPool(1_000 * kilobyte);
    const buffer = pool.take(100 * kilobyte);
    pool.give(buffer);
    pool.give(buffer);
    const taken = [1, 2, 3].map(() => pool.take(100 * kilobyte).buffer);
    expect(new Set(taken).size).toBe(3);
  });

  test("ignores memory that it did not hand out, such as that of small buffers, which others share", () => {
    const pool = new BufferPool(1_000 * kilobyte);
    const [small, foreign] = [pool.take(100), Buffer.alloc(100 * kilobyte)];
    pool.give(small);
    pool.give(foreign);
    expect(pool.take(100).buffer === small.buffer && pool.take(100).byteOffset === small.byteOffset).toBe(false);
    expect(pool.take(100 * kilobyte).buffer).not.toBe(foreign.buffer);
  });

  test("keeps no more than it may: the buffers that were given back last", () => {
    const pool = new BufferPool(300 * kilobyte);
    const sizes = [128, 128, 128, 192].map((size) => size * kilobyte);
    const taken = sizes.map((size) => pool.take(size));
    for (const buffer of taken) pool.give(buffer);
    expect(pool.take(192 * kilobyte).buffer).toBe(taken[3]!.buffer);
    const others = [1, 2].map(() => pool.take(128 * kilobyte).buffer);
    expect(others.filter((one) => taken.some(({ buffer }) => buffer === one))).toEqual([]);
    const tooLarge = pool.take(400 * kilobyte);
    pool.give(tooLarge);
    expect(pool.take(400 * kilobyte).buffer).not.toBe(tooLarge.buffer);
  });
});

test("a body that grows gives its former buffers back, and keeps its bytes", () => {
  const pool = new BufferPool(10_000 * kilobyte);
  const body = new RowBody(100 * kilobyte, pool);
  const row = Buffer.alloc(50 * kilobyte, "row ");
  for (let rows = 0; rows < 20; rows += 1) body.addBytes(row);
  const other = new RowBody(100 * kilobyte, pool);
  other.addBytes(Buffer.alloc(100 * kilobyte, "x"));
  expect(body.toBytes().equals(Buffer.concat(Array.from({ length: 20 }, () => row)))).toBe(true);
});
