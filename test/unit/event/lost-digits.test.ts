import * as fc from "fast-check";
import { expect, test } from "vitest";
import { lostDigitsIn, withLostDigits } from "../../../engine/event/lost-digits.ts";

function lost(json: string): string | undefined {
  return lostDigitsIn(withLostDigits(Buffer.from(json)));
}

test.each([
  "4503599627370497.5",
  "-4503599627370497.5",
  "1.00000000000000001",
  "999999999999999.01",
  "9007199254740993.0",
  "1.234567890123456789e18",
  "45035996273704975e-1",
  "0.99999999999999999999",
])("%s is found", (number) => {
  expect(lost(`{"a":"b","n":${number}}`)).toBe(number);
  expect(lost(`{"a":[{"\\"1.5":[ ${number} ]}]}`)).toBe(number);
  expect(lost(`\uFEFF{"n":${number}}`)).toBe(number);
});

test.each([
  "1.5",
  "13.404953999999999",
  "10.00000000000000000000",
  "4503599627370497.0",
  "9007199254740992.0",
  "9007199254740993",
  "1e23",
  "1.5e300",
  "0.30000000000000004441",
  "12345678901234567.5e400",
  '"4503599627370497.5"',
  '"\\",4503599627370497.5,\\""',
])("%s is not", (number) => {
  expect(lost(`{"a":"b","n":${number}}`)).toBeUndefined();
});

test("a number is found exactly where a parse makes a whole one of a fraction", () => {
  const digits = fc.stringMatching(/^[1-9]\d{0,18}\.\d{0,20}[1-9]$/);
  fc.assert(
    fc.property(digits, fc.string({ maxLength: 40 }), (number, text) => {
      const json = `{${JSON.stringify(text)}:${number}}`;
      expect(lost(json)).toBe(Number.isInteger(Number(number)) ? number : undefined);
    }),
    { numRuns: 500 },
  );
});
