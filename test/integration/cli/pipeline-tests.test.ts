import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { load } from "js-yaml";
import { validateXML } from "xmllint-wasm";
import { isEveryCase } from "../../support/cases.ts";
import { type Printed, runCommand } from "../../support/command.ts";
import { freeListeners, sluice, Workplace } from "../../support/daemon.ts";
import { GitRepository } from "../../support/git-repository.ts";

let folder: string;

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "sluice-tests-"))));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the command in the folder, where temporary files are kept in a folder of their own. */
function run(...args: string[]): Promise<Printed> {
  return runIn(folder, ...args);
}

/** In this process, which is in `cwd` meanwhile: a process for each run would load the engine again and again. */
async function runIn(cwd: string, ...args: string[]): Promise<Printed> {
  const before = process.cwd();
  vi.stubEnv("TMPDIR", join(folder, ".tmp"));
  await mkdir(join(folder, ".tmp"), { recursive: true });
  process.chdir(cwd);
  try {
    const { code, out, err } = await runCommand(args, { signal: new AbortController().signal });
    return { code, out: printed(out), err: printed(err) };
  } finally {
    process.chdir(before);
    vi.unstubAllEnvs();
  }
}

/** With the end of its last line, as a terminal has it. */
function printed(text: string): string {
  return text === "" ? "" : `${text}\n`;
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(join(folder, path, ".."), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** A pipeline that connects to servers that are not there, with secrets that nobody has. */
const kafka = `version: v3
pipeline_id: sales
sources:
${["orders", "returns"]
  .map(
    (topic) => `  - type: kafka
    source_id: ${topic}
    topic: ${topic}
    connection_params:
      { brokers: ["kafka.example.com:9092"], protocol: SASL_SSL, mechanism: PLAIN, username: u, password: "\${env:KAFKA}" }
    schema_fields: [{ name: id, type: string }, { name: amount, type: int }]
`,
  )
  .join("")}transforms:
  - { type: dedup, source_id: orders, config: { key: id, time_window: 1h } }
  - { type: filter, source_id: returns, config: { expression: "amount > \${var:LEAST}" } }
sink:
  type: clickhouse
  connection_params: { host: ch.example.com, port: "8443", database: shop, username: u, password: "\${env:CH}" }
  table: sales
  mapping:
    - { name: id, column_name: id, column_type: String }
    - { name: amount, column_name: amount, column_type: Int64 }
`;

const kafkaTests = `tests:
  - name: repeats within an hour are dropped
    now: 2031-05-01T10:00:00Z
    events:
      - { source: orders, event: { id: a, amount: 1 } }
      - { source: orders, event: { id: a, amount: 2 }, after: 59m }
      - { source: orders, event: { id: a, amount: 3 }, after: 2m }
      - { source: returns, event: { id: a, amount: 10 } }
      - { source: returns, event: { id: a, amount: 11 } }
      - { source: orders, text: '{"id": "b", "amount": 9007199254740993}' }
      - { source: orders, event: { id: c, amount: many } }
    expect:
      rows: [{ amount: 9007199254740993 }, { id: a, amount: 1 }, { amount: 3 }, { amount: 11 }]
      deduplicated: [{ amount: 2 }]
      filtered: 1
      dead_letters:
        - { component: ingestor, reason: parse_error, error: { $matches: amount.*number }, original_message: { id: c } }
  - name: the table is given
    create:
      - CREATE TABLE shop.sales (id String, amount Int64, twice Int64 MATERIALIZED amount * 2) ENGINE = MergeTree ORDER BY id
      - CREATE TABLE totals (total Int64) ENGINE = Memory
      - CREATE MATERIALIZED VIEW to_totals TO totals AS SELECT amount AS total FROM shop.sales
    events:
      - { source: orders, event: { id: b, amount: 2 } }
      - { source: orders, event: { id: a, amount: 1 } }
    expect:
      rows: [{ id: a, twice: 2 }, { id: b, twice: 4 }]
  - name: what the table refuses is a dead letter of the sink
    create: ["CREATE TABLE sales (id String, amount Int64, CONSTRAINT small CHECK amount < 10) ENGINE = MergeTree ORDER BY id"]
    events:
      - { source: orders, event: { id: a, amount: 1 } }
      - { source: orders, event: { id: b, amount: 10 } }
    expect:
      rows: [{ id: a }]
      dead_letters: [{ component: sink, original_message: { id: b } }]
`;

test("events of Kafka go through the engine into a table, without brokers and secrets, by a clock of their own", async () => {
  await put("kafka/shop.yaml", kafka);
  await put("kafka/shop.test.yaml", kafkaTests);
  const { code, out, err } = await run("test", "kafka", "--var", "LEAST=10");
  expect(out.replaceAll(/\(\d+ ms\)/g, "")).toBe(
    [
      "passed kafka/shop.test.yaml:2: repeats within an hour are dropped ",
      "passed kafka/shop.test.yaml:18: the table is given ",
      "passed kafka/shop.test.yaml:28: what the table refuses is a dead letter of the sink ",
      "3 tests: 3 passed, 0 failed",
      "",
    ].join("\n"),
  );
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(await readdir(join(folder, ".tmp")), "temporary files are gone").toEqual([]);
});

const webhook = `version: v3
pipeline_id: orders
sources:
  - type: webhook
    source_id: orders
    schema_fields: [{ name: id, type: string }, { name: amount, type: float }]
transforms:
  - { type: filter, source_id: orders, config: { expression: amount > 0 } }
sink:
  type: clickhouse
  connection_params: { host: embedded }
  table: orders
  mapping:
    - { name: id, column_name: id, column_type: String }
    - { name: amount, column_name: amount, column_type: Float64 }
x-sluice:
  access_token: \${env:TOKEN}
`;

const failing = `# Tests of orders.
tests:
  - name: amounts
    events:
      - event: { id: a, amount: 1.5 }
      - event: { id: b, amount: -1 }
      - text: "{"
    expect:
      rows:
        # the first one
        - { id: a, amount: 2 } # rounded?
        - { id: z }
  - name: nothing is expected yet
    create:
      - CREATE TABLE orders (id String, amount Float64, seen DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY id
    events:
      - event: { id: b, amount: 1 }
      - event: { id: a, amount: 2 }
`;

describe("a test that fails", () => {
  beforeAll(async () => {
    await put("hook/orders.yaml", webhook);
    await put("hook/orders.test.yaml", failing);
  });

  test("says what was expected and found, and what became of each event", async () => {
    const { code, out } = await run("test", "hook/orders.test.yaml", "--name", "amounts");
    expect(code).toBe(1);
    expect(out.replaceAll(/\(\d+ ms\)/g, "").split("\n")).toEqual([
      "failed hook/orders.test.yaml:3: amounts ",
      "  rows[0]: expected (-) and found (+)",
      '    - {"id":"a","amount":2}',
      '    + {"id":"a","amount":1.5}',
      "  rows[1]: expected, and not found",
      '    - {"id":"z"}',
      "  refused: found, and not expected",
      expect.stringContaining('    + {"status":400,"message":"expected a JSON object, found text that is not JSON'),
      "  events:",
      '    1 {"id":"a","amount":1.5}: row {"id":"a","amount":1.5}',
      '    2 {"id":"b","amount":-1}: filtered',
      expect.stringContaining("    3 {: refused with 400: expected a JSON object"),
      "1 test: 0 passed, 1 failed",
      "",
    ]);
  });

  test("is a failure in JUnit's XML, which its schema takes, and in JSON", { tags: ["rest"] }, async () => {
    const { code, out } = await run("test", "hook", "--format", "junit");
    expect(code).toBe(1);
    expect(out).toContain('<testsuite name="hook/orders.test.yaml" tests="2" failures="1" errors="0"');
    const schema = await readFile("test/support/published/junit-10.xsd", "utf8");
    const xml = { fileName: "junit.xml", contents: out };
    expect((await validateXML({ xml, schema })).errors).toEqual([]);
    const { out: json } = await run("test", "hook/orders.yaml", "--output", "json");
    const { passed, failed, tests } = JSON.parse(json) as { passed: number; failed: number; tests: object[] };
    expect({ passed, failed }).toEqual({ passed: 1, failed: 1 });
    expect(tests[0]).toMatchObject({ status: "failed", name: "amounts", file: "hook/orders.test.yaml", line: 3 });
    expect(tests[0]).toMatchObject({
      outcomes: [{ rows: [{ id: "a" }] }, { filtered: 1 }, { refused: { status: 400 } }],
    });
  });

  test(
    "passes after --update, which keeps comments and writes what the mapping writes",
    { tags: ["rest"] },
    async () => {
      expect(await run("test", "hook", "--update")).toMatchObject({
        code: 0,
        out: "hook/orders.test.yaml: 2 of its tests updated\n",
      });
      const text = await readFile(join(folder, "hook/orders.test.yaml"), "utf8");
      expect(text).toContain("# Tests of orders.\n");
      expect(text).toContain("        # the first one\n        - { id: a, amount: 1.5 } # rounded?\n");
      expect(text).not.toContain("id: z");
      expect(text).toContain("      rows:\n        - { id: b, amount: 1 }\n        - { id: a, amount: 2 }\n");
      const { code, out } = await run("test", "hook");
      expect([code, out]).toEqual([0, expect.stringContaining("2 tests: 2 passed, 0 failed")]);
    },
  );
});

test("an export request of OTLP is as many rows as it has records", { tags: ["rest"] }, async () => {
  await mkdir(join(folder, "otlp"));
  await cp("examples/otlp/pipelines/app-logs.yaml", join(folder, "otlp/app-logs.yaml"));
  const records = [9, 5, 17].map((severityNumber) => ({ severityNumber, body: { stringValue: `s${severityNumber}` } }));
  const attributes = [{ key: "service.name", value: { stringValue: "shop" } }];
  const event = { resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords: records }] }] };
  // They have no time: that of their arrival is the clock of the test.
  const [first, later] = ["2026-01-01 00:00:00.000000000", "2026-01-01 01:00:00.000000000"];
  const rows = [{ body: "s17", service: "shop", timestamp: first }, { body: "s9" }, { body: "s9", timestamp: later }];
  const last = { resourceLogs: [{ scopeLogs: [{ logRecords: records.slice(0, 1) }] }] };
  const expected = { rows, filtered: 1 };
  const tests = [
    {
      name: "records",
      events: [{ event }, { event: { resourceLogs: 7 } }, { event: last, after: "1h" }],
      expect: { ...expected, refused: [{ status: 400 }] },
    },
  ];
  await put("otlp/app-logs.test.json", JSON.stringify({ tests }));
  const { code, out } = await run("test", "otlp");
  expect([code, out]).toEqual([0, expect.stringContaining("passed otlp/app-logs.test.json:1: records")]);
});

