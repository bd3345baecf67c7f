import { describe, expect, test } from "vitest";
import { changed, changedIn, goodPipeline, kafkaPipeline } from "../../../support/pipeline-file.ts";
import { remarks, said } from "./remarks.ts";

const kafka = (...passages: string[]) => changedIn(kafkaPipeline, ...passages);
const embedded = (...lines: string[]) => changed("host: embedded", ["host: embedded", ...lines].join("\n    "));
const params = "sink.connection_params";
const needless: readonly (readonly [string, string])[] = [
  ["port", '"9000"'],
  ["http_port", '"8123"'],
  ["username", "writer"],
  ["password", "${env:P}"],
  ["secure", "true"],
  ["skip_certificate_verification", "true"],
];

/** A pipeline with a field that may be null, and a table that is to be created. */
const optional = (field: string, column: string, sluice = "create_table: true"): string =>
  `${changed("name: id, type: int64", `name: id, type: ${field}, required: false`).replace("column_type: Int64", `column_type: "${column}"`)}x-sluice: { ${sluice} }\n`;

describe("where the sink writes", () => {
  remarks([
    ...[
      ["http://clickhouse:8123", 'write "clickhouse", and its port under port or http_port'],
      ["clickhouse:8123", 'write "clickhouse", and its port under port or http_port'],
      ["clickhouse/db", 'write "clickhouse", and its port under port or http_port'],
      ["click house", undefined],
      ["127.1", undefined],
      ["Embedded", "write embedded, in small letters"],
      ["$${.clickhouse.example.com", undefined],
    ].map(([host = "", suggestion]) => ({
      title: `the host ${host}`,
      content: kafka("host: clickhouse", `host: "${host}"`),
      code: "HOST" as const,
      path: `${params}.host`,
      at: `"${host}"`,
      found: `"${host}"`,
      ...(suggestion !== undefined && { suggestion }),
    })),
    ...["system", "System", "INFORMATION_SCHEMA"].map((database) => ({
      title: `the database ${database}, which is ClickHouse's own`,
      content: kafka("database: shop", `database: ${database}`),
      code: "SYSTEM_DATABASE" as const,
      path: `${params}.database`,
      at: database,
      found: `"${database}", which is ClickHouse's own`,
    })),
    {
      title: "a host with a password, which is not repeated",
      content: kafka("host: clickhouse", 'host: "https://writer:hunter2@clickhouse"'),
      code: "HOST",
      path: `${params}.host`,
      at: '"https',
      found: "a text with an @",
      suggestion: 'write "clickhouse", and its port under port or http_port',
    },
    {
      title: "the port of the native protocol alone",
      content: kafka('    http_port: "8123"\n', ""),
      code: "PORT_GUESSED",
      path: `${params}.port`,
      at: '"9000"',
      found: "only port 9000, the native one: 8123 is used",
      suggestion: 'add http_port: "8123"',
    },
    {
      title: "the native port with TLS alone",
      content: kafka('    port: "9000"\n    http_port: "8123"\n', '    port: "9440"\n    secure: true\n'),
      code: "PORT_GUESSED",
      path: `${params}.port`,
      at: '"9440"',
      found: "only port 9440, the native one: 8443 is used",
      suggestion: 'add http_port: "8443"',
    },
    {
      title: "the native port as the one of HTTP",
      content: kafka('http_port: "8123"', 'http_port: "9000"'),
      code: "PORT_GUESSED",
      path: `${params}.http_port`,
      at: '"9000"',
      found: '"9000", by default the port of the native protocol',
      suggestion: 'write "8123"',
    },
    {
      title: "a port of 0",
      content: kafka('http_port: "8123"', 'http_port: "0"'),
      code: "PORT",
      path: `${params}.http_port`,
      at: '"0"',
      found: '"0"',
    },
    {
      title: "a port without quotes",
      content: kafka('http_port: "8123"', "http_port: 8123"),
      code: "TYPE",
      path: `${params}.http_port`,
      at: "8123",
      found: "the number 8123",
      suggestion: 'put it in quotes: "8123"',
    },
    {
      title: "a port with TLS without secure",
      content: kafka('http_port: "8123"', 'http_port: "8443"'),
      code: "TLS",
      path: `${params}.http_port`,
      at: '"8443"',
      found: '"8443", by default a port with TLS',
    },
    {
      title: "secure with a port without TLS",
      content: kafka('http_port: "8123"', 'http_port: "8123"\n    secure: true'),
      code: "TLS",
      path: `${params}.http_port`,
      at: '"8123"',
      found: '"8123", by default a port without TLS',
    },
    {
      title: "a certificate that is not checked",
      content: kafka(
        'port: "9000"\n    http_port: "8123"',
        'port: "9440"\n    http_port: "8443"\n    secure: true\n    skip_certificate_verification: true',
      ),
      code: "TLS",
      path: `${params}.skip_certificate_verification`,
      at: "true\n    database",
      found: "true: any server can pose as it",
    },
    {
      title: "a certificate that is not checked without TLS",
      content: kafka('http_port: "8123"', 'http_port: "8123"\n    skip_certificate_verification: true'),
      code: "UNUSED",
      path: `${params}.skip_certificate_verification`,
      at: "true",
      found: "true, which does nothing without TLS",
    },
    ...["port", "database", "username", "password"].map((key) => ({
      title: `a server without ${key}`,
      content: kafkaPipeline.replace(new RegExp(`^    ${key}: .*\n`, "m"), ""),
      code: "REQUIRED" as const,
      path: `${params}.${key}`,
      at: "connection_params:\n    host",
      found: "nothing",
    })),
    {
      title: "an empty password",
      content: kafka("${env:CLICKHOUSE_PASSWORD}", "''"),
      code: "NO_PASSWORD",
      path: `${params}.password`,
      at: "''",
      found: "an empty text: whoever reaches the server can write as this user",
    },
    {
      title: "a table with its database",
      content: kafka("table: orders", "table: shop.orders"),
      code: "TABLE_NAME",
      path: "sink.table",
      at: "shop.orders",
      found: '"shop.orders"',
      suggestion: "write table: orders and connection_params.database: shop, if that is meant",
    },
    ...needless.map(([key, value]) => ({
      title: `${key} beside the embedded ClickHouse`,
      content: embedded(`${key}: ${value}`),
      code: "NO_EFFECT" as const,
      path: `${params}.${key}`,
      at: `${value}\n  table`,
      found: "a setting for a server, beside host: embedded: it has no effect here",
    })),
    {
      title: "a column that cannot be created",
      content: `${changed("column_type: Int64", "column_type: FixedString").replace("name: id, type: int64", "name: id, type: string")}x-sluice: { create_table: true }\n`,
      code: "CREATE_TABLE",
      path: "sink.mapping[0].column_type",
      at: "FixedString",
      found: '"FixedString"',
      suggestion: "write its length, such as FixedString(16)",
    },
    ...(
      [
        ["string", "UUID", "Nullable(UUID)"],
        ["string", "JSON", "Nullable(JSON)"],
        ["string", "Time", "Nullable(Time)"],
        ["string", "LowCardinality(Date)", "LowCardinality(Nullable(Date))"],
        ["int64", "Enum8('a' = 1)", "Nullable(Enum8('a' = 1))"],
        ["map", "Tuple(a Enum8('a' = 1))", "Nullable(Tuple(a Enum8('a' = 1)))"],
      ] as const
    ).map(([field, column, nullable]) => ({
      title: `an optional field of type ${field} for a created ${column}`,
      content: optional(field, column),
      code: "NULL_REFUSED" as const,
      path: "sink.mapping[0].column_type",
      at: `"${column}"`,
      found: `"${column}"`,
      suggestion: `write ${nullable}, or x-sluice.null: reject if dead letters are meant`,
    })),
    {
      title: "an enum that cannot be created",
      content: `${changed("column_type: Int64", "column_type: Nullable(Enum8)").replace("name: id, type: int64", "name: id, type: string")}x-sluice: { create_table: true }\n`,
      code: "CREATE_TABLE",
      path: "sink.mapping[0].column_type",
      at: "Nullable(Enum8)",
      found: '"Nullable(Enum8)"',
    },
  ]);
});

