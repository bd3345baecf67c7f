import { describe, expect, test } from "vitest";
import { load, Loader } from "../../../reconciler/desired/load.ts";
import type { DesiredState } from "../../../reconciler/desired/desired-state.ts";
import { fileOf, kafkaPipeline } from "../../support/pipeline-file.ts";

const written = kafkaPipeline
  .replace('["kafka-1:9092"]', "${var:BROKERS}")
  .replace("topic: orders", "topic: ${var:PREFIX}orders-${var:REGION}")
  .replace('port: "9000"', 'port: "9440"')
  .replace('"8123"', '"${var:PORT}"')
  .replace(/table: .*/, 'table: "${var:TABLE}"\n  max_batch_size: ${var:BATCH}')
  .replace("sink:\n  type: clickhouse\n  connection_params:\n", (before) => `${before}    secure: \${var:SECURE}\n`);

const values = {
  BROKERS: "kafka-1:9092, kafka-2:9092",
  PREFIX: "",
  REGION: "eu",
  BATCH: "5000",
  SECURE: "true",
  PORT: "8443",
  TABLE: "2024",
};

function of(text: string, given: Record<string, string> = values): DesiredState {
  return load([fileOf(text)], new Map(Object.entries(given)));
}

/** `LINE:COLUMN CODE found (suggestion)` of each problem. */
function problems(text: string, given?: Record<string, string>): string[] {
  return of(text, given).problems.map(({ line, column, code, found, suggestion }) =>
    `${line}:${column} ${code} ${found} (${suggestion ?? ""})`.trim(),
  );
}

test("each value becomes what its field takes: a list, a part of a text, a number, true, a text of digits", () => {
  const { pipelines, problems: said } = of(written);
  expect(said).toEqual([]);
  const [one] = pipelines;
  expect(one?.config.sources[0]).toMatchObject({
    topic: "orders-eu",
    connection_params: { brokers: ["kafka-1:9092", "kafka-2:9092"] },
  });
  expect(one?.config.sink).toMatchObject({
    max_batch_size: 5000,
    table: "2024",
    connection_params: { secure: true, http_port: "8443" },
  });
});

test("a field names the variables from which it is made, wherever its file has it", () => {
  const [one] = of(written).pipelines;
  expect(one?.variables(["sources", 0, "topic"])).toEqual(["PREFIX", "REGION"]);
  expect(one?.variables(["sources", 0, "connection_params", "brokers", 1])).toEqual(["BROKERS"]);
  expect(one?.variables(["sink", "connection_params"])).toEqual(["SECURE", "PORT"]);
  expect(one?.variables(["sink", "mapping"])).toEqual([]);
  expect(one?.place(["sources", 0, "topic"])).toMatchObject({ line: 12 });
});

/** A file with as many uses of a variable. */
function using(variable: string, count: number): string {
  return kafkaPipeline.replace("sink:", `name: "${`\${var:${variable}}`.repeat(count)}"\nsink:`);
}

test("a file does not grow without a bound by what its variables stand for", () => {
  const long = "x".repeat(1_000);
  expect(of(using("LONG", 1_048), { LONG: long }).pipelines[0]?.config.name).toHaveLength(1_048_000);
  const { refused, problems: said } = of(using("LONG", 1_049), { LONG: long });
  expect(refused).toHaveLength(1);
  expect(said).toMatchObject([{ code: "VARIABLE", path: "name", found: "more" }]);
});

test("a reference in the first of two values of a key has a place within the file", () => {
  const [value, end] = [`name: ${"long ".repeat(20)}\${var:NONE}`, "name: short"];
  const lines = `version: v3\n${value}\n${end}\n`.split("\n");
  for (const { code, line, column } of of(`version: v3\n${value}\n${end}\n`).problems) {
    expect([code, column <= lines[line - 1]!.length + 1]).toEqual([code, true]);
  }
  expect(of(`version: v3\n${value}\n${end}\n`).problems.map(({ code }) => code)).toContain("VARIABLE");
});

describe("a file is refused, at the place of the reference, and without a second problem of that field", () => {
  test.each([
    ["a name that is not set", "${var:REGOIN}", "VARIABLE ${var:REGOIN} (did you mean ${var:REGION}?)"],
    [
      "a name that resembles none",
      "${var:X}",
      "VARIABLE ${var:X} (set it with --var X=VALUE or in the file of --vars)",
    ],
    ["no name", "${var:}", "VARIABLE ${var:} ()"],
    ["a name with a dash", "${var:A-B}", "VARIABLE ${var:A-B} ()"],
    ["an end that is missing", "${var:REGION", "VARIABLE ${var:REGION ()"],
  ])("%s", (_title, reference, expected) => {
    const text = written.replace("${var:REGION}", reference);
    expect(problems(text)).toEqual([`12:${text.split("\n")[11]!.indexOf(reference) + 1} ${expected}`]);
    expect(of(text).refused).toMatchObject([{ freezesFile: false, pipeline_ids: ["orders-eu"] }]);
  });

  test("a number that is not set", () => {
    const { BATCH: _none, ...others } = values;
    expect(problems(written, others)).toEqual([expect.stringMatching(/^\d+:\d+ VARIABLE \$\{var:BATCH\} \(/)]);
  });

  test("a value that its field does not take", () => {
    const found = problems(written, { ...values, BATCH: "many" });
    expect(found).toEqual([expect.stringMatching(/^\d+:\d+ TYPE "many"/)]);
  });

  test("a secret, which would be shown", () => {
    const found = problems(written.replace("${env:KAFKA_PASSWORD}", "${var:REGION}"));
    expect(found).toEqual([expect.stringContaining("VARIABLE ${var:REGION} (write ${env:REGION} or ${file:/path})")]);
  });

  test("the id of a pipeline, which is the same everywhere", () => {
    const { refused } = of(written.replace("pipeline_id: orders-eu", "pipeline_id: orders-${var:REGION}"));
    expect(refused[0]?.problems.map(({ code, path }) => [code, path])).toEqual([["VARIABLE", "pipeline_id"]]);
  });
});

test("values are not searched for references, and $${ is a plain ${", () => {
  const text = written.replace("${var:TABLE}", () => "$${var:A}${var:TABLE}");
  const [one] = of(text, { ...values, TABLE: "$" }).pipelines;
  expect(of(text, { ...values, TABLE: "$" }).problems).toEqual([]);
  expect(one?.config.sink).toMatchObject({ table: "$${var:A}$" });
});

test("a file without variables is read as if there were none", () => {
  expect(of(kafkaPipeline).pipelines[0]?.config).toEqual(load([fileOf(kafkaPipeline)]).pipelines[0]?.config);
});

test("files are read again when a value changes, and only then", async () => {
  const loader = new Loader();
  const files = [fileOf(written)];
  const { signal } = new AbortController();
  const variables = new Map(Object.entries(values));
  const first = await loader.load(files, signal, variables);
  expect((await loader.load(files, signal, variables)).pipelines[0]).toBe(first.pipelines[0]);
  const other = await loader.load(files, signal, new Map([...variables, ["TABLE", "orders"]]));
  expect(other.pipelines[0]?.config.sink.table).toBe("orders");
});
