import type { SchemaField } from "../../schemas/pipeline.ts";
import { mayHoldWide, parseExactly } from "../../engine/event/exact-json.ts";
import { compileFilter, compileTransforms } from "../../engine/expression/index.ts";
import { microseconds, row, RUNS } from "./harness.ts";

const EVENTS = 2_000;
/** Times that one run goes over the events. */
const PASSES = 20;
const levels = ["ERROR", "WARN", "INFO", "DEBUG"];

const schema: SchemaField[] = [
  { name: "level", type: "string" },
  { name: "status_code", type: "int" },
  { name: "path", type: "string" },
  { name: "duration_ms", type: "float" },
  { name: "user_agent", type: "string" },
  { name: "query", type: "string" },
  { name: "region", type: "string" },
  { name: "sampled", type: "bool" },
];

const filter = `level == "ERROR" and status_code >= 500 and path startsWith "/api"`;

const transforms = [
  ["level", "upper(level)", "string"],
  ["status", "status_code", "int"],
  ["is_error", "status_code >= 500", "bool"],
  ["path", `replace(path, "/api", "")`, "string"],
  ["seconds", "duration_ms / 1000", "float64"],
  ["class", `status_code >= 500 ? "server" : "other"`, "string"],
  ["region", `region ?? "unknown"`, "string"],
  ["is_slow", "duration_ms > 250 and sampled", "bool"],
  ["label", `level + ":" + region`, "string"],
  ["is_api", `hasPrefix(path, "/api")`, "bool"],
].map(([output_name = "", expression = "", output_type = ""]) => ({ output_name, expression, output_type }));

/** An event of 40 fields and about 1.5 KB, as access logs have them. */
function event(index: number): string {
  const fields: Record<string, unknown> = {
    level: levels[index % levels.length],
    status_code: 200 + (index % 7) * 60,
    path: index % 3 === 0 ? "/health" : `/api/v1/orders/${index}`,
    duration_ms: (index % 500) + 0.25,
    user_agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
    query: `page=${index % 10}&sort=desc&utm_source=news`,
    region: "eu-central-1",
    sampled: index % 2 === 0,
  };
  for (let number = Object.keys(fields).length; number < 40; number += 1) {
    fields[`attribute_${number}`] =
      number % 4 === 0 ? index * number : `value ${number} of ${index % 100} or so events`;
  }
  return JSON.stringify(fields);
}

/**
 * Prints what a filter and a stateless transform cost beside JSON.parse of the same events, each in a loop of its own
 * over already parsed events; then what it costs that whole numbers keep their digits: the look at the bytes that every
 * event gets, and the parse of the events that need it.
 */
export async function run(): Promise<void> {
  const texts = Array.from({ length: EVENTS }, (_, index) => event(index));
  const records = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
  const bytes = texts.reduce((sum, text) => sum + text.length, 0) / EVENTS;
  const keeps = compileFilter(filter, schema);
  const outputs = compileTransforms(transforms, schema);
  let kept = 0;
  let made = 0;
  const measured = (work: () => void): number => microseconds(EVENTS, PASSES, work);
  const parse = measured(() => {
    for (const text of texts) made += (JSON.parse(text) as { status_code: number }).status_code;
  });
  const filtering = measured(() => {
    for (const record of records) if (keeps.matches(record, 0)) kept += 1;
  });
  const transforming = measured(() => {
    for (const record of records) if (outputs.apply(record, 0)["is_error"] === true) made += 1;
  });
  console.log(`${EVENTS} events of ${Math.round(bytes)} bytes and 40 fields, best of ${RUNS} runs of ${PASSES} passes`);
  console.log(row("JSON.parse", parse, parse));
  console.log(row("filter", filtering, parse));
  console.log(row(`stateless, ${transforms.length} outputs`, transforming, parse));
  console.log(`goals: filter at most 10 %, stateless at most 60 % (${kept / RUNS / PASSES} kept, checksum ${made})`);
  exactIntegers(texts, parse);
}

function exactIntegers(texts: readonly string[], parse: number): void {
  const wide = texts.map((text) => text.replace("{", '{"id":1234567890123456789,'));
  const buffers = texts.map((text) => Buffer.from(text));
  let found = 0;
  const looking = microseconds(EVENTS, PASSES, () => {
    for (const buffer of buffers) if (mayHoldWide(buffer)) found += 1;
  });
  const exactly = microseconds(EVENTS, PASSES, () => {
    for (const text of wide) if (typeof (parseExactly(text) as { id: unknown }).id === "bigint") found += 1;
  });
  console.log(row("exact integers: look at the bytes", looking, parse));
  console.log(row("exact integers: parse of those with one", exactly, parse));
  if (found !== EVENTS * PASSES * RUNS) throw new Error(`expected one wide integer an event, found ${found}`);
}
