import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { isEveryCase } from "../../support/cases.ts";
import { Random } from "../../support/random.ts";
import type { Row } from "../../support/simulation/clickhouse/column-values.ts";
import type { TableOptions } from "../../support/simulation/clickhouse/table-options.ts";
import { blockOf, ClickHouseWorld } from "../../unit/simulation/clickhouse-world.ts";
import { patient, sinkOn } from "./support.ts";
import type { Field } from "./support.ts";

let server: TestClickHouse;

beforeAll(async () => {
  server = await useClickHouse();
  await server.client.command({ query: "CREATE DATABASE d" });
});

afterAll(() => server.stop());

const fields: Field[] = [
  ["id", "int", "Int64"],
  ["p", "int", "UInt8"],
  ["s", "string", "String"],
];

/** One thing that is done to a table. */
type Step =
  | { do: "insert"; lines: string[]; token: string }
  | { do: "probe"; lines: string[] }
  | { do: "other writer"; rows: { id: number; p: number; s: string }[] }
  | { do: "drop partition"; partition: number }
  | { do: "read" };

/** What there was after all of them. */
interface Outcome {
  answers: string[];
  rows: string[];
  dropped: number;
}

const oddLines = [
  '{"id":"x","p":1,"s":""}',
  '{"id":1.5,"p":1,"s":""}',
  '{"id":5000,"p":1,"s":""}',
  '{"id":null,"p":null,"s":"n"}',
  '{"id":1,"p":1,"s":null}',
  '{"id":"7","p":300,"s":5}',
  '{"id":-1,"p":-1,"s":[1]}',
  '{"id":true,"p":1,"s":true,"more":1}',
  '{"id":""}',
  "[1]",
];

/** Values repeat often, so that blocks do too. */
function lineOf(random: Random): string {
  if (random.below(25) === 0) return random.pick(...oddLines);
  return JSON.stringify(rowOf(random));
}

function rowOf(random: Random): { id: number; p: number; s: string } {
  return { id: random.below(4), p: random.below(4), s: random.pick("a", "ä\n") };
}

/** The first steps, in which no partition is dropped. */
const withoutDrops = 40;

function stepsOf(seed: number): Step[] {
  const random = new Random(seed);
  const many = <Item>(make: (random: Random) => Item): Item[] =>
    Array.from({ length: 1 + random.below(4) }, () => make(random));
  return Array.from({ length: 60 }, (_, index): Step => {
    const choice = random.below(20);
    if (choice === 0 && index >= withoutDrops) return { do: "drop partition", partition: random.below(4) };
    if (choice === 1) return { do: "probe", lines: many(lineOf) };
    if (choice < 5) return { do: "other writer", rows: many(rowOf) };
    if (choice < 8) return { do: "read" };
    return { do: "insert", lines: many(lineOf), token: `t${random.below(12)}` };
  });
}

/** What a sink says, without the server's own words. */
function said(answer: Answer): string {
  if (answer.kind === "ok") return "ok";
  const { class: of, code, row } = answer.failure;
  return `${answer.kind} ${of} ${code} at ${row}`;
}

async function blocks(sink: ClickHouseSink): Promise<string> {
  const read = await sink.read(true, patient);
  return read.kind === "read" ? `${read.reading.blocks} of ${read.reading.window.entries}` : said(read);
}

/** Does what both have in common; the rest is done by `other`. */
async function take(sink: ClickHouseSink, step: Step, other: (step: Step) => Promise<void>): Promise<string> {
  switch (step.do) {
    case "insert":
      return `insert ${said(await sink.insert(blockOf(step.lines), step.token, patient))}`;
    case "probe": {
      const probe = await sink.probe(blockOf(step.lines), patient);
      return `probe ${probe.kind === "found" ? probe.rows.map(({ row, failure }) => `${row}: ${failure.code}`).join() : probe.kind}`;
    }
    case "read":
      return `read ${await blocks(sink)}`;
    default:
      await other(step);
      return step.do;
  }
}

/**
 * Without the numbers of blocks after a partition was dropped: the real server shows those of its parts until a thread in
 * the background has removed them, maybe minutes later.
 */
function comparable(answers: readonly string[]): string[] {
  const first = answers.indexOf("drop partition");
  return answers.map((answer, index) =>
    first === -1 || index < first ? answer : answer.replace(/^read \S+ /, "read "),
  );
}

const spelled = (rows: readonly Record<string, unknown>[]): string[] =>
  rows.map(({ id, p, s }) => JSON.stringify([Number(id), p, s])).toSorted();

/** Blocks that the server dropped so far. It counts each of them twice. */
async function dropped(): Promise<number> {
  const query = "SELECT value FROM system.events WHERE event = 'DuplicatedInsertedBlocks'";
  return Number((await server.query(query))[0]?.["value"] ?? 0) / 2;
}

async function onReal(name: string, steps: readonly Step[], partitionBy: string, window: number): Promise<Outcome> {
  await server.client.command({
    query: `CREATE TABLE d.${name} (id Int64, p UInt8, s String, CONSTRAINT small CHECK id < 1000) ENGINE = MergeTree PARTITION BY ${partitionBy} ORDER BY tuple() SETTINGS non_replicated_deduplication_window = ${window}`,
  });
  const sink = sinkOn(server, { fields, table: name });
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  const before = await dropped();
  const answers: string[] = [];
  for (const step of steps) {
    const answer = await take(sink, step, async (other) => {
      if (other.do === "drop partition") {
        await server.client.command({ query: `ALTER TABLE d.${name} DROP PARTITION ${other.partition}` });
      } else if (other.do === "other writer") {
        const table = `d.${name}`;
        await server.client.insert({ table, values: other.rows, format: "JSONEachRow" });
      }
    });
    answers.push(answer);
  }
  await sink.close();
  const rows = await server.query(`SELECT id, p, s FROM d.${name}`);
  return { answers: comparable(answers), rows: spelled(rows), dropped: (await dropped()) - before };
}

