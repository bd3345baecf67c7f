import { describe, expect, test } from "vitest";
import { load } from "../../../../reconciler/desired/load.ts";
import { changedIn, fileOf, kafkaPipeline } from "../../../support/pipeline-file.ts";
import { remarks, said } from "./remarks.ts";

const kafka = (...passages: string[]) => changedIn(kafkaPipeline, ...passages);
const scram = "mechanism: SCRAM-SHA-256";
const params = "sources[0].connection_params";
/** The connection with other lines instead of mechanism, user and password. */
const login = (...lines: string[]) =>
  kafka(
    `      ${scram}\n      username: sluice\n      password: \${env:KAFKA_PASSWORD}\n`,
    lines.map((line) => `      ${line}\n`).join(""),
  );
const gssapi = [
  "mechanism: GSSAPI",
  "kerberos_service_name: kafka",
  "kerberos_realm: EXAMPLE",
  "kerberos_keytab: ${file:/k}",
  "kerberos_config: conf",
];
const pem = "-----BEGIN CERTIFICATE-----";
const base64 = Buffer.from(`${pem}\nx`).toString("base64");

describe("a connection is whole", () => {
  remarks([
    {
      title: "PLAIN without a user",
      content: login("mechanism: PLAIN", "password: ${env:P}"),
      code: "CONNECTION",
      path: `${params}.username`,
      at: "connection_params:\n      brokers",
      found: "nothing",
    },
    {
      title: "SCRAM without a password",
      content: login("mechanism: SCRAM-SHA-512", "username: u"),
      code: "CONNECTION",
      path: `${params}.password`,
      at: "connection_params:\n      brokers",
      found: "nothing",
    },
    {
      title: "a blank user",
      content: kafka("username: sluice", 'username: " "'),
      code: "CONNECTION",
      path: `${params}.username`,
      at: '" "',
      found: "an empty text",
    },
    {
      title: "an empty password",
      content: kafka("password: ${env:KAFKA_PASSWORD}", "password: ''"),
      code: "CONNECTION",
      path: `${params}.password`,
      at: "''",
      found: "an empty text",
    },
    ...gssapi.slice(1).map((line) => ({
      title: `GSSAPI without ${line.split(":")[0]}`,
      content: login(...gssapi.filter((other) => other !== line)),
      code: "CONNECTION" as const,
      path: `${params}.${line.split(":")[0]}`,
      at: "connection_params:\n      brokers",
      found: "nothing",
    })),
    {
      title: "a certificate that is none",
      content: kafka(scram, `${scram}\n      root_ca: ca.pem`),
      code: "CONNECTION",
      path: `${params}.root_ca`,
      at: "ca.pem",
      found: "a text that is neither",
    },
    {
      title: "a key that is base64 of something else",
      content: kafka(scram, `${scram}\n      client_key: aGVsbG8=\n      client_cert: ${base64}`),
      code: "CONNECTION",
      path: `${params}.client_key`,
      at: "aGVsbG8=",
      found: "a text that is neither",
    },
    {
      title: "a keytab that is not base64",
      content: login(...gssapi.with(3, "kerberos_keytab: '?'")),
      code: "CONNECTION",
      path: `${params}.kerberos_keytab`,
      at: "'?'",
      found: "a text that is not base64",
    },
    {
      title: "no brokers",
      content: kafka('["kafka-1:9092"]', "[]"),
      code: "VALUE",
      path: `${params}.brokers`,
      at: "[]",
      found: "a list",
    },
    {
      title: "a blank broker",
      content: kafka('"kafka-1:9092"', "''"),
      code: "VALUE",
      path: `${params}.brokers[0]`,
      at: "''",
      found: "an empty text",
    },
    {
      title: "a protocol in lower case",
      content: kafka("SASL_SSL", "sasl_ssl"),
      code: "VALUE",
      path: `${params}.protocol`,
      at: "sasl_ssl",
      found: '"sasl_ssl"',
      suggestion: 'did you mean "SASL_SSL"?',
    },
    {
      title: "a mechanism of its own",
      content: kafka("SCRAM-SHA-256", "SCRAM"),
      code: "VALUE",
      path: `${params}.mechanism`,
      at: "SCRAM",
      found: '"SCRAM"',
    },
  ]);
});

