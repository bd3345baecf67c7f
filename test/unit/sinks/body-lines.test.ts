import { describe, expect, test } from "vitest";
import { BodyLines } from "../../../engine/sinks/clickhouse/insert/probe.ts";

const body = Buffer.from('{"a":1}\n{"a":"ä"}\n{"a":"\\n"}\n{}\n');
const lines = new BodyLines(body);

describe("of four lines", () => {
  test.each([
    ["all", [0, 1, 2, 3], body.toString()],
    ["the first", [0], '{"a":1}\n'],
    ["the last", [3], "{}\n"],
    ["neighbours", [1, 2], '{"a":"ä"}\n{"a":"\\n"}\n'],
    ["some with gaps", [0, 2, 3], '{"a":1}\n{"a":"\\n"}\n{}\n'],
    ["none", [], ""],
  ])("takes %s", (_title, rows, expected) => {
    expect(lines.count).toBe(4);
    expect(lines.take(rows).toString()).toBe(expected);
  });
});

test("neighbours are a view of the same bytes", () => {
  expect(lines.take([1, 2]).buffer).toBe(body.buffer);
});

test("an empty body has no lines", () => {
  expect(new BodyLines(Buffer.alloc(0)).count).toBe(0);
});