async function onSimulated(steps: readonly Step[], table: TableOptions): Promise<Outcome> {
  const world = new ClickHouseWorld(1, { table });
  try {
    const sink = await world.opened({ fields, table: table.name! });
    const answers: string[] = [];
    for (const step of steps) {
      const answer = await world.settled(
        take(sink, step, async (other) => {
          if (other.do === "drop partition") world.server.dropPartition(String(other.partition));
          else if (other.do === "other writer") world.server.otherWriter([{ rows: other.rows }]);
        }),
      );
      answers.push(answer);
    }
    expect(world.server.unknown).toEqual([]);
    return { answers: comparable(answers), rows: spelled(world.server.rows()), dropped: world.server.dropped };
  } finally {
    await world.end();
  }
}

test("the simulated ClickHouse does what the real one does", () => alike(1));

test.each(isEveryCase ? [2, 3, 4] : [2])(
  "the simulated ClickHouse does what the real one does, seed %i",
  { tags: ["rest"] },
  alike,
);

async function alike(seed: number): Promise<void> {
  const window = seed % 2 === 0 ? 7 : 1000;
  const steps = stepsOf(seed);
  const name = `t${seed}`;
  const real = await onReal(name, steps, "p", window);
  const simulated = await onSimulated(steps, {
    name,
    columns: fields.map(([column, , type]) => ({ name: column, type })),
    partitionBy: { expression: "p", of: ({ p }) => Number(p) },
    constraints: [{ name: "small", expression: "id < 1000", holds: ({ id }) => Number(id) < 1000 }],
    window,
    isSynced: false,
  });
  expect(simulated).toEqual(real);
  expect(real.dropped).toBeGreaterThan(0);
}

/** Inserts of good rows alone. */
function insertsOf(seed: number): Step[] {
  return stepsOf(seed).filter((step) => step.do === "insert" && !step.lines.some((line) => oddLines.includes(line)));
}

/** After so many inserts the query of the view is modified, and takes every row. */
const mendedAfter = 12;

async function viewOnReal(name: string, inserts: readonly Step[]): Promise<string[]> {
  const kept = "ENGINE = MergeTree PARTITION BY p ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 1000";
  for (const query of [
    `CREATE TABLE d.${name} (id Int64, p UInt8, s String) ${kept}`,
    `CREATE TABLE d.${name}_out (id Int64, p UInt8) ${kept}`,
    `CREATE MATERIALIZED VIEW d.${name}_view TO d.${name}_out AS SELECT id, p FROM d.${name} WHERE throwIf(id = 3) = 0`,
  ]) {
    await server.client.command({ query });
  }
  const sink = sinkOn(server, { fields, table: name });
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  const answers: string[] = [];
  for (const [index, step] of inserts.entries()) {
    if (index === mendedAfter) {
      await server.client.command({ query: `ALTER TABLE d.${name}_view MODIFY QUERY SELECT id, p FROM d.${name}` });
    }
    const answer = await take(sink, step, () => Promise.resolve());
    const [row] = await server.query(
      `SELECT (SELECT count() FROM d.${name}) AS base, (SELECT count() FROM d.${name}_out) AS target`,
    );
    answers.push(`${answer}, ${String(row!["base"])} and ${String(row!["target"])}`);
  }
  await sink.close();
  return answers;
}

async function viewOnSimulated(name: string, inserts: readonly Step[]): Promise<string[]> {
  const partitionBy: TableOptions["partitionBy"] = { expression: "p", of: ({ p }) => Number(p) };
  const columns = fields.map(([column, , type]) => ({ name: column, type }));
  const broken = { code: 395, fails: ({ id }: Row) => id === 3 };
  const views = [{ name: `${name}_view`, to: { name: `${name}_out`, columns, partitionBy, window: 1000 }, broken }];
  const world = new ClickHouseWorld(1, { table: { name, columns, partitionBy, window: 1000, views } });
  try {
    const sink = await world.opened({ fields, table: name });
    const answers: string[] = [];
    for (const [index, step] of inserts.entries()) {
      const view = world.server.table!.views[0]!;
      if (index === mendedAfter) view.modifyQuery({}, world.server.now);
      const answer = await world.settled(take(sink, step, () => Promise.resolve()));
      answers.push(`${answer}, ${world.server.rows().length} and ${world.server.rows(view.to).length}`);
    }
    expect(world.server.unknown).toEqual([]);
    return answers;
  } finally {
    await world.end();
  }
}

test.each(isEveryCase ? [11, 12] : [11])(
  "a view that fails for some rows does in the simulated ClickHouse what it does in the real one, seed %i",
  { tags: ["rest"] },
  async (seed) => {
    const inserts = insertsOf(seed);
    expect(await viewOnSimulated(`v${seed}`, inserts)).toEqual(await viewOnReal(`v${seed}`, inserts));
  },
);
