import * as fc from "fast-check";
import { load as loadYaml, dump } from "js-yaml";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { parse } from "../../../reconciler/language/parse.ts";
import { tidy } from "../../../schemas/index.ts";
import { runsOf } from "../../support/cases.ts";
import { fileOf } from "../../support/pipeline-file.ts";

const yaml = (text: string) => parse(fileOf(text)).documents[0];

test.each([
  ["text", "a: b", { a: "b" }],
  ["numbers", "a: 1\nb: 0x1F\nc: 1.5\nd: .inf\ne: 1e3", { a: 1, b: 31, c: 1.5, d: Infinity, e: 1000 }],
  [
    "words of YAML 1.1, which are texts",
    "a: yes\nb: on\nc: 12:30\nd: 2026-01-31",
    { a: "yes", b: "on", c: "12:30", d: "2026-01-31" },
  ],
  ["true, false and null", "a: true\nb: False\nc: ~\nd:", { a: true, b: false, c: null, d: null }],
  ["quoted texts", `a: "1"\nb: 'true'\nc: "\\u00e9"`, { a: "1", b: "true", c: "é" }],
  ["blocks", "a: |\n  x\n  y\nb: >\n  x\n  y\n", { a: "x\ny\n", b: "x y\n" }],
  ["tags of the standard", "a: !!str 1\nb: !!int '2'\nc: !!map {d: !!seq [1]}", { a: "1", b: 2, c: { d: [1] } }],
  ["aliases", "a: &x [1]\nb: *x", { a: [1], b: [1] }],
  [
    "a mapping that is merged, whose keys are those that are not there",
    "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}",
    { a: { b: 1, c: 2 }, d: { b: 1, c: 3 } },
  ],
  [
    "several, of which the first counts, also where it comes last",
    "a: {c: 4, <<: [{b: 1}, {b: 2, d: 3}]}",
    { a: { c: 4, b: 1, d: 3 } },
  ],
  [
    "one that merges another",
    "a: &x {b: 1}\nc: &y {<<: *x, d: 2}\ne: {<<: *y}",
    { a: { b: 1 }, c: { d: 2, b: 1 }, e: { d: 2, b: 1 } },
  ],
  ["a text of <<, which merges nothing", 'a: {"<<": {b: 1}}\nb: <<', { a: { "<<": { b: 1 } }, b: "<<" }],
  ["keys that are no texts", "1: a\ntrue: b\n~: c", { 1: "a", true: "b", null: "c" }],
])("%s", (_, text, value) => {
  expect(yaml(text)?.value).toEqual(value);
});

test("a key called __proto__ is a key", () => {
  const value = yaml("__proto__: { polluted: 1 }")?.value as object;
  expect(Object.keys(value)).toEqual(["__proto__"]);
  expect("polluted" in value).toBe(false);
});

test("values and keys have places, in lists and behind aliases too", () => {
  const document = yaml("# top\na: &x\n  - b: 1\n  - { c: 'q' }\nd: *x\ne:\n");
  const at = (path: (string | number)[]) => Object.values(document?.place(path) ?? {}).join(":");
  expect(at([])).toBe("orders.yaml:2:1");
  expect(at(["a", 0, "b"])).toBe("orders.yaml:3:8");
  expect(at(["a", 1, "c"])).toBe("orders.yaml:4:10");
  expect(at(["d", 1, "c"])).toBe("orders.yaml:4:10");
  expect(at(["e"])).toBe("orders.yaml:6:1");
  expect(at(["a", 7, "c"])).toBe("orders.yaml:2:1");
  expect(Object.values(yaml("a:\n  - &x\n  -")?.place(["a", 1]) ?? {}).join(":")).toBe("orders.yaml:1:1");
  expect(document?.keyPlace(["a", 1, "c"])).toMatchObject({ line: 4, column: 7 });
});

test("a value that is merged is where it is written", () => {
  const document = yaml("a: &x\n  b: 1\nc:\n  <<: *x\n");
  expect(document?.place(["c", "b"])).toMatchObject({ line: 2, column: 6 });
  expect(document?.keyPlace(["c", "b"])).toMatchObject({ line: 2, column: 3 });
});

test("merged mappings count as many values as they have", () => {
  const many = Array.from({ length: 2000 }, (_, n) => `k${n}: 0`).join(", ");
  const merges = Array.from({ length: 100 }, (_, n) => `m${n}: { <<: *x }`).join("\n");
  expect(parse(fileOf(`a: &x { ${many} }\n${merges}`)).problem).toMatchObject({ code: "TOO_MANY_VALUES" });
});

test("places count characters of a line whatever its end, and after a byte order mark", () => {
  expect(yaml("\ufeffa: 1\r\nb: é\rc: 2\n")?.place(["c"])).toMatchObject({ line: 3, column: 4 });
  expect(yaml("\ufeffa: 1")?.place(["a"])).toMatchObject({ line: 1, column: 4 });
});

test("a file of a megabyte with one long text is read", () => {
  const text = "x".repeat(1024 * 1024 - 100);
  expect(parse(fileOf(`{"a":"${text}"}`, "a.json")).documents[0]?.value).toEqual({ a: text });
  expect(yaml(`a: ${text}`)?.value).toEqual({ a: text });
});

/** Bytes cannot hold half of a surrogate pair. */
const wellFormed = (text: string) => Buffer.from(text).toString();

/** A document leaves out a null under the format's own optional keys, such as `name`, and one of them may be drawn. */
const isKept = (value: unknown): boolean => isDeepStrictEqual(tidy(value), value);

const json = fc
  .jsonValue({ maxDepth: 4 })
  .filter(isKept)
  .map((value) => JSON.stringify(value));

test("JSON is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(json, (text) => {
      const [document] = parse(fileOf(text, "a.json")).documents;
      expect(document?.value).toEqual(JSON.parse(text));
    }),
  );
});

test("what JSON.parse refuses is refused, and nothing else", () => {
  const broken = fc
    .tuple(json, fc.nat(), fc.constantFrom(",", "]", "}", "", "'", "\\", "1", ":"))
    .map(([text, at, by]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + by + text.slice(place + 1);
    });
  fc.assert(
    fc.property(broken.map(wellFormed), (text) => {
      const { documents, problem } = parse(fileOf(text, "a.json"));
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        expect(problem?.code).toMatch(/^(JSON_SYNTAX|EMPTY_FILE)$/);
        return;
      }
      expect(documents[0]?.value).toEqual(value);
    }),
    { numRuns: runsOf(1000) },
  );
});

test("YAML is read as js-yaml reads it", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })).filter(isKept), (value) => {
      const text = dump(value);
      expect(yaml(text)?.value).toEqual(loadYaml(text));
    }),
  );
});

test("no bytes make it throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom("a.yaml", "a.json"), (bytes, path) => {
      const { documents, problem } = parse({ path, bytes });
      expect(documents.length > 0).toBe(problem === undefined);
    }),
    { numRuns: runsOf(1000) },
  );
});
