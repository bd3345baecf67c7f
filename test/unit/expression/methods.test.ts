import { describe, expect, test } from "vitest";
import { inFilter } from "../../support/evaluate.ts";

describe("times and durations", () => {
  test.each([
    ["date(ts).Year()", "int 2024"],
    ["date(ts).Unix()", "int 1709288430"],
    [String.raw`date(ts).Format("2006-01-02 Mon Jan _2 3:04PM .000")`, "string 2024-03-01 Fri Mar  1 10:20AM .000"],
    ["date(ts).Hour()", "int 10"],
    [String.raw`date(ts).Add(duration("1h")).Minute()`, "int 20"],
    [String.raw`date(ts).Sub(date("2024-01-01")).Hours()`, "float 1450.3416666666667"],
    ["date(ts).UnixMilli()", "int 1709288430000"],
    [String.raw`date(ts).Before(date("2025-01-01"))`, "bool true"],
    ["date(ts).YearDay()", "int 61"],
    [String.raw`date(ts).In(timezone("Europe/Berlin")).Hour()`, "int 11"],
    ["date(ts).Nope()", "refused: time has no method Nope"],
    [String.raw`duration("90m").Hours()`, "float 1.5"],
    [String.raw`duration("90m").String()`, "string 1h30m0s"],
    [String.raw`duration("1s").Milliseconds()`, "int 1000"],
    [String.raw`date("1969-12-31").Unix()`, "int -86400"],
    [String.raw`date("1960-01-01T00:00:00.5Z").UnixMilli()`, "int -315619199500"],
    ["date(ts)?.Year()", "int 2024"],
    ["missing?.Year()", "nil <nil>"],
    ["t.Year()", "fails: string has no method Year"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
