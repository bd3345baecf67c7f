import { anything, assert, oneof, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { clippedTo, foreignText, oneLine } from "../../../engine/peers/foreign-text.ts";
import { hiding } from "../../../engine/peers/hidden-secrets.ts";

const throwing = (): never => {
  throw new Error("read");
};

const circular: Record<string, unknown> & { toString?: unknown } = { list: [] };
circular["self"] = circular;
circular["list"] = [circular, circular["list"]];

const endless = new AggregateError([], "");
endless.errors = [endless, endless];

const traps: ProxyHandler<object> = { get: throwing, has: throwing, getPrototypeOf: throwing, ownKeys: throwing };

/** What no type says, and libraries give all the same. */
const foreign: [string, unknown][] = [
  ["an error", new TypeError("refused")],
  ["an error without a message", new RangeError("")],
  ["an error whose message is an error", Object.assign(new Error("outer"), { message: new Error("inner") })],
  ["an error whose message is nothing", Object.assign(new Error("outer"), { message: undefined })],
  ["an error whose message throws", Object.defineProperty(new Error("outer"), "message", { get: throwing })],
  ["errors of themselves", endless],
  ["a symbol", Symbol("kafka")],
  ["an object without a prototype", Object.create(null)],
  ["an object whose text throws", { toString: throwing }],
  ["an object whose text is an object", { toString: () => ({}), valueOf: () => ({}) }],
  ["a circular object", circular],
  ["a circular list", circular["list"]],
  ["a proxy that throws", new Proxy({}, traps)],
  ["a proxy of an error that throws", new Proxy(new Error("refused"), traps)],
  ["a proxy that is revoked", revoked()],
  ["a function", throwing],
  ["nothing", undefined],
  ["null", null],
  ["a large integer", 10n ** 40n],
  ["half of a pair", "\ud83d"],
  ["a text that replacing would make longer than a text can be", "\u0007".repeat((1 << 29) - 100)],
];

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const takers: [string, (value: unknown) => unknown][] = [
  ["foreignText", foreignText],
  ["oneLine", oneLine],
  ["clippedTo", (value) => clippedTo(value, 500)],
  ["hiding", hiding(["\u0007\u0007\u0007", "secret"], "[redacted]")],
];

describe.each(takers)("%s", (_name, take) => {
  test.each(foreign)("makes a text of %s", (_title, value) => {
    expect(typeof take(value) === "string").toBe(true);
    expect(typeof take(Object.assign(new Error("outer"), { message: value })) === "string").toBe(true);
  });

  test("makes a text of anything", () => {
    const any = anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    });
    const message = any.map((value) => Object.assign(new Error("outer"), { message: value }));
    assert(property(oneof(any, message), (value) => typeof take(value) === "string"));
  });
});

test.each<[unknown, string]>([
  [new Error("connect ECONNREFUSED"), "connect ECONNREFUSED"],
  [new RangeError(""), "RangeError"],
  [Object.assign(new Error(""), { message: new Error("inner") }), "Error: Error: inner"],
  [
    new AggregateError([new Error("connect ECONNREFUSED ::1:9092"), new Error("connect ECONNREFUSED 127.0.0.1:9092")]),
    "connect ECONNREFUSED ::1:9092; connect ECONNREFUSED 127.0.0.1:9092",
  ],
  [Object.create(null), "a value without a text"],
  [undefined, "undefined"],
  ["a".repeat((1 << 24) + 1), "a text of 16777217 characters"],
])("what is shown of a foreign value says what it is (%#)", (value, text) => {
  expect(foreignText(value)).toBe(text);
});

test("a secret in the message of an error is hidden", () => {
  expect(hiding(["pa55word"])(new Error("login with pa55word refused"))).toBe("login with *** refused");
});
