import { expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import { ExpressionError } from "../../../engine/expression/index.ts";
import { FilterTransform } from "../../../engine/transforms/filter/filter.ts";

const fields = [
  { name: "level", type: "string" as const },
  { name: "age", type: "int" as const },
];

function events(...texts: string[]): Event[] {
  return texts.map((text, index) => new Event(index + 1, 0, Buffer.from(text)));
}

test("true keeps an event, false drops it, and an evaluation that fails rejects it", () => {
  const filter = new FilterTransform("age > 18", fields);
  const given = events(`{"age": 30}`, `{"age": 7}`, `{"level": "x"}`, `{"age": 19}`);
  const { passed, dropped, rejected } = filter.apply(given, { clock: 0, batch: 1 });
  expect(passed.map(({ position }) => position)).toEqual([1, 4]);
  expect(dropped).toBe(1);
  expect(rejected).toEqual([
    {
      component: "dedup",
      reason: "transform_error",
      error:
        "filter: `age > 18`: expected two numbers, texts, times or durations, found nil and int (line 1, column 1)",
      original_message: `{"level": "x"}`,
      position: 3,
    },
  ]);
});

test.each(["[1]", "5", `"text"`, "true", "{", ""])("an event that is %s and no object is rejected", (text) => {
  const { passed, rejected } = new FilterTransform("true", fields).apply(events(text), { clock: 0, batch: 1 });
  expect(passed).toEqual([]);
  expect(rejected).toMatchObject([
    { error: "filter: expected an event that is a JSON object", original_message: text },
  ]);
});

test("an event that is null counts as one without fields", () => {
  expect(new FilterTransform("level == nil", fields).apply(events("null"), { clock: 0, batch: 1 }).passed).toHaveLength(
    1,
  );
});

test("replaying a batch with its clock gives the same answer", () => {
  const filter = new FilterTransform("now().Hour() == 7", []);
  const clock = Date.UTC(2024, 0, 1, 7);
  expect(filter.apply(events("{}"), { clock, batch: 1 }).passed).toHaveLength(1);
  expect(filter.apply(events("{}"), { clock, batch: 1 }).passed).toHaveLength(1);
  expect(filter.apply(events("{}"), { clock: clock + 3_600_000, batch: 1 }).passed).toHaveLength(0);
});

test("an expression that does not fit the fields is refused at once", () => {
  expect(() => new FilterTransform("agee > 18", fields)).toThrow(ExpressionError);
});
