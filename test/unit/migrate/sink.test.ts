import { describe, expect, test } from "vitest";
import { migrate } from "../../../reconciler/migrate/migrate.ts";
import { v2Field, v2Pipeline, v2Sink, type V2 } from "../../support/version-2.ts";

const flat = { host: "h", port: "9440", http_port: "8443", database: "d", username: "u", password: "", secure: true };

function sinkOf(sink: V2, over: V2 = {}): V2 {
  return migrate(v2Pipeline({ sink, ...over })).config["sink"] as V2;
}

function warningsOf(sink: V2): string[] {
  return migrate(v2Pipeline({ sink })).warnings.map(({ code, path }) => `${code} ${path}`);
}

test("type, table, batch and delay stay", () => {
  expect(sinkOf(v2Sink({ provider: "x", source_id: "y" }))).toMatchObject({
    type: "clickhouse",
    table: "orders",
    max_batch_size: 100,
    max_delay_time: "1s",
  });
  expect(sinkOf(v2Sink({ provider: "x", source_id: "y" }))).not.toHaveProperty("provider");
});

test.each<[string, V2, V2]>([
  ["no delay is 0s", { max_delay_time: null }, { max_delay_time: "0s" }],
  ["a delay of nothing stays", { max_delay_time: "0" }, { max_delay_time: "0" }],
  ["a batch of 0 stays", { max_batch_size: 0 }, { max_batch_size: 0 }],
])("%s", (_, over, expected) => {
  expect(sinkOf(v2Sink(over))).toMatchObject(expected);
});

test("no batch size stays none, so that v3 has its default", () => {
  expect(sinkOf(v2Sink({ max_batch_size: null }))).not.toHaveProperty("max_batch_size");
});

describe("the connection", () => {
  test.each<[string, V2, V2]>([
    [
      "is the flat one where there is no other",
      flat,
      { host: "h", port: "9440", http_port: "8443", database: "d", username: "u", secure: true },
    ],
    [
      "is the flat one where the nested one is empty",
      { ...flat, connection_params: { host: "", secure: false } },
      { host: "h", port: "9440", http_port: "8443", database: "d", username: "u", secure: true },
    ],
    [
      "is the nested one as soon as it says anything",
      { ...flat, connection_params: { host: "n", x: 1 } },
      { host: "n" },
    ],
    ["keeps what is false", { connection_params: { host: "n", secure: false } }, { host: "n", secure: false }],
  ])("%s", (_, connection, expected) => {
    expect(sinkOf({ type: "clickhouse", ...connection })["connection_params"]).toEqual(expected);
  });

  test("warns of what stands beside it and is not read", () => {
    expect(warningsOf({ ...flat, connection_params: { host: "n" } })).toContain("V2_DROPPED sink.connection_params");
    expect(warningsOf({ ...flat, host: "h", connection_params: null })).not.toContain(
      "V2_DROPPED sink.connection_params",
    );
  });
});

describe("a password", () => {
  test.each([
    ["in base64 is decoded", "c2VjcmV0", "secret"],
    ["in base64 with padding is decoded", "c2VjcmV0cw==", "secrets"],
    ["in base64 with line ends is decoded", "c2Vj\r\ncmV0\n", "secret"],
    ["in base64 of UTF-8 is decoded", "cMOkc3M=", "päss"],
    ["that only looks like base64 stays", "pass", "pass"],
    ["that is a word of 8 letters stays", "password", "password"],
    ["without padding stays", "c2VjcmV0cw", "c2VjcmV0cw"],
    ["in the alphabet of URLs stays", "c_-_", "c_-_"],
    ["whose base64 holds a control character stays", "AAEC", "AAEC"],
    ["that is a reference stays", "${env:PASSWORD}", "${env:PASSWORD}"],
    ["with other characters stays", "p@ss word", "p@ss word"],
  ])("%s", (_, password, expected) => {
    for (const sink of [v2Sink({ connection_params: { host: "h", password } }), { ...flat, password }]) {
      expect(sinkOf(sink)["connection_params"]).toMatchObject({ password: expected });
      expect(warningsOf(sink).filter((warning) => warning.startsWith("V2_PASSWORD"))).toHaveLength(1);
    }
  });

  test("is never in a warning", () => {
    const sink = v2Sink({ connection_params: { host: "h", password: "c2VjcmV0" } });
    expect(JSON.stringify(migrate(v2Pipeline({ sink })).warnings)).not.toMatch(/secret"|c2VjcmV0/);
  });

  test("that is not there has no warning", () => {
    expect(warningsOf({ ...flat, password: null }).filter((warning) => warning.startsWith("V2_PASSWORD"))).toEqual([]);
  });
});

describe("the mapping", () => {
  const mapping = [{ name: "id", column_name: "c", column_type: "String", x: 1 }];
  const table_mapping = [{ source_id: "orders", field_name: "id", column_name: "t", column_type: "String" }];

  test.each<[string, V2, unknown]>([
    ["is the sink's own", { mapping, table_mapping }, [{ name: "id", column_name: "c", column_type: "String" }]],
    ["else the older one", { mapping: [], table_mapping }, [{ name: "id", column_name: "t", column_type: "String" }]],
    ["else every field with a column", {}, [{ name: "amount", column_name: "amount", column_type: "Float64" }]],
  ])("%s", (_, over, expected) => {
    expect(sinkOf(v2Sink(over))["mapping"]).toEqual(expected);
  });

  test("holds fields of no topic too, such as those that the stateless transform makes", () => {
    const fields = [v2Field("orders", "id", "string"), v2Field("made", "total", "float", "Float64", "sum")];
    const { config } = migrate(v2Pipeline({ schema: { fields } }));
    expect(config["sink"]).toMatchObject({ mapping: [{ name: "total", column_name: "sum", column_type: "Float64" }] });
    expect(config["sources"]).toMatchObject([{ schema_fields: [{ name: "id", type: "string" }] }]);
  });

  test("is absent where nothing has a column, and a warning says what to add", () => {
    const { config, warnings } = migrate(v2Pipeline({ schema: { fields: [v2Field("orders", "id", "string")] } }));
    expect(config["sink"]).not.toHaveProperty("mapping");
    expect(warnings).toContainEqual(
      expect.objectContaining({ code: "MAPPING_EMPTY", path: "sink.mapping", severity: "error" }),
    );
  });
});
