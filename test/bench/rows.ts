import { Event } from "../../engine/event/event.ts";
import { RowEncoder } from "../../engine/sinks/clickhouse/encode/row-encoder.ts";
import type { Mapping, SchemaField } from "../../schemas/pipeline.ts";
import { encoded } from "../support/encoded.ts";

const EVENTS = 2_000;
/** Runs of each measurement, of which the median counts, and times that one run goes over the events. */
const [RUNS, PASSES] = [5, 10];

interface Column {
  name: string;
  type: SchemaField["type"];
  column_type: string;
  value: (index: number) => unknown;
}

const agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36";
const second = 1_717_158_645;

const few: readonly Column[] = [
  { name: "id", type: "int", column_type: "Int64", value: (index) => 7_000_000 + index },
  { name: "ts", type: "int", column_type: "DateTime", value: (index) => second + index },
  {
    name: "kind",
    type: "string",
    column_type: "LowCardinality(String)",
    value: (index) => ["click", "view"][index % 2],
  },
  { name: "user", type: "string", column_type: "String", value: (index) => `user-${(index * 7919) % 100_000}` },
  { name: "amount", type: "float", column_type: "Float64", value: (index) => index * 0.25 },
  { name: "page", type: "string", column_type: "String", value: (index) => `/shop/articles/${index}?from=newsletter` },
];

const many: readonly Column[] = [
  {
    name: "trace_id",
    type: "string",
    column_type: "UUID",
    value: (index) => `5f0c${String(index).padStart(4, "0")}-5cb3-11e7-907b-a6006ad3dba0`,
  },
  {
    name: "timestamp",
    type: "string",
    column_type: "DateTime64(3)",
    value: (index) => new Date(second * 1000 + index * 137).toISOString(),
  },
  {
    name: "level",
    type: "string",
    column_type: "LowCardinality(String)",
    value: (index) => ["INFO", "WARN"][index % 2],
  },
  { name: "status_code", type: "int", column_type: "UInt16", value: (index) => 200 + (index % 7) * 60 },
  { name: "duration_ms", type: "float", column_type: "Float64", value: (index) => (index % 500) + 0.25 },
  { name: "sampled", type: "bool", column_type: "Bool", value: (index) => index % 2 === 0 },
  { name: "user_agent", type: "string", column_type: "String", value: () => agent },
  {
    name: "query",
    type: "string",
    column_type: "String",
    value: (index) => `page=${index % 10}&sort=desc&utm_source=news`,
  },
  ...Array.from({ length: 32 }, (_, number): Column => {
    const name = `attribute_${number}`;
    return number % 4 === 0
      ? { name, type: "int", column_type: "Int64", value: (index) => index * number }
      : { name, type: "string", column_type: "String", value: (index) => `value ${number} of ${index % 100} or so` };
  }),
];

/**
 * Prints what the sink does with an event in CPU time: makes a row of its value, or copies its own bytes and looks
 * whether they are that row. The parse stands beside them, as an encoded event needs it and the other one does not.
 */
export function run(): Promise<void> {
  for (const columns of [many, few]) measure(columns);
  return Promise.resolve();
}

function measure(columns: readonly Column[]): void {
  const buffers = Array.from({ length: EVENTS }, (_, index) =>
    Buffer.from(JSON.stringify(Object.fromEntries(columns.map(({ name, value }) => [name, value(index)])))),
  );
  const received = buffers.map((content, index) => new Event(index, 0, content));
  const made = received.map((event) => event.with(event.value));
  const bytes = buffers.reduce((sum, { length }) => sum + length, 0);
  const [encoder, passer] = [encoderOf(columns), encoderOf(columns)];
  const isPassedOn = encoded(passer, received).body.length === bytes + EVENTS;
  if (!isPassedOn) throw new Error("expected the events to be rows as they are");
  const parsing = median(() => buffers.forEach((content) => void new Event(0, 0, content).value));
  const encoding = median(() => encoded(encoder, made));
  const passing = median(() => encoded(passer, received));
  console.log(
    `${EVENTS} events of ${Math.round(bytes / EVENTS)} bytes and ${columns.length} fields, medians of ${RUNS} runs`,
  );
  console.log(line("parse", parsing));
  console.log(line("encode", encoding));
  console.log(`${line("pass on as it is", passing)}   encode / pass on: ${(encoding / passing).toFixed(1)}`);
}

function encoderOf(columns: readonly Column[]): RowEncoder {
  const mapping = columns.map(({ name, column_type }): Mapping => ({ name, column_name: name, column_type }));
  return new RowEncoder(mapping, columns);
}

/** The median of the runs, in microseconds of CPU per event. The first run, which compiles, is not counted. */
function median(work: () => unknown): number {
  const costs = Array.from({ length: RUNS + 1 }, () => {
    const before = process.cpuUsage();
    for (let pass = 0; pass < PASSES; pass += 1) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / EVENTS / PASSES;
  });
  return costs.slice(1).toSorted((one, other) => one - other)[Math.floor(RUNS / 2)]!;
}

function line(name: string, cost: number): string {
  return `  ${name.padEnd(20)} ${cost.toFixed(3).padStart(8)} us/event`;
}
