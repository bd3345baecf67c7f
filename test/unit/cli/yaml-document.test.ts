import { assert, jsonValue, pre, property } from "fast-check";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { printableLines } from "../../../reconciler/cli/invocation/terminal.ts";
import { yamlDocument } from "../../../reconciler/language/yaml-document.ts";
import { runsOf } from "../../support/cases.ts";

test("objects and lists are nested by indentation", () => {
  const value = {
    id: "orders",
    tags: ["a", "b c"],
    sink: { port: 8123, secure: false },
    none: null,
    empty: [],
    of: {},
  };
  expect(yamlDocument({ ...value, list: [[1], { a: 1, b: [{ c: 2 }] }], left: undefined })).toBe(`id: orders
tags:
  - a
  - b c
sink:
  port: 8123
  secure: false
none: null
empty: []
of: {}
list:
  - - 1
  - a: 1
    b:
      - c: 2
`);
});

test("texts that look like something else are quoted", () => {
  const texts = [
    "1",
    "yes",
    "No",
    "null",
    "~",
    "",
    " a",
    "a ",
    "- a",
    "a: b",
    "a #b",
    "2026-01-01",
    "0x1",
    "*a",
    "1e3",
  ];
  expect(yamlDocument(texts)).toBe(texts.map((text) => `- ${JSON.stringify(text)}\n`).join(""));
});

describe("what a terminal would obey is escaped", () => {
  test.each(["\u001b[2J", "a\u202Eb", "\u{E0041}", "\u2028", "a\nb"])("%j", (text) => {
    const document = yamlDocument({ [text]: text });
    expect(printableLines(document)).toBe(document);
    expect(parse(document)).toEqual({ [text]: text });
  });
});

test("each value of JSON comes back from two parsers", () => {
  const json = jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
  assert(
    property(json, (value) => {
      pre(!JSON.stringify(value).includes("__proto__"));
      const document = yamlDocument(value);
      expect(load(document)).toEqual(value);
      expect(parse(document)).toEqual(value);
    }),
    { numRuns: runsOf(500) },
  );
});
