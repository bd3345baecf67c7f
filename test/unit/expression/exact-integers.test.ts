import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import { compileFilter, compileTransforms } from "../../../engine/expression/index.ts";

/** As an event brings them: 2^53 + 1, 2^64 - 1 and ten digits more, and a number that a float holds exactly. */
const { value: record } = new Event(
  1,
  0,
  Buffer.from(
    '{"id":9007199254740993,"u":18446744073709551615,"long":12345678901234567890123456789,"n":5,"list":[9007199254740993,9007199254740992]}',
  ),
);

function output(expression: string, output_type: string): unknown {
  return compileTransforms([{ expression, output_name: "o", output_type }], undefined).apply(record, 0)["o"];
}

describe("an integer of an event beyond 2^53 keeps its value", () => {
  test.each<[string, string, unknown]>([
    ["id", "int", 9007199254740993n],
    ["id", "uint", 9007199254740993n],
    ["id", "string", "9007199254740993"],
    ["id", "array", 9007199254740993n],
    ["string(id)", "string", "9007199254740993"],
    ["toString(id)", "string", "9007199254740993"],
    ["int(id)", "int", 9007199254740993n],
    ["toInt(id)", "int", 9007199254740993n],
    ["id + 1", "int", 9007199254740994n],
    ["id - 5", "int", 9007199254740988],
    ["id * 2", "int", 18014398509481986n],
    ["-id", "int", -9007199254740993n],
    ["int(id) % 10", "int", 3],
    ["id == 9007199254740993", "bool", true],
    ["id == 9007199254740992", "bool", false],
    ["id > 9007199254740992", "bool", true],
    ["id in [9007199254740992]", "bool", false],
    ["len(uniq(list))", "int", 2],
    ["max(list)", "int", 9007199254740993n],
    ["type(id)", "string", "int"],
    [`fromJSON("{\\"a\\": 9007199254740993}").a`, "int", 9007199254740993n],
    ["toJSON([id])", "string", "[\n  9007199254740993\n]"],
  ])("%s as %s", (expression, output_type, expected) => {
    expect(output(expression, output_type)).toBe(expected);
  });
});

describe("an integer that does not fit 64 bits is passed on whole, and computed with as a float", () => {
  test.each<[string, string, unknown]>([
    ["u", "uint", 18446744073709551615n],
    ["u", "string", "18446744073709551615"],
    ["long", "string", "12345678901234567890123456789"],
    ["long", "array", 12345678901234567890123456789n],
    ["u == 18446744073709551615.0", "bool", true],
    ["u > id", "bool", true],
    ["u + 1", "float64", 18446744073709552000],
    ["u - 1", "float64", 18446744073709552000],
    ["u * 2", "float64", 36893488147419103000],
    ["-u", "float64", -18446744073709552000],
    ["abs(-u)", "float64", 18446744073709552000],
    ["abs(u)", "float64", 18446744073709552000],
    ["type(u)", "string", "float"],
  ])("%s as %s", (expression, output_type, expected) => {
    expect(output(expression, output_type)).toBe(expected);
  });

  test.each([
    ["u", "int", "output_type int: the number is outside"],
    ["long", "uint", "output_type uint: the number is outside"],
    ["int(u)", "int", "int: the number does not fit 64 bits"],
    ["toInt(u)", "int", "toInt: the number does not fit 64 bits"],
    ["u % 2", "int", "expected two integers, found float and int"],
    ["bitand(u, 1)", "int", "bitand expects an integer, found float"],
    ["1..u", "array", "the position does not fit 64 bits"],
  ])("%s as %s is an error", (expression, output_type, expected) => {
    expect(() => output(expression, output_type)).toThrow(expected);
  });
});

test("a filter compares all digits", () => {
  const filter = compileFilter("id == 9007199254740993", [{ name: "id", type: "int" }]);
  expect(filter.matches(record, 0)).toBe(true);
  expect(filter.matches(new Event(1, 0, Buffer.from('{"id":9007199254740992}')).value, 0)).toBe(false);
});
