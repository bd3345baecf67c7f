import { expect, test } from "vitest";
import type { DeadLetter } from "../../../engine/index.ts";
import { eventsOf, sampleOf } from "../../../reconciler/pipeline-tests/sample.ts";
import type { SourceConfig } from "../../../schemas/index.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

const webhook = webhookPipeline("orders").sources;

function letter(original_message: string, over: Partial<DeadLetter> = {}): DeadLetter {
  const shared = { component: "ingestor", reason: "parse_error", error: "wrong", position: 1 } as const;
  return { ...shared, message_id: "1", received_at: "2026-01-01T00:00:00.000Z", original_message, ...over };
}

test("an event is the one that the source received; what is no object, or has more digits, is a text", () => {
  const letters = [
    letter('{"made":1}', { source_message: '{"id":1}' }),
    letter("no json"),
    letter('{"id":9007199254740993}'),
    letter("AAE=", { encoding: "base64" }),
  ];
  expect(sampleOf(eventsOf(letters), webhook, [])).toEqual({
    events: [{ event: { id: 1 } }, { text: "no json" }, { text: '{"id":9007199254740993}' }],
    leftOut: 1,
    absent: [],
  });
});

test("hidden fields are found as pipelines find them, and get a value of their kind", () => {
  const event = {
    mail: "a@b.example",
    user: { name: "Ada", "first.name": "A", age: 36 },
    "user.name": "Ada",
    tags: ["x"],
    id: 7,
  };
  const letters = [letter(JSON.stringify(event)), letter("a@b.example")];
  const hidden = ["mail", "user.name", "user.first.name", "user.age", "tags", "none"];
  const user = { name: "redacted-2", "first.name": "redacted-3", age: 4 };
  expect(sampleOf(eventsOf(letters), webhook, hidden)).toEqual({
    events: [{ event: { mail: "redacted-1", user, "user.name": "redacted-2", tags: [], id: 7 } }],
    leftOut: 1,
    absent: ["none"],
  });
});

test("a hidden value has one pseudonym wherever it is, and another value another one", () => {
  const events = [
    { customer: 7000, mail: "a@b.example", paid: true, note: "" },
    { customer: "7000", mail: "c@d.example", paid: false, note: null },
    { customer: 8000, mail: "a@b.example", paid: true, note: "7000.5" },
  ];
  const letters = events.map((event) => letter(JSON.stringify(event)));
  const shown = sampleOf(eventsOf(letters), webhook, ["customer", "mail", "paid", "note"]);
  expect(shown.events).toEqual([
    { event: { customer: 1, mail: "redacted-2", paid: false, note: "" } },
    { event: { customer: "1", mail: "redacted-3", paid: true, note: null } },
    { event: { customer: 4, mail: "redacted-2", paid: false, note: "5" } },
  ]);
});

test("a hidden field is found in lists too, and one that no event has is told", () => {
  const letters = [letter('{"user":[{"name":"ada"},{"name":"bob"},7]}')];
  expect(sampleOf(eventsOf(letters), webhook, ["user.name", "user.mail"])).toEqual({
    events: [{ event: { user: [{ name: "redacted-1" }, { name: "redacted-2" }, 7] } }],
    leftOut: 0,
    absent: ["user.mail"],
  });
});

test("an event of one of several topics names its source", () => {
  const topics = ["orders", "returns"].map((topic) => ({
    type: "kafka",
    source_id: `of-${topic}`,
    topic,
  })) as SourceConfig[];
  expect(sampleOf(eventsOf([letter("{}", { origin: "returns" })]), topics, []).events).toEqual([
    { source: "of-returns", event: {} },
  ]);
});

function attribute(key: string, stringValue: string): object {
  return { key, value: { stringValue } };
}

test("a row of OTLP is the export request that makes it, without the attributes that are hidden", () => {
  const sources = ["logs", "traces"].map((signal) => ({ type: `otlp.${signal}`, source_id: signal })) as SourceConfig[];
  const row = { body: "paid", attributes: { "user.mail": "a@b.example", shop: "x" } };
  const taken = [
    { text: JSON.stringify(row), origin: "logs" },
    { text: JSON.stringify({ name: "checkout" }), origin: "traces" },
    { text: "no row", origin: "traces" },
  ];
  const attributes = [attribute("user.mail", "redacted-1"), attribute("shop", "x")];
  const record = { body: { stringValue: "paid" }, attributes };
  expect(sampleOf(taken, sources, ["attributes.user.mail"])).toEqual({
    events: [
      { source: "logs", event: { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] } },
      { source: "traces", event: { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "checkout" }] }] }] } },
    ],
    leftOut: 1,
    absent: [],
  });
});