describe("what does not go together", () => {
  remarks([
    {
      title: "a mechanism with a protocol without SASL",
      content: kafka("SASL_SSL", "SSL"),
      code: "SASL",
      path: `${params}.protocol`,
      at: "SSL",
      found: '"SSL"',
      suggestion: "write SASL_SSL",
    },
    {
      title: "a SASL protocol without a mechanism",
      content: login("mechanism: NO_AUTH"),
      code: "SASL",
      path: `${params}.protocol`,
      at: "SASL_SSL",
      found: '"SASL_SSL"',
    },
    {
      title: "a user without a mechanism",
      content: login("username: u"),
      code: "UNUSED",
      path: `${params}.username`,
      at: "u\n    topic",
      found: "a value that is not used",
    },
    {
      title: "Kerberos beside SCRAM",
      content: kafka(scram, `${scram}\n      kerberos_realm: EXAMPLE`),
      code: "UNUSED",
      path: `${params}.kerberos_realm`,
      at: "EXAMPLE",
      found: "a value that is not used",
    },
    {
      title: "a CA without TLS",
      content: kafka("SASL_SSL", "SASL_PLAINTEXT", scram, `${scram}\n      root_ca: ${base64}`),
      code: "UNUSED",
      path: `${params}.root_ca`,
      at: base64,
      found: "a value that is not used",
    },
    {
      title: "certificates that are not checked",
      content: kafka(scram, `${scram}\n      skip_tls_verification: true`),
      code: "TLS",
      path: `${params}.skip_tls_verification`,
      at: "true",
      found: "true: any server can pose as them",
    },
    {
      title: "a client certificate without its key",
      content: kafka(scram, `${scram}\n      client_cert: ${base64}`),
      code: "TLS",
      path: `${params}.client_cert`,
      at: base64,
      found: "none",
    },
    {
      title: "a broker without port",
      content: kafka('"kafka-1:9092"', "kafka-1"),
      code: "BROKER",
      path: `${params}.brokers[0]`,
      at: "kafka-1]",
      found: '"kafka-1"',
      suggestion: 'write "kafka-1:9092"',
    },
    ...(
      [
        ["http://kafka:9092", "kafka:9092"],
        ["SASL_SSL://kafka:9092/", "kafka:9092"],
        [" kafka:9092 ", "kafka:9092"],
        ["::1", "[::1]:9092"],
        ["::1:9094", "[::1]:9094"],
        ["2001:db8::5:8123", "[2001:db8::5]:8123"],
        ["[::1]", "[::1]:9092"],
        ["[127.0.0.1]:9092", undefined],
        ["kafka:0", undefined],
        ["kafka:70000", undefined],
        ["kafka 1:9092", undefined],
        ["kafka..example:9092", undefined],
        ["kafka-1:9092,kafka-2:9092", undefined],
        ["127.0.0.1:47002:.kafka.example.com", undefined],
        ["127.0.0.1:47002:$${.kafka.example.com", undefined],
        ["127.0.0.1:47002:${.kafka.example.com", undefined],
      ] as const
    ).map(([broker, meant]) => ({
      title: `the broker "${broker}"`,
      content: kafka('"kafka-1:9092"', `"${broker}"`),
      code: "BROKER" as const,
      path: `${params}.brokers[0]`,
      at: `"${broker}"`,
      found: `"${broker}"`,
      ...(meant !== undefined && { suggestion: `write "${meant}"` }),
    })),
    {
      title: "a topic that no reference excuses",
      content: kafka("topic: orders", 'topic: "a$${b"'),
      code: "VALUE",
      path: "sources[0].topic",
      at: '"a$${b"',
      found: '"a$${b"',
    },
    {
      title: "skip_auth",
      content: kafka(scram, `${scram}\n      skip_auth: true`),
      code: "NO_EFFECT",
      path: `${params}.skip_auth`,
      at: "true",
      found: "skip_auth, which is ignored: it has no effect here",
    },
  ]);
});

describe("what Sluice does not run is refused", () => {
  const second = `  - type: kafka
    source_id: more
    connection_params: *connection
    topic: more
    schema_fields: [{ name: id, type: int64 }, { name: double, type: int }]
transforms:
`;
  remarks([
    {
      title: "Kerberos",
      content: login(...gssapi),
      code: "NOT_SUPPORTED",
      path: `${params}.mechanism`,
      at: "GSSAPI",
      found:
        '"GSSAPI" (Kerberos), whose tickets and keytabs a library for Node keeps for a whole process, and not for each pipeline',
      suggestion: "give Sluice a listener of the brokers with SCRAM, or with TLS and a client certificate",
    },
  ]);

  test("several topics of one cluster, into one table, are none of it", () => {
    const content = kafka(
      "connection_params:\n",
      "connection_params: &connection\n",
      "transforms:\n",
      second,
      "sink:\n",
      "sink:\n",
    );
    expect(said(content)).toEqual([]);
  });

  test("Kerberos, with the mechanisms that work", () => {
    const [told] = said(login(...gssapi));
    expect(told?.message).toBe(
      `${params}.mechanism: expected NO_AUTH, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, which work here, got "GSSAPI" ` +
        "(Kerberos), whose tickets and keytabs a library for Node keeps for a whole process, and not for each pipeline",
    );
  });
});

