import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("date", () => {
  test.each([
    [String.raw`date("2024-03-01")`, "time 2024-03-01 00:00:00 +0000 UTC"],
    [String.raw`date("2024-03-01 10:20:30")`, "time 2024-03-01 10:20:30 +0000 UTC"],
    [String.raw`date("10:20:30")`, "time 0000-01-01 10:20:30 +0000 UTC"],
    ["date(ts)", "time 2024-03-01 10:20:30 +0000 UTC"],
    [String.raw`date("2024-03-01T10:20:30+02:00")`, "time 2024-03-01 10:20:30 +0200 +0200"],
    [String.raw`date("2024-03-01T10:20:30.123456789Z")`, "time 2024-03-01 10:20:30.123456789 +0000 UTC"],
    [String.raw`date("2024-03-01T10:20:30.5+02:00")`, "time 2024-03-01 10:20:30.5 +0200 +0200"],
    [String.raw`date("02 Jan 06 15:04 MST")`, "time 2006-01-02 15:04:00 +0000 MST"],
    [String.raw`date("02 Jan 06 15:04 UTC")`, "time 2006-01-02 15:04:00 +0000 UTC"],
    [String.raw`date("Monday, 02-Jan-06 15:04:05 UTC")`, "time 2006-01-02 15:04:05 +0000 UTC"],
    [String.raw`date("Mon, 02 Jan 2006 15:04:05 GMT")`, "time 2006-01-02 15:04:05 +0000 GMT"],
    [String.raw`date("2024-02-30")`, "fails: date does not know the format of the text"],
    [String.raw`date("2024-13-01")`, "fails: date does not know the format of the text"],
    [String.raw`date("2023-366", "2006-002")`, "fails: the text does not fit the layout"],
    [String.raw`date("2024-01-01T00:00:00z")`, "fails: date does not know the format of the text"],
    [String.raw`date("x")`, "fails: date does not know the format of the text"],
    [String.raw`date("")`, "fails: date does not know the format of the text"],
    [String.raw`date("2024-03-01", "2006-01-02")`, "time 2024-03-01 00:00:00 +0000 UTC"],
    [String.raw`date("01/03/2024", "02/01/2006")`, "time 2024-03-01 00:00:00 +0000 UTC"],
    [String.raw`date("2024-03-01 10:00", "2006-01-02 15:04", "Europe/Berlin")`, "time 2024-03-01 10:00:00 +0100 CET"],
    [String.raw`date("2024-07-01 10:00", "2006-01-02 15:04", "Europe/Berlin")`, "time 2024-07-01 10:00:00 +0200 CEST"],
    [
      String.raw`date("2024-07-01 10:00", "2006-01-02 15:04", "Nowhere/X")`,
      "fails: expected the name of a time zone such as Europe/Berlin, found another text",
    ],
    [String.raw`date(timezone("Europe/Berlin"), "2024-07-01 10:00:00")`, "time 2024-07-01 10:00:00 +0200 CEST"],
    [
      String.raw`date(timezone("Europe/Berlin"), "2024-07-01 10:00", "2006-01-02 15:04")`,
      "time 2024-07-01 10:00:00 +0200 CEST",
    ],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("layouts", () => {
  test.each([
    [String.raw`date("3:04PM", "3:04PM")`, "time 0000-01-01 15:04:00 +0000 UTC"],
    [String.raw`date("Jan 2, 2024", "Jan 2, 2006")`, "time 2024-01-02 00:00:00 +0000 UTC"],
    [String.raw`date("January 2, 2024", "January 2, 2006")`, "time 2024-01-02 00:00:00 +0000 UTC"],
    [String.raw`date("jan 2, 2024", "Jan 2, 2006")`, "time 2024-01-02 00:00:00 +0000 UTC"],
    // A digit that is no piece follows one.
    [String.raw`date("20240506070000", "20060102150000")`, "time 2024-05-06 07:00:00 +0000 UTC"],
    [String.raw`date("2024-05-06 10+02", "2006-01-02 15-07")`, "time 2024-05-06 10:00:00 +0200 +0200"],
    [String.raw`date("2024-05-06 10Z", "2006-01-02 15Z07")`, "time 2024-05-06 10:00:00 +0000 UTC"],
    [String.raw`date("10 +05:30:15", "15 -07:00:00").Format("Z070000 Z07:00 -07")`, "string +053015 +05:30 +05"],
    [String.raw`date("2024-061", "2006-002")`, "time 2024-03-01 00:00:00 +0000 UTC"],
    [String.raw`date("2024-366", "2006-002").Format("01/02 002 __2")`, "string 12/31 366 366"],
    [String.raw`date("2024-03-01").Format("2006-002 __2 _2006")`, "string 2024-061  61 _2024"],
    [String.raw`date(ts).Format("2006-01-02 15:04:05-07 Z07 Z07:00:00")`, "string 2024-03-01 10:20:30+00 Z Z"],
    [String.raw`date("2024-05-06T07:08:09.1234567891Z")`, "time 2024-05-06 07:08:09.123456789 +0000 UTC"],
    [String.raw`date("0000-01-01").AddDate(-1,0,0)`, "time -0001-01-01 00:00:00 +0000 UTC"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("times and durations", () => {
  test.each([
    [String.raw`date(ts) > date("2024-01-01")`, "bool true"],
    [String.raw`date(ts) - date("2024-01-01")`, "duration 1450h20m30s"],
    [String.raw`date(ts) + duration("1h")`, "time 2024-03-01 11:20:30 +0000 UTC"],
    [String.raw`date(ts) == date("2024-03-01T12:20:30+02:00")`, "bool true"],
    [String.raw`date(ts) - duration("1h30m")`, "time 2024-03-01 08:50:30 +0000 UTC"],
    ["date(ts) + 1", "refused: `+` cannot be applied to time and int"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("duration", () => {
  test.each([
    [String.raw`duration("1h30m")`, "duration 1h30m0s"],
    [String.raw`duration("1.5s")`, "duration 1.5s"],
    [String.raw`duration("-2ms")`, "duration -2ms"],
    [
      String.raw`duration("1d")`,
      "fails: expected a duration such as 1h30m or 250ms (units: ns us ms s m h), found another text",
    ],
    [
      String.raw`duration("")`,
      "fails: expected a duration such as 1h30m or 250ms (units: ns us ms s m h), found another text",
    ],
    [String.raw`duration("0")`, "duration 0s"],
    [String.raw`duration("100us")`, "duration 100µs"],
    [String.raw`duration("1ns")`, "duration 1ns"],
    [String.raw`duration("90m")`, "duration 1h30m0s"],
    [String.raw`duration("1h") + duration("1m")`, "duration 1h1m0s"],
    [String.raw`duration("1h") * 2`, "duration 2h0m0s"],
    [String.raw`2 * duration("1h")`, "duration 2h0m0s"],
    [String.raw`duration("1h") * 1.5`, "float 5.4e+12"],
    [String.raw`duration("1h") > duration("1m")`, "bool true"],
    [String.raw`-duration("1h")`, "refused: expected a number, found duration"],
    [String.raw`duration("1h") / 2`, "refused: `/` cannot be applied to duration and int"],
    [String.raw`duration("1h") == duration("60m")`, "bool true"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("time zones", () => {
  test.each([
    [String.raw`timezone("UTC")`, "timezone UTC"],
    [String.raw`timezone("Europe/Berlin")`, "timezone Europe/Berlin"],
    [String.raw`timezone("x/y")`, "fails: expected the name of a time zone such as Europe/Berlin, found another text"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("times as text", () => {
  test.each([
    [String.raw`string(date("2024-03-01"))`, "string 2024-03-01 00:00:00 +0000 UTC"],
    [String.raw`string(duration("90s"))`, "string 1m30s"],
    ["toJSON(date(ts))", String.raw`string "2024-03-01T10:20:30Z"`],
    [String.raw`toJSON(duration("1s"))`, "string 1000000000"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("zones with summer time", () => {
  test.each([
    [String.raw`date("2024-03-01 10:00", "2006-01-02 15:04", "Europe/Berlin")`, "time 2024-03-01 10:00:00 +0100 CET"],
    [String.raw`date("2024-07-01 10:00", "2006-01-02 15:04", "Europe/Berlin")`, "time 2024-07-01 10:00:00 +0200 CEST"],
    [String.raw`date("2024-03-31 02:30", "2006-01-02 15:04", "Europe/Berlin")`, "time 2024-03-31 03:30:00 +0200 CEST"],
    [String.raw`date("2024-10-27 02:30", "2006-01-02 15:04", "Europe/Berlin")`, "time 2024-10-27 02:30:00 +0100 CET"],
    [
      String.raw`date("2024-07-01 10:00", "2006-01-02 15:04", "America/New_York")`,
      "time 2024-07-01 10:00:00 -0400 EDT",
    ],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("more layouts", () => {
  test.each([
    [String.raw`date("99-1-2", "06-1-2")`, "time 1999-01-02 00:00:00 +0000 UTC"],
    [String.raw`date("9-1-2", "06-1-2")`, "fails: the text does not fit the layout"],
    [String.raw`date("12.5", "05.0")`, "time 0000-01-01 00:00:12.5 +0000 UTC"],
    [String.raw`date("12.567", "05.000")`, "time 0000-01-01 00:00:12.567 +0000 UTC"],
    [String.raw`date("12,567", "05,000")`, "time 0000-01-01 00:00:12.567 +0000 UTC"],
    [String.raw`date("2024-3-1", "2006-1-2")`, "time 2024-03-01 00:00:00 +0000 UTC"],
    [String.raw`date("2024-03-01T10:20:30-0700", "2006-01-02T15:04:05-0700")`, "time 2024-03-01 10:20:30 -0700 -0700"],
    [String.raw`date("2024-03-01T10:20:30+00:00", "2006-01-02T15:04:05-07:00")`, "time 2024-03-01 10:20:30 +0000 UTC"],
    [String.raw`date("2024-03-01T10:20:30Z", "2006-01-02T15:04:05Z0700")`, "time 2024-03-01 10:20:30 +0000 UTC"],
    [String.raw`date("1709288430", "1136239445")`, "fails: the text does not fit the layout"],
    [String.raw`date("12:61:00")`, "fails: date does not know the format of the text"],
    [String.raw`date("24:00:00")`, "fails: date does not know the format of the text"],
    [String.raw`date("Fri Mar  1 10:20:30 2024", "Mon Jan _2 15:04:05 2006")`, "time 2024-03-01 10:20:30 +0000 UTC"],
    [String.raw`date("fri mar  1 10:20:30 2024", "Mon Jan _2 15:04:05 2006")`, "time 2024-03-01 10:20:30 +0000 UTC"],
    [String.raw`date("11am", "3pm")`, "time 0000-01-01 11:00:00 +0000 UTC"],
    [String.raw`date("12am", "3pm")`, "time 0000-01-01 00:00:00 +0000 UTC"],
    [String.raw`date("12PM", "3PM")`, "time 0000-01-01 12:00:00 +0000 UTC"],
    [String.raw`date("13PM", "3PM")`, "fails: the text does not fit the layout"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
