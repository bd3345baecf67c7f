/** @module-tag rest */
import { expect, test } from "vitest";
import type { Answer } from "./otlp-transports.ts";
import { type FoundRequest, RequestLedger } from "./request-ledger.ts";

const whole: FoundRequest = { rows: 3, ids: 3, last: 2 };

test.each<[string, Answer[], FoundRequest | undefined, string | undefined]>([
  ["an acknowledged request that is there once is right", ["acknowledged"], whole, undefined],
  ["one that was refused first, too", ["refused", "acknowledged"], whole, undefined],
  ["an acknowledged request that is nowhere is lost", ["acknowledged"], undefined, "is lost"],
  ["one that lacks a record is wrong", ["acknowledged"], { rows: 2, ids: 2, last: 2 }, "is there as"],
  ["one with a record twice is wrong", ["acknowledged"], { rows: 4, ids: 3, last: 2 }, "is there as"],
  ["one with a record in the place of another is wrong", ["acknowledged"], { rows: 3, ids: 3, last: 3 }, "is there as"],
  ["an unclear request may be there", ["unclear"], whole, undefined],
  ["an unclear request may be missing", ["unclear"], undefined, undefined],
  ["an unclear request in part is wrong", ["unclear"], { rows: 1, ids: 1, last: 0 }, "is there as"],
  ["an unclear request twice is wrong", ["unclear"], { rows: 6, ids: 3, last: 2 }, "is there as"],
  ["an unclear request that was acknowledged later must be there", ["unclear", "acknowledged"], undefined, "is lost"],
  ["a refused request is not there", ["refused"], whole, "is there"],
  ["an answer that no good request may get is told", [{ wrong: "HTTP 400" }], undefined, "HTTP 400"],
])("%s", (_title, answers, found, problem) => {
  const ledger = new RequestLedger();
  const request = ledger.open(3);
  for (const answer of answers) ledger.note(request, answer);
  const { broken } = ledger.audit(new Map(found === undefined ? [] : [[request, found]]));
  expect(broken).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)]);
});

test("what was never sent must not be there", () => {
  const { broken, rows } = new RequestLedger().audit(new Map([[1, whole]]));
  expect(broken).toEqual([expect.stringContaining("never sent")]);
  expect(rows).toBe(3);
});