const start = (text: string) => `${kafkaPipeline}x-sluice: { start: ${text} }\n`;

describe("where a group begins", () => {
  test.each(["earliest", "latest", "2026-01-31T00:00Z", "2028-02-29T23:59:59.123+14:00"])("may be %s", (text) => {
    expect(said(start(text))).toEqual([]);
  });

  remarks([
    ...["2026-02-31T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z"].map((text) => ({
      title: "a time that does not exist",
      content: start(text),
      code: "VALUE" as const,
      path: "x-sluice.start",
      at: text,
      found: `"${text}"`,
    })),
    {
      title: "a time without a zone",
      content: start("2026-01-31T00:00:00"),
      code: "VALUE",
      path: "x-sluice.start",
      at: "2026-01-31",
      found: '"2026-01-31T00:00:00"',
    },
  ]);
});

const rewind = (text: string) => `${kafkaPipeline}x-sluice: { rewind: ${text} }\n`;

describe("from where messages are read again", () => {
  test.each(["earliest", "2026-01-31T00:00Z", '"orders/0=1200,orders/1=900"', '"earliest #2"'])("may be %s", (text) => {
    expect(said(rewind(text))).toEqual([]);
  });

  remarks([
    {
      title: "a time that does not exist",
      content: rewind("2026-02-31T00:00:00Z"),
      code: "VALUE",
      path: "x-sluice.rewind",
      at: "2026-02-31",
      found: '"2026-02-31T00:00:00Z"',
    },
    ...["2h", "latest", '"shop.orders/0"', '"shop.orders/0=1,"'].map((text) => ({
      title: "no place",
      content: rewind(text),
      code: "VALUE" as const,
      path: "x-sluice.rewind",
      at: text,
      found: text.startsWith('"') ? text : `"${text}"`,
    })),
    {
      title: "a partition twice",
      content: rewind('"orders/0=14,orders/0=10"'),
      code: "VALUE",
      path: "x-sluice.rewind",
      at: '"orders/0=14',
      found: '"orders/0=14,orders/0=10"',
    },
    {
      title: "offsets of a topic that it does not read",
      content: rewind('"returns/0=1200"'),
      code: "VALUE",
      path: "x-sluice.rewind",
      at: '"returns',
      found: '"returns/0=1200"',
    },
  ]);
});

const takeOver = (text: string) => `${kafkaPipeline}x-sluice: { take_over: ${text} }\n`;

describe("a run that is taken over", () => {
  test("has eight hexadecimal digits", () => {
    expect(said(takeOver("7f3c0a1b"))).toEqual([]);
  });

  remarks(
    [
      { title: "a word", text: "other", code: "VALUE" as const, found: '"other"' },
      {
        title: "one that YAML reads as a number",
        text: "12345678",
        code: "TYPE" as const,
        found: "the number 12345678",
        suggestion: 'put it in quotes: "12345678"',
      },
      {
        title: "one that YAML reads as a number and rounds",
        text: "12e00099",
        code: "TYPE" as const,
        found: "the number 1.2e+100",
        suggestion: "put it in quotes",
      },
    ].map(({ text, ...one }) => ({ ...one, content: takeOver(text), path: "x-sluice.take_over", at: text })),
  );
});

describe("nothing is said about", () => {
  test.each([
    ["PLAIN", login("mechanism: PLAIN", "username: u", "password: ${env:P}")],
    ["a password of blanks", kafka("${env:KAFKA_PASSWORD}", '" ${env:P} "')],
    ["no login at all", changedIn(login(), "SASL_SSL", "PLAINTEXT")],
    ["SSL with the certificates of the system", changedIn(login(), "SASL_SSL", "SSL")],
    ["PEM", kafka(scram, `${scram}\n      root_ca: "${pem}"`)],
    ["base64 of PEM", kafka(scram, `${scram}\n      root_ca: ${base64}`)],
    ["an address of six", kafka("kafka-1:9092", "[::1]:9092")],
  ])("%s", (_, content) => {
    expect(said(content)).toEqual([]);
  });
});