const order = (order_id: string, customer_id: number) => {
  return { source: "orders", event: { order_id, customer_id, amount: 1, ordered_at: "2026-01-01T00:00:00Z" } };
};
const customer = (id: string) => ({ source: "customers", event: { id, name: "Ann", address: { country: "DE" } } });

test(
  "what becomes of the events of a join is said too: they wait, are kept, or left unmatched",
  { tags: ["rest"] },
  async () => {
    await mkdir(join(folder, "joined"));
    const name = "orders-with-customers";
    await cp(`examples/join/pipelines/${name}.yaml`, join(folder, `joined/${name}.yaml`));
    const events = [order("a", 7), customer("7"), customer("8"), order("b", 9), { ...customer("9"), after: "2h" }];
    await put(
      `joined/${name}.test.json`,
      JSON.stringify({ tests: [{ name: "joined", events, expect: { rows: [] } }] }),
    );
    const { out } = await run("test", "joined");
    const said = [...out.matchAll(/^ {4}\d \{.*\}: (.*)$/gm)].map(([, what]) => what);
    expect(said).toEqual([
      "waits for its right event",
      expect.stringMatching(/^row \{"order_id":"a",/),
      "kept for left events",
      "waits for its right event",
      "kept for left events; 1 earlier left event left unmatched",
    ]);
  },
);

describe("what cannot be run", () => {
  test("is a failed test, and the others run", async () => {
    await put("bad/orders.yaml", webhook);
    await put(
      "bad/orders.test.yaml",
      `tests:
  - { name: no such source, events: [{ source: other, event: { id: a, amount: 1 } }] }
  - { name: no such table, create: ["CREATE TABLE other (id String) ENGINE = Memory"], events: [{ event: { id: a, amount: 1 } }] }
  - { name: no statement, create: [CREATE NOTHING], events: [] }
  - { name: fine, events: [] , expect: { rows: [] } }
`,
    );
    await put("bad/wrong.yaml", webhook.replace("type: float", "type: flaot").replace("id: orders", "id: wrong"));
    await put("bad/wrong.test.yaml", "tests:\n  - { name: a, events: [] }\n");
    await put("bad/typo.yaml", webhook.replace("id: orders", "id: typo"));
    await put("bad/typo.test.yaml", "tests:\n  - { name: a, event: [] }\n");
    const { code, out } = await run("test", "bad");
    expect(code).toBe(1);
    expect(out).toContain("event 1: expected a source of the pipeline (orders), found other");
    expect(out).toContain(
      "event 1: the pipeline is paused: the embedded ClickHouse: table default.orders does not exist",
    );
    expect(out).toMatch(/no statement \(\d+ ms\)\n {2}ClickHouse refused the statement: .*Syntax error/);
    expect(out).toContain(
      'bad/wrong.yaml:6:71: error VALUE: sources[0].schema_fields[1].type: expected one of "string"',
    );
    expect(out).toContain("bad/typo.test.yaml:2:16: error UNKNOWN_KEY: tests[0].event: expected one of the keys");
    expect(out).toContain("6 tests: 1 passed, 5 failed");
  });

  test.each([
    [["none"], "expected a file or a folder"],
    [["empty"], "expected tests in empty, found none: write them into NAME.test.yaml beside NAME.yaml"],
    [
      ["alone"],
      "alone/orders.test.yaml: expected the pipeline that it tests beside it, in alone/orders.yaml, found none",
    ],
    [["named", "--name", "zzz"], 'expected a test whose name holds "zzz", found none'],
    [["named", "--base", "HEAD", "--update"], "expected --base without --watch and --update"],
  ])("%j is an error in words", async (args, text) => {
    await mkdir(join(folder, "empty"), { recursive: true });
    await put("alone/orders.test.yaml", "tests: []\n");
    await put("named/orders.yaml", webhook);
    await put("named/orders.test.yaml", failing);
    const { code, out, err } = await run("test", ...args);
    expect([code, out, err]).toEqual([1, "", expect.stringContaining(text)]);
  });
});

test("in a checkout its sluice.yaml has the variables, as for sluice validate", { tags: ["rest"] }, async () => {
  const repository = await GitRepository.create();
  const events = [{ event: { id: "a", amount: 5 } }];
  await repository.commit({
    "sluice.yaml": "vars: { LEAST: 2 }\ntest_jobs: 9\n",
    "orders.yaml": webhook.replace("amount > 0", '"amount > ${var:LEAST}"'),
    "orders.test.yaml": JSON.stringify({ tests: [{ name: "amounts", events, expect: { rows: [{ id: "a" }] } }] }),
  });
  try {
    expect(await runIn(repository.path, "test")).toMatchObject({ code: 0, err: "" });
  } finally {
    await repository.remove();
  }
});

test("--base shows the events whose outcome changed, and exits with 2", { tags: ["rest"] }, async () => {
  const repository = await GitRepository.create();
  const events = [
    { id: "a", amount: 1 },
    { id: "b", amount: 5 },
    { id: "c", amount: -1 },
  ].map((event) => ({ event }));
  const create = [
    "CREATE TABLE orders (id String, amount Float64, seen DateTime64(9) DEFAULT now64(9)) ENGINE = MergeTree ORDER BY id",
  ];
  const tests = (name: string) => JSON.stringify({ tests: [{ name, create, events }] });
  await repository.commit({ "a/orders.yaml": webhook, "a/orders.test.yaml": tests("amounts") });
  expect(await runIn(repository.path, "test", "a", "--base", "main")).toMatchObject({
    code: 0,
    out: "3 events of 1 test: 0 with another outcome than at main\n",
  });
  await repository.git("checkout", "--quiet", "-b", "change");
  await repository.commit({
    "a/orders.yaml": webhook.replace("amount > 0", "amount > 2"),
    "a/new.yaml": webhook.replace("id: orders", "id: newer"),
    "a/new.test.yaml": tests("new"),
  });
  const { code, out } = await runIn(repository.path, "test", "a", "--base", "main");
  await repository.remove();
  expect(out).toBe(`a/new.test.yaml:1: new: main has no such pipeline
a/orders.test.yaml:1: amounts
  event 1 {"id":"a","amount":1}
    - row {"id":"a","amount":1}
    + filtered
6 events of 2 tests: 1 with another outcome than at main
`);
  expect(code).toBe(2);
});

describe("sluice sample", { tags: ["rest"] }, () => {
  let place: Workplace;
  let events: string;

  /** A pipeline of the daemon whose batches are as old as `delay`; gives its token. */
  async function pipeline(pipeline_id: string, delay: string): Promise<string> {
    const file = webhook.slice(0, webhook.indexOf("x-sluice:")).concat("x-sluice: { create_table: true }\n");
    const named = file.replace("id: orders", `id: ${pipeline_id}`).replace("table: orders", `table: ${pipeline_id}`);
    await place.write(`${pipeline_id}.yaml`, named.replace("  table:", `  max_delay_time: ${delay}\n  table:`));
    await expect.poll(async () => (await asked("health", pipeline_id)).code, { timeout: 60_000 }).toBe(0);
    return (await asked("token", "rotate", pipeline_id)).out.trim();
  }

  const asked = (...args: string[]): Promise<Printed> => run(...args, "--data-dir", place.dataDir);

  const sample = (pipeline_id: string, ...options: string[]): Promise<Printed> =>
    asked("sample", pipeline_id, "--redact", "mail", ...options);

  async function post(pipeline_id: string, token: string, amount: unknown): Promise<void> {
    const { status } = await fetch(`http://${events}/v1/pipelines/${pipeline_id}/topics/input/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": token },
      body: JSON.stringify({ id: "a", mail: "ada@example.test", amount }),
    });
    expect(status).toBe(202);
  }

  beforeAll(async () => {
    place = await Workplace.make();
    const listeners = await freeListeners();
    ({ events } = listeners);
    await place.start({ listeners });
  });
  afterAll(() => place.clean());

  test("a dead letter of a running pipeline is the event of a test, without the values that are hidden", async () => {
    // A dead letter is there when its batch is written.
    const token = await pipeline("orders", "50ms");
    await post("orders", token, "many");
    await expect.poll(async () => (await sample("orders")).out, { timeout: 60_000 }).not.toBe("");
    await place.write("orders.test.yaml", (await sample("orders")).out);
    const file = join(place.pipelines, "orders.test.yaml");
    expect(await readFile(file, "utf8")).not.toContain("ada");
    expect(await runIn(place.path, "test", "pipelines", "--update")).toMatchObject({ code: 0 });
    const event = { id: "a", mail: "redacted-1", amount: "many" };
    expect(load(await readFile(file, "utf8"))).toEqual({
      tests: [
        {
          name: "dead letters of orders",
          events: [{ event }],
          expect: {
            rows: [],
            dead_letters: [{ component: "ingestor", reason: "parse_error", original_message: event }],
          },
        },
      ],
    });
  });

  test("an event of a stream that is not settled is the event of a test, and stays there", async () => {
    const token = await pipeline("waiting", "1h");
    expect(await sample("waiting")).toMatchObject({ code: 1, err: expect.stringContaining("--from stream") as string });
    expect(await sample("waiting", "--from", "stream")).toMatchObject({
      code: 1,
      err: expect.stringContaining("expected events in its stream that are not settled, found none") as string,
    });
    expect(await sample("waiting", "--from", "topic")).toMatchObject({
      code: 1,
      err: "sluice: --from: expected stream for waiting, whose source is of type webhook, found topic\n",
    });
    await post("waiting", token, 3);
    for (let time = 0; time < 2; time += 1) {
      const { code, out } = await sample("waiting", "--from", "stream");
      expect(code).toBe(0);
      expect(load(out)).toEqual({
        tests: [{ name: "events of waiting", events: [{ event: { id: "a", mail: "redacted-1", amount: 3 } }] }],
      });
    }
    // Several flags count together, and a name that no event has is told.
    const { out, err } = await sample("waiting", "--from", "stream", "--redact", "amount,mial");
    expect(load(out)).toMatchObject({ tests: [{ events: [{ event: { mail: "redacted-1", amount: 2 } }] }] });
    expect(err).toContain("--redact: no event has mial");
  });
});

test(
  "a fault that ends a thread of the engine fails its test alone, with what it was",
  { tags: ["rest"] },
  async () => {
    const bombs = webhook.replace("pipeline_id: orders", "pipeline_id: bombs").replace("table: orders", "table: bombs");
    const tests = 'tests:\n  - { name: one, events: [{ event: { id: "a", amount: 1 } }] }\n';
    await put("faults/bombs.yaml", bombs);
    await put("faults/bombs.test.yaml", tests);
    await put("faults/orders.yaml", webhook);
    await put("faults/orders.test.yaml", tests);
    await put(
      "plant.mjs",
      `import http from "node:http";
     import { syncBuiltinESMExports } from "node:module";
     const { request } = http;
     http.request = (...given) => {
       const asked = decodeURIComponent(JSON.stringify(given.map((one) => one?.href ?? one?.path ?? "")));
       if (/INSERT.INTO.*bombs/.test(asked)) setImmediate(() => { throw new TypeError("planted") });
       return request(...given);
     };
     syncBuiltinESMExports();`,
    );
    const env = { ...process.env, NODE_OPTIONS: `--import ${join(folder, "plant.mjs")}` };
    for (const jobs of isEveryCase ? ["1", "4"] : ["4"]) {
      const child = spawn(process.execPath, [sluice, "test", "faults", "--jobs", jobs], { cwd: folder, env });
      const [out, err] = [textOf(child.stdout), textOf(child.stderr)];
      expect(await once(child, "exit")).toEqual([1, null]);
      expect(await out).toContain(
        "event 1: expected the engine to go on, found a fault that ended its thread: TypeError: planted. This is an error of Sluice",
      );
      expect(await out).toMatch(/passed faults\/orders\.test\.yaml:\d+: one/);
      expect(await out).toContain("2 tests: 1 passed, 1 failed");
      expect(await err).not.toContain("planted");
    }
  },
);

test("a statement that takes too long fails its test, and the others run", { tags: ["rest"] }, async () => {
  const endless = "SELECT sleepEachRow(1) FROM numbers(3000) SETTINGS max_block_size = 1";
  await put("endless/orders.yaml", webhook);
  await put(
    "endless/orders.test.yaml",
    `tests:
  - { name: a, create: ["CREATE TABLE endless ENGINE = Memory AS ${endless}"], events: [] }
  - { name: b, create: ["CREATE VIEW orders AS ${endless}"], events: [] }
  - { name: c, events: [], expect: { rows: [] } }
`,
  );
  const { code, out } = await run("test", "endless", "--jobs", "2");
  expect(out).toContain("create[0]: expected it to end within 10 s");
  expect(out).toContain("reading table orders: expected it to end within 10 s");
  expect(out).toContain("3 tests: 1 passed, 2 failed");
  expect(code).toBe(1);
});

test("tests that cannot be read fail the run", async () => {
  await put("linked/orders.yaml", webhook);
  await put("elsewhere.yaml", "tests:\n  - { name: a, events: [], expect: { rows: [] } }\n");
  await put("linked/own/orders.yaml", webhook);
  await put("linked/own/orders.test.yaml", "tests:\n  - { name: a, events: [], expect: { rows: [] } }\n");
  await symlink(join(folder, "elsewhere.yaml"), join(folder, "linked/orders.test.yaml"));
  const { code, out, err } = await run("test", "linked");
  expect(err).toContain("linked/orders.test.yaml: expected to read the tests there, found a symbolic link");
  expect({ code, out }).toEqual({ code: 1, out: "" });
});

test(
  "a signal ends the run after the tests that have begun, fails it, and leaves nothing behind",
  { tags: ["rest"] },
  async () => {
    await put("long/orders.yaml", webhook);
    await put("long/orders.test.yaml", "tests:\n  - { name: a, events: [] }\n");
    const TMPDIR = join(folder, ".stopped");
    await mkdir(TMPDIR);
    const env = { ...process.env, TMPDIR };
    const child = spawn(process.execPath, [sluice, "test", "long"], { cwd: folder, env });
    const [out, err] = [textOf(child.stdout), textOf(child.stderr)];
    // From then on it listens to signals, and its engine is being opened.
    await expect.poll(() => readdir(TMPDIR), { timeout: 60_000, interval: 5 }).not.toEqual([]);
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([1, null]);
    expect([await out, await err]).toEqual(["0 tests: 0 passed, 0 failed\n", "Stopped after 0 of 1 tests.\n"]);
    expect(await readdir(TMPDIR)).toEqual([]);
  },
);

test("--watch runs the tests again at each change, until it is stopped", { tags: ["rest"] }, async () => {
  await put("watch/orders.yaml", webhook);
  await put("watch/orders.test.yaml", "tests:\n  - { name: a, events: [], expect: { rows: [] } }\n");
  const child = spawn(process.execPath, [sluice, "test", "watch", "--watch"], { cwd: folder });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const summary = async (): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true || /^\d+ test/.test(value)) return String(value);
    }
  };
  expect(await summary()).toBe("1 test: 1 passed, 0 failed");
  await once(child.stderr, "data");
  await put("watch/orders.test.yaml", "tests:\n  - { name: a, events: [], expect: { rows: [{ id: a }] } }\n");
  expect(await summary()).toBe("1 test: 0 passed, 1 failed");
  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([0, null]);
});
