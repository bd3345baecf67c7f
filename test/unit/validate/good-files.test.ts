import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { validate } from "../../../reconciler/desired/load.ts";
import { changed, fileOf, goodPipeline, kafkaPipeline, otlpPipeline } from "../../support/pipeline-file.ts";

/** A topic, as a client exports it. */
const side = (id: string): string[] => [
  "- connection_params:",
  "    brokers: [kafka:9092]",
  "    protocol: PLAINTEXT",
  "    skip_tls_verification: false",
  "  consumer_group_initial_offset: latest",
  "  schema:",
  "    fields: [{ name: id, type: string }, { name: total, type: int64 }]",
  `  source_id: ${id}`,
  `  topic: ${id}`,
  "  type: kafka",
];

describe("nothing is said about", () => {
  test.each([
    ["the good pipeline", goodPipeline],
    ["a Kafka pipeline", kafkaPipeline],
    ["an OTLP pipeline", otlpPipeline],
    [
      "a Kafka pipeline that says where it begins",
      `${kafkaPipeline}x-sluice: { start: latest, take_over: "7f3c0a1b" }\n`,
    ],
    ["recreate", `${goodPipeline}x-sluice: { recreate: true }\n`],
    ["a UTF-8 byte order mark at the start", `\ufeff${goodPipeline}`],
    [
      "a dedup, with its storage",
      `${changed("sink:\n", "  - { type: dedup, source_id: orders, config: { key: id, time_window: 7d } }\nsink:\n")}resources:\n  transform: [{ source_id: orders, storage: { size: 20Gi } }]\n`,
    ],
    ...["insert", "skip", "pause"].map((way) => [
      `on_uncertain: ${way}`,
      `${goodPipeline}x-sluice: { on_uncertain: ${way} }\n`,
    ]),
    ...["on_lost", "on_view_error"].flatMap((key) =>
      ["pause", "skip"].map((way) => [`${key}: ${way}`, `${goodPipeline}x-sluice: { ${key}: ${way} }\n`]),
    ),
    ["Windows line ends", goodPipeline.replaceAll("\n", "\r\n")],
    [
      "several documents",
      `---\n${goodPipeline}---\n${goodPipeline.replaceAll(/orders-eu|(?<=table: )orders/g, "orders-us")}---\n`,
    ],
    [
      "an anchor that is used twice",
      changed("    - { name: id, column_name", "    - { name: &id id, column_name").replace(
        "column_name: id,",
        "column_name: *id,",
      ),
    ],
    [
      "source types in upper case and blanks around ids",
      changed("type: webhook", "type: ' Webhook '").replace("pipeline_id: orders-eu", "pipeline_id: ' orders-eu '"),
    ],
  ])("%s", (_, content) => {
    expect(validate([fileOf(content)])).toEqual([]);
  });

  test("what a client of the format exports has no error: keys by their alphabet, and the source of a sink", () => {
    const exported = [
      "join:",
      "  enabled: true",
      "  left_source: { key: id, source_id: orders, time_window: 1h }",
      "  output_fields: [{ name: id, source_id: orders }, { name: total, output_name: total, source_id: payments }]",
      "  right_source: { key: id, source_id: payments, time_window: 1h }",
      "  type: temporal",
      "metadata: { tags: [] }",
      "name: Orders Paid",
      "pipeline_id: orders-paid",
      "sink:",
      "  connection_params:",
      "    database: shop",
      "    host: clickhouse",
      "    http_port: '8443'",
      "    password: ''",
      "    port: '9440'",
      "    secure: true",
      "    skip_certificate_verification: false",
      "    username: writer",
      "  mapping: [{ column_name: id, column_type: String, name: id }, { column_name: total, column_type: Int64, name: total }]",
      "  max_batch_size: 1000",
      "  max_delay_time: 1s",
      "  source_id: orders",
      "  table: orders_paid",
      "  type: clickhouse",
      "sources:",
      ...side("orders"),
      ...side("payments"),
      "version: v3",
    ];
    const found = validate([fileOf(exported.join("\n"))]);
    expect(found.map(({ severity, code, path }) => [severity, code, path])).toEqual([
      ["warning", "NO_PASSWORD", "sink.connection_params.password"],
      ["info", "NO_EFFECT", "sink.source_id"],
    ]);
  });

  test("the pipelines of the examples", () => {
    // Those of config-repo have variables: its own test has their values.
    const examples = readdirSync("examples", { recursive: true, encoding: "utf8" }).filter(
      (path) => /pipelines\/.*\.ya?ml$/.test(path) && !path.startsWith("config-repo/"),
    );
    const files = examples.map((path) => ({ path, bytes: readFileSync(`examples/${path}`) }));
    expect(examples).toContain("kafka/pipelines/shop-orders.yaml");
    expect(examples).toContain("join/pipelines/orders-with-customers.yaml");
    expect(examples).toContain("kafka-topics/pipelines/shop-turnover.yaml");
    expect(examples).toContain("otlp/pipelines/app-logs.yaml");
    expect(validate(files)).toEqual([]);
  });

  test("JSON, with the same keys", () => {
    const json = JSON.stringify({
      version: "v3",
      pipeline_id: "orders-eu",
      sources: [{ type: "webhook", source_id: "o", schema_fields: [{ name: "id\ud83d\ude00", type: "int" }] }],
      sink: {
        type: "clickhouse",
        connection_params: { host: "embedded" },
        table: "t",
        mapping: [{ name: "id\ud83d\ude00", column_name: "id", column_type: "Int64" }],
      },
    });
    expect(validate([fileOf(json, "a.json")])).toEqual([]);
  });
});
