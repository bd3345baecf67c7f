import { expect, test } from "vitest";
import { parseExactly, requestOfRow, writeExactly } from "../../../engine/language.ts";
import type { Signal } from "../../../engine/core/push.ts";
import { randomMessage, wireOfMessage } from "../../fuzz/otlp-json.ts";
import { signals } from "../../fuzz/otlp-bodies.ts";
import { Random } from "../../support/random.ts";
import { rowOf, rowTexts } from "./requests.ts";

type Row = Record<string, unknown>;

function again(signal: Signal, row: Row): Row[] {
  const request = Buffer.from(writeExactly(requestOfRow(signal, row)));
  return rowTexts(signal, request, "json").map((text) => parseExactly(text) as Row);
}

test.each(signals)("%s: the receiver makes the same row of the request", (signal) => {
  let rows = 0;
  for (let seed = 1; rows < 60; seed += 1) {
    for (const text of rowTexts(signal, wireOfMessage(signal, randomMessage(signal, new Random(seed))))) {
      const row = parseExactly(text) as Row;
      expect(again(signal, row), `seed ${seed}`).toEqual([row]);
      rows += 1;
    }
  }
});

test("a request says what a row says, and no more", () => {
  const body = { stringValue: "paid" };
  const attributes = [{ key: "user", value: { stringValue: "Ada" } }];
  const times = { timeUnixNano: "1705315800500000000", observedTimeUnixNano: "1705315800600000000" };
  const item = { ...times, severityNumber: 9, body, attributes };
  expect(requestOfRow("logs", rowOf("logs", item, undefined, { name: "shop" }))).toEqual({
    resourceLogs: [
      {
        scopeLogs: [
          {
            scope: { name: "shop" },
            logRecords: [{ ...times, severityNumber: "9", body, attributes }],
          },
        ],
      },
    ],
  });
});

test("values that a redaction has put in place are left out where a field cannot hold them", () => {
  const row = { timestamp: "redacted", trace_id: "redacted", body: "redacted", severity_number: 0 };
  const redacted = requestOfRow("logs", row);
  expect(redacted).toEqual({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "redacted" } }] }] }],
  });
});