describe("nothing is said about", () => {
  test.each([
    ["an address of six", kafka("host: clickhouse", 'host: "fd00::1"')],
    ["an address of six in brackets", kafka("host: clickhouse", 'host: "[fd00::1]"')],
    ["another native port beside an HTTP port", kafka('port: "9000"', 'port: "19000"')],
    ["a port of its own", kafka('port: "9000"\n    http_port: "8123"', 'port: "18123"')],
    ["a reference", kafka("${env:CLICKHOUSE_PASSWORD}", "${file:/run/secrets/clickhouse}")],
    ["TLS", kafka('"9000"\n    http_port: "8123"', '"9440"\n    http_port: "8443"\n    secure: true')],
    ["defaults beside the embedded ClickHouse", embedded("database: default", "secure: false")],
    ["an optional field for a Nullable column", optional("string", "Nullable(UUID)")],
    ["an optional number for a time", optional("int64", "DateTime")],
    ["an optional name for an Enum with an empty one", optional("string", "Enum8('' = 0)")],
    [
      "an optional field whose null is a dead letter as asked",
      optional("string", "UUID", "create_table: true, null: reject"),
    ],
    ["an optional field for a table that is there", optional("string", "UUID", "create_table: false")],
    [
      "a fixed text in a table that is there",
      changedIn(goodPipeline, "type: int64", "type: string", "type: Int64", "type: FixedString"),
    ],
  ])("%s", (_, content) => {
    expect(said(content)).toEqual([]);
  });
});
