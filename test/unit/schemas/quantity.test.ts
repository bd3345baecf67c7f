import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalCpu, canonicalSize, parseQuantity, quantityBytes } from "../../../schemas/index.ts";

test.each([
  ["0", "0", 0],
  ["1000", "1000", 1000],
  ["1024", "1Ki", 1024],
  ["128Mi", "128Mi", 134_217_728],
  ["1.5Gi", "1536Mi", 1_610_612_736],
  ["10240Mi", "10Gi", 10_737_418_240],
  ["10GB", "10Gi", 10_737_418_240],
  ["10gb", "10Gi", 10_737_418_240],
  ["1k", "1000", 1000],
  ["1M", "1000000", 1_000_000],
  ["2e3", "2000", 2000],
  ["1E", "976562500000000Ki", 1e18],
  ["7Ei", "7Ei", 7 * 2 ** 60],
  ["8Ei", "9223372036854775807", 2 ** 63],
  ["1e99", "9223372036854775807", 2 ** 63],
  ["1e-1", "1", 1],
  ["0.5", "1", 1],
])("%s as a size is %s, %d bytes", (text, canonical, bytes) => {
  expect(canonicalSize(text)).toBe(canonical);
  expect(quantityBytes(text)).toBe(bytes);
});

test.each([
  ["0.5", "500m"],
  ["500m", "500m"],
  ["1500m", "1500m"],
  ["1.5", "1500m"],
  ["2", "2"],
  ["2000m", "2"],
  ["10u", "10u"],
  ["1n", "1n"],
])("%s as cpu is %s", (text, canonical) => {
  expect(canonicalCpu(text)).toBe(canonical);
});

test.each(["", "128mi", "1 Gi", "Gi", "1GiB", "1K", "1e", "1e999", "one", "1,5", "0x10", "1".repeat(70)])(
  '"%s" is no quantity',
  (text) => {
    expect(parseQuantity(text)).toBeUndefined();
    expect(() => quantityBytes(text)).toThrow(RangeError);
  },
);

test("a canonical spelling keeps its value and its spelling", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), (bytes) => {
      const text = canonicalSize(`${bytes}`);
      expect(parseQuantity(text)).toBe(bytes * 1_000_000_000n);
      expect(canonicalSize(text)).toBe(text);
    }),
  );
});
