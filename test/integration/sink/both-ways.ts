import { Event } from "../../../engine/event/event.ts";
import type { Answer, Block } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import { DeclaredFields } from "../../../engine/transforms/declared-fields/declared-fields.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { patient, sinkOn } from "./support.ts";
import type { Field } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

/** What became of events that one sink wrote to a table of its own. */
export interface Outcome {
  /** As JSON, in the order of the events. */
  rows: string[];
  /** The same rows in hexadecimal, as ClickHouse holds them. */
  binary: string;
  rejected: { position: number; error: string }[];
  answer: Answer;
}

export interface BothWays {
  received: Outcome;
  encoded: Outcome;
  /** The positions of the events whose own bytes were sent. */
  sentAsTheyAre: number[];
}

let tables = 0;

/**
 * Writes events twice: as they were received, and as a transform would have made them with the same values, which are
 * always encoded. `real` are the types of the columns, by default those of the mapping.
 */
export async function bothWays(
  server: TestClickHouse,
  fields: Field[],
  texts: readonly (string | Buffer)[],
  real: readonly string[] = fields.map(([, , column_type]) => column_type),
): Promise<BothWays> {
  const events = texts.map((text, index) => new Event(index, 0, Buffer.from(text as string)));
  const made = events.map((event) => event.with(event.value));
  const [received, written] = await Promise.all([
    outcome(server, fields, events, real),
    outcome(server, fields, made, real),
  ]);
  const sentAsTheyAre = events.filter((event) => received.lines.get(event.position) === event.text);
  return {
    received: received.outcome,
    encoded: written.outcome,
    sentAsTheyAre: sentAsTheyAre.map(({ position }) => position),
  };
}

async function outcome(
  server: TestClickHouse,
  fields: Field[],
  events: readonly Event[],
  real: readonly string[],
): Promise<{ outcome: Outcome; lines: Map<number, string> }> {
  const table = `both_ways_${++tables}`;
  const columns = fields.map(([name], index) => `\`${name}\` ${real[index]}`);
  await server.client.command({
    query: `CREATE TABLE d.${table} (${columns.join(", ")}) ENGINE = Memory`,
    clickhouse_settings: { allow_suspicious_low_cardinality_types: 1 },
  });
  const sink = sinkOn(server, { fields, table });
  const opened = await sink.open(patient);
  if (opened.kind !== "ok") throw new Error(opened.failure.text);
  const block = encoded(sink, events);
  checkWalked(fields, events, block, sink);
  const answer = await sink.insert(block, table, patient);
  await sink.close();
  const rows = (await select(server, table, "JSONCompactEachRow")).toString().split("\n").slice(0, -1);
  const binary = (await select(server, table, "RowBinary")).toString("hex");
  await server.client.command({ query: `DROP TABLE d.${table} SYNC` });
  const lines = block.body.toString().split("\n");
  return {
    outcome: { rows, binary, rejected: block.rejected.map(({ position, error }) => ({ position, error })), answer },
    lines: new Map([...block.events].map(({ position }, index) => [position, lines[index] ?? ""])),
  };
}

/** What the ingestor found out on its walk gives the same rows as what the sink finds out itself. */
function checkWalked(fields: Field[], events: readonly Event[], { body, rejected }: Block, sink: ClickHouseSink): void {
  const again = events.map((event) =>
    event.received === undefined ? event : new Event(event.position, 0, event.received),
  );
  const schema = fields.map(([name, type]) => ({ name, type }));
  new DeclaredFields(schema, { keys: ["of", "c"], rows: () => sink.rowWalks(undefined) }).apply(again);
  const walked = encoded(sink, again);
  if (!walked.body.equals(body)) throw new Error(`expected ${body.toString()}, found ${walked.body.toString()}`);
  if (walked.rejected.length !== rejected.length) throw new Error(`expected ${rejected.length} rejections`);
}

async function select(server: TestClickHouse, table: string, format: string): Promise<Buffer> {
  const { stream } = await server.client.exec({
    query: `SELECT * FROM d.${table} FORMAT ${format} SETTINGS max_threads = 1`,
  });
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