describe("formats", () => {
  const topic = "    topic: orders\n";
  const format = (...lines: string[]) => kafka(topic, `${topic}${lines.map((line) => `    ${line}\n`).join("")}`);

  test("json may declare its fields within schema, as clients of the reference service write it", () => {
    const inSchema = kafkaPipeline.replace(/^ {4}schema_fields:\n((?: {6}.*\n)+)/m, (_, fields: string) => {
      return `    schema:\n      fields:\n${fields.replaceAll(/^/gm, "    ").trimEnd()}\n`;
    });
    expect(inSchema).not.toContain("schema_fields");
    const [found, usual] = [inSchema, kafkaPipeline].map((content) => load([fileOf(content)]));
    expect(found!.problems).toEqual([]);
    expect(found!.pipelines[0]?.config).toEqual(usual!.pipelines[0]?.config);
  });

  const record = JSON.stringify('{"type":"record","name":"a","fields":[]}');
  remarks([
    {
      title: "avro",
      content: format("format: avro", `schema: { file: ${record} }`),
      code: "NOT_SUPPORTED_YET",
      path: "sources[0].format",
      at: "avro",
      found: 'a format other than json ("avro"), which is not supported yet',
    },
    {
      title: "a schema registry",
      content: format("schema_registry: { url: 'http://r' }"),
      code: "NOT_SUPPORTED_YET",
      path: "sources[0].schema_registry",
      at: "{ url",
      found: "a schema registry, which is not supported yet",
    },
    {
      title: "avro without a schema",
      content: format("format: avro"),
      code: "REQUIRED",
      path: "sources[0].schema",
      at: "type: kafka",
      found: "nothing",
    },
    {
      title: "avro that is no JSON",
      content: format("format: avro", "schema: { file: record }"),
      code: "FORMAT",
      path: "sources[0].schema.file",
      at: "record }",
      found: "a text that is not JSON",
    },
    {
      title: "avro that is no record",
      content: format("format: avro", `schema: { file: '{"type":"enum"}' }`),
      code: "FORMAT",
      path: "sources[0].schema.file",
      at: `'{"type`,
      found: "another type at the top",
    },
    {
      title: "avro that is too long",
      content: format("format: avro", `schema: { file: "${"x".repeat(65_537)}" }`),
      code: "FORMAT",
      path: "sources[0].schema.file",
      at: '"xxx',
      found: "65537",
    },
    {
      title: "protobuf without its message",
      content: format("format: protobuf", "schema: { file: 'message A {}' }"),
      code: "FORMAT",
      path: "sources[0].schema.message_type",
      at: "schema:",
      found: "nothing",
    },
    {
      title: "protobuf with an import",
      content: format("format: protobuf", "schema: { message_type: A, file: 'import \"b.proto\";' }"),
      code: "FORMAT",
      path: "sources[0].schema.file",
      at: "import",
      found: "an import",
    },
    {
      title: "a registry without the id of the schema",
      content: format("format: avro", `schema: { file: ${record} }`, "schema_registry: { url: 'http://r' }"),
      code: "FORMAT",
      path: "sources[0].schema_version",
      at: "type: kafka",
      found: "nothing",
    },
    {
      title: "a password in the address of the registry",
      content: format("schema_registry: { url: 'http://a:hunter2@r' }"),
      code: "PLAIN_TEXT_SECRET",
      path: "sources[0].schema_registry.url",
      at: "'http",
      found: "plain text, which every reader of the repository sees",
    },
    {
      title: "a schema beside json",
      content: format("schema: { file: x }"),
      code: "UNUSED",
      path: "sources[0].schema.file",
      at: "x }",
      found: "a schema that is not used",
    },
    {
      title: "other fields beside schema_fields",
      content: format("schema: { fields: [{ name: other, type: string }] }"),
      code: "UNUSED",
      path: "sources[0].schema.fields",
      at: "[{ name: other",
      found: "fields that are not used",
    },
    {
      title: "a version that is no number",
      content: format("schema_version: latest"),
      code: "VALUE",
      path: "sources[0].schema_version",
      at: "latest",
      found: '"latest"',
    },
    {
      title: "an offset of its own",
      content: format("consumer_group_initial_offset: newest"),
      code: "VALUE",
      path: "sources[0].consumer_group_initial_offset",
      at: "newest",
      found: '"newest"',
    },
  ]);

  test("fields of the schema of an avro source are the fields of its events", () => {
    const fields = "fields: [{ name: id, type: long }]";
    const content = changedIn(
      format("format: avro", `schema: { file: ${record}, ${fields.replace("long", "int")} }`),
      `    schema_fields:
      - { name: id, type: int64 }
      - { name: amount, type: float64 }
      - { name: user, type: map }
`,
      "",
    );
    expect(said(content).map(({ code, path }) => [code, path])).toEqual([
      ["EXPRESSION", "transforms[0].config.expression"],
      ["EXPRESSION", "transforms[2].config.transforms[1].expression"],
    ]);
  });
});
