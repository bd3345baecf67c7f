import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import { FieldPick } from "../../../engine/event/fields.ts";
import { evaluateEach } from "../../../engine/expression/evaluation.ts";
import { ExpressionError } from "../../../engine/expression/index.ts";
import { StatelessTransform } from "../../../engine/transforms/stateless/stateless.ts";

const fields = [
  { name: "level", type: "string" as const },
  { name: "age", type: "int" as const },
];

function events(...texts: string[]): Event[] {
  return texts.map((text, index) => new Event(index + 1, 1000 + index, Buffer.from(text)));
}

function stateless(...list: [output_name: string, expression: string, output_type: string][]): StatelessTransform {
  return new StatelessTransform(
    list.map(([output_name, expression, output_type]) => ({ output_name, expression, output_type })),
    fields,
  );
}

test("an event becomes one of the outputs alone, in the same place; one on which an output fails is rejected whole", () => {
  const transform = stateless(["level", "upper(level)", "string"], ["next", "age + 1", "int"]);
  const given = events(`{"level": "a", "age": 1, "more": true}`, `{"level": "b"}`, `{"level": "c", "age": 3}`);
  const { passed, dropped, rejected } = transform.apply(given, { clock: 0, batch: 1 });
  expect(passed.map(({ position, receivedAt, text }) => [position, receivedAt, text])).toEqual([
    [1, 1000, '{"level":"A","next":2}'],
    [3, 1002, '{"level":"C","next":4}'],
  ]);
  expect(dropped).toBe(0);
  expect(rejected).toEqual([
    {
      component: "dedup",
      reason: "transform_error",
      error: expect.stringMatching(/^stateless: next: `age \+ 1`: expected two numbers/) as string,
      original_message: `{"level": "b"}`,
      position: 2,
    },
  ]);
});

test.each(["[1]", "5", `"text"`, "true", "{", ""])("an event that is %s and no object is rejected", (text) => {
  const { passed, rejected } = stateless(["a", "1", "int"]).apply(events(text), { clock: 0, batch: 1 });
  expect(passed).toEqual([]);
  expect(rejected).toMatchObject([
    { error: "stateless: expected an event that is a JSON object", original_message: text },
  ]);
});

test("the outputs are the schema of what comes behind, each name once with the type of its last", () => {
  const { outputs } = stateless(["a", "1", "int64"], ["b", "level", "datetime"], ["a", `["x"]`, "[]string"]);
  expect(outputs).toMatchObject([
    { name: "a", type: "array" },
    { name: "b", type: "string" },
  ]);
});

test("an output may be null where its expression may be nil", () => {
  const nilable = ["level ?? nil", "$env.more", "age > 1 ? nil : 1", "first([])", "nil"];
  const never = ["age", "upper(level)", '$env.more ?? ""', "age > 1 ? 2 : 1", "nil ?? 1"];
  for (const expression of [...nilable, ...never]) {
    const [output] = stateless(["o", expression, "string"]).outputs;
    expect([expression, output!.mayBeNull]).toEqual([expression, nilable.includes(expression)]);
  }
});

test("a field that is not required makes its output nullable", () => {
  const optional = [{ name: "coupon", type: "string" as const, required: false as const }];
  const made = (expression: string): boolean | undefined =>
    new StatelessTransform([{ expression, output_name: "o", output_type: "string" }], optional).outputs[0]!.mayBeNull;
  expect([made("coupon"), made('coupon ?? "none"'), made("upper(coupon)")]).toEqual([true, false, false]);
});

test("an integer keeps its digits on the way through", () => {
  const { passed } = stateless(["age", "age", "int"]).apply(events('{"age":9223372036854775807}'), {
    clock: 0,
    batch: 1,
  });
  expect(passed[0]!.text).toBe('{"age":9223372036854775807}');
});

test("replaying a batch with its clock gives the same events", () => {
  const transform = stateless(["at", "string(now())", "string"]);
  const texts = (clock: number): string[] =>
    transform.apply(events("{}", "{}"), { clock, batch: 1 }).passed.map(({ text }) => text);
  expect(texts(1000)).toEqual(texts(1000));
  expect(texts(1000)).not.toEqual(texts(2000));
});

test("an expression that does not fit the fields is refused at once", () => {
  expect(() => stateless(["a", "agee", "int"])).toThrow(ExpressionError);
});

describe("what an output may hold", () => {
  const body = JSON.stringify({ level: `${"[".repeat(50_000)}${"]".repeat(50_000)}` });
  const doubled = Array.from({ length: 40 }, (_, index) => `let v${index + 1} = [v${index}, v${index}];`).join(" ");
  test.each([
    ["nests too deep", "fromJSON(level)", "array", "a record nests at most 100 levels"],
    ["repeats itself", `let v0 = "x"; ${doubled} v40`, "array", "nests|are larger than the limit"],
    [
      "holds one text many times",
      "map(1..100000, level)",
      "array",
      "the outputs of one record are larger than the limit",
    ],
    ["holds one text many times, as texts", "map(1..100000, level)", "[]string", "are larger than the limit"],
  ])("an array that %s is an error of its event", (_title, expression, output_type, expected) => {
    const { passed, rejected } = stateless(["o", expression, output_type]).apply(events(body, '{"level":"[]"}'), {
      clock: 0,
      batch: 1,
    });
    expect(passed.length + rejected.length).toBe(2);
    expect(rejected[0]!.error).toMatch(new RegExp(expected));
  });

  test("the budget of one event is not that of the next", () => {
    const transform = stateless(["o", "map(1..1000, level)", "array"]);
    const large = Array.from({ length: 20 }, () => JSON.stringify({ level: "x".repeat(10_000) }));
    expect(transform.apply(events(...large), { clock: 0, batch: 1 }).passed).toHaveLength(20);
  });
});

test("an event on which an evaluation breaks off is a dead letter, and the others are evaluated", () => {
  const seen: number[] = [];
  const rejected = evaluateEach("filter", events("{}", "{}", "{}"), new FieldPick(undefined), ({ position }) => {
    if (position === 2) throw new SyntaxError("Cannot convert 0x to a BigInt");
    seen.push(position);
  });
  expect(seen).toEqual([1, 3]);
  expect(rejected).toMatchObject([
    {
      position: 2,
      reason: "transform_error",
      error: "filter: the evaluation broke off: SyntaxError: Cannot convert 0x to a BigInt",
    },
  ]);
});
