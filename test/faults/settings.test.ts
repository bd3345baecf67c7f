import { describe, expect, test } from "vitest";
import type { Observation, StepAnswer } from "./settings/scene.ts";
import { type SettingInfo, trialsOf, valuesNamedBy } from "./settings/setting-values.ts";
import { judge } from "./settings/verdict.ts";

const ok: StepAnswer = { kind: "ok", text: "" };
const none = { good: [], failing: [] };

/** What is seen without a profile: a wrong row is found, a view fails, all else is written once. */
const usual: Observation = {
  answers: {
    open: ok,
    "wrong row": { kind: "refused", text: "row 7" },
    probe: { kind: "found", text: "7" },
    insert: ok,
    repeat: ok,
    "failing view": { kind: "unknown", text: "it throws" },
  },
  afterWrong: 0,
  rows: {
    main: { good: ["(1)", "(2)"], failing: ["(3)"] },
    plain: { good: ["(1)", "(2)"], failing: [] },
    sums: none,
    joined: none,
    fragile: none,
  },
  reading: { entries: 1000, hasBlocks: true, views: ["s.plain_view"], isReplicated: false },
  named: [],
};

function seen(changes: Partial<Observation>): Observation {
  return { ...structuredClone(usual), ...changes };
}

function answered(step: string, kind: StepAnswer["kind"], text = ""): Partial<Observation> {
  return { answers: { ...usual.answers, [step]: { kind, text } } };
}

function withRows(table: "main" | "plain", good: string[]): Partial<Observation> {
  return { rows: { ...usual.rows, [table]: { ...usual.rows[table], good } } };
}

describe("a setting", () => {
  test("that changes nothing is none to speak of", () => {
    expect(judge("x", usual, seen({}))).toEqual({ kind: "nothing" });
  });

  test.each<[title: string, changes: Partial<Observation>]>([
    ["loses a row", withRows("main", ["(1)"])],
    ["doubles a row", withRows("main", ["(1)", "(2)", "(2)"])],
    ["changes a row", withRows("main", ["(1)", "(9)"])],
    ["loses a row of a view", withRows("plain", ["(1)"])],
    ["writes rows and calls that a refusal", { afterWrong: 2 }],
    ["hides that a view fails", answered("failing view", "ok")],
    ["hides a view", { reading: { ...usual.reading!, views: [] } }],
    ["promises a larger window", { reading: { ...usual.reading!, entries: 2000 } }],
  ])("that %s breaks a promise, unless a condition names it", (_title, changes) => {
    expect(judge("x", usual, seen(changes)).kind).toBe("breach");
    expect(judge("x", usual, seen({ ...changes, named: ["x = 1, which does that"] })).kind).toBe("named");
  });

  test.each<[title: string, changes: Partial<Observation>]>([
    ["refuses to open", answered("open", "refused", "it is forbidden")],
    ["finds other rows wrong", answered("probe", "found", "1, 7")],
    [
      "is an error within a view",
      { ...answered("insert", "unknown", "too much"), rows: { ...usual.rows, plain: none } },
    ],
  ])("that %s says so", (_title, changes) => {
    expect(judge("x", usual, seen(changes)).kind).toBe("told");
  });

  test("that makes a reading promise less changes nothing", () => {
    expect(judge("x", usual, seen({ reading: { ...usual.reading!, entries: 0 } }))).toEqual({ kind: "nothing" });
  });
});

function values(type: string, usualValue: string, named: string[] = [], name = "some_setting"): string[] {
  const info: SettingInfo = { name, value: usualValue, default: usualValue, type, alias_for: "", is_obsolete: 0 };
  return trialsOf(info, named).map(({ value }) => value);
}

test.each<[type: string, usual: string, tried: string[]]>([
  ["Bool", "1", ["0"]],
  ["Bool", "0", ["1"]],
  ["UInt64", "0", ["1", "1000000000"]],
  ["UInt64", "1", ["2", "1000000000"]],
  ["Milliseconds", "1000000000", ["1", "2000000000"]],
  ["String", "", ["x", "1"]],
])("a setting of type %s that is %j is tried as %j", (type, usualValue, tried) => {
  expect(values(type, usualValue)).toEqual(tried);
});

test("a setting with a closed set of values is tried as each of the others", () => {
  const named = valuesNamedBy("Unexpected value of OverflowMode: '?'. Must be one of ['throw', 'break']");
  expect(values("OverflowMode", "throw", named)).toEqual(["break"]);
});
