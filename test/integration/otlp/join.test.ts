import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { createTable } from "../../support/pipelines.ts";
import { OtlpScene, otlpPipeline, tableOf } from "./scene.ts";
import { jsonType, post } from "./senders.ts";

let scene: OtlpScene;
let made = 0;
/** The pipeline of a test. */
let id: string;

beforeAll(async () => {
  scene = await OtlpScene.open();
});

beforeEach(() => {
  id = `telemetry-${++made}`;
});

afterAll(() => scene.close());

const text = (name: string) => ({ name, column_name: name.replaceAll(".", "_"), column_type: "String" });

/** Log records joined with the spans of their traces. */
function logsWithSpans(): PipelineConfig {
  return otlpPipeline(id, "logs", {
    mapping: [text("message"), text("span"), text("service")],
    sources: [
      { type: "otlp.logs", source_id: "records" },
      { type: "otlp.traces", source_id: "spans" },
    ],
    transforms: [{ type: "dedup", source_id: "spans", config: { key: "span_id", time_window: "1h" } }],
    join: {
      enabled: true,
      type: "temporal",
      left_source: { source_id: "records", key: "trace_id", time_window: "1h" },
      right_source: { source_id: "spans", key: "trace_id", time_window: "1h" },
      output_fields: [
        { source_id: "records", name: "body", output_name: "message" },
        { source_id: "spans", name: "name", output_name: "span" },
        { source_id: "spans", name: "resource_attributes.service.name", output_name: "service" },
      ],
    },
  });
}

async function push(signal: "logs" | "traces", body: object): Promise<void> {
  expect(
    await post(
      scene.listeners.http,
      signal,
      { "x-sluice-pipeline-id": id, ...jsonType },
      Buffer.from(JSON.stringify(body)),
    ),
  ).toMatchObject({
    status: 200,
  });
}

const records = (...of: { traceId?: string; message: string }[]): Promise<void> =>
  push("logs", {
    resourceLogs: [
      {
        scopeLogs: [{ logRecords: of.map(({ message, ...trace }) => ({ ...trace, body: { stringValue: message } })) }],
      },
    ],
  });

const spans = (
  service: string | undefined,
  ...of: { traceId: string; spanId: string; name: string }[]
): Promise<void> => {
  const attributes = service === undefined ? [] : [{ key: "service.name", value: { stringValue: service } }];
  return push("traces", { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: of }] }] });
};

const trace = (number: number): string => number.toString(16).padStart(32, "0");
const span = (number: number, name: string) => ({
  traceId: trace(number),
  spanId: number.toString(16).padStart(16, "0"),
  name,
});

async function rows(): Promise<string[]> {
  const found = await scene.running.rows<Record<string, string>>(`SELECT * FROM ${tableOf(id)}`);
  return found.map((row) => Object.values(row).join(" ")).toSorted();
}

async function holds(...expected: string[]): Promise<void> {
  await scene.running.until(id, ({ counters }) => counters.rows_written >= expected.length);
  expect(await rows()).toEqual(expected.toSorted());
}

describe("signals of one pipeline are joined", () => {
  test("by a field of both; a trace id that is missing is a dead letter of the join", async () => {
    await scene.running.engine.create(logsWithSpans(), createTable);
    await records({ traceId: trace(1), message: "paid" }, { traceId: trace(2), message: "sent" }, { message: "alone" });
    await spans("shop", span(1, "POST /pay"), span(1, "POST /pay"));
    await holds("paid POST /pay shop");
    await scene.running.until(id, ({ dead_letters }) => dead_letters.total_messages === 1);
    const [letter] = scene.running.engine.deadLetters(id).list(1).messages;
    expect(letter).toMatchObject({ component: "join", reason: "parse_error" });
    expect(letter!.error).toMatch(/join key trace_id of the left side is missing/);
    await spans(undefined, span(2, "GET /sent"));
    await scene.running.until(id, ({ dead_letters }) => dead_letters.total_messages === 2);
    await spans("mail", { ...span(2, "GET /sent"), spanId: "ab".repeat(8) });
    await scene.running.until(id, ({ counters }) => counters.rows_written === 2);
    expect(await rows()).toEqual(["paid POST /pay shop", "sent GET /sent mail"]);
  });
});

test("events of a webhook are joined with spans", async () => {
  const config = logsWithSpans();
  const fields = [
    { name: "trace", type: "string" },
    { name: "text", type: "string" },
  ];
  const { access_token } = await scene.running.engine.create(
    {
      ...config,
      sources: [{ type: "webhook", source_id: "records", schema_fields: fields }, config.sources[1]!],
      join: {
        ...config.join!,
        left_source: { source_id: "records", key: "trace", time_window: "1h" },
        output_fields: [
          { source_id: "records", name: "text", output_name: "message" },
          ...config.join!.output_fields.slice(1),
        ],
      },
    } as PipelineConfig,
    createTable,
  );
  const answer = await scene.running.post(id, access_token!, { trace: trace(7), text: "by hook" });
  expect(answer.status).toBe(202);
  await spans("shop", span(7, "POST /hook"));
  await holds("by hook POST /hook shop");
});
