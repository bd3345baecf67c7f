import { afterAll, beforeAll } from "vitest";
import type { sinkKinds } from "../../engine/sinks/registry.ts";
import { sinkOn } from "../integration/sink/support.ts";
import { ClickHouseProxy } from "../support/clickhouse-proxy.ts";
import type { TestClickHouse } from "../support/clickhouse.ts";
import { useClickHouse } from "../support/shared-clickhouse.ts";
import type { NetworkUnderTest, Row, SinkUnderTest, TargetUnderTest, ViewsUnderTest } from "./sink-scene.ts";
import { sinkSuite } from "./sink.ts";

let server: TestClickHouse;
let tables = 0;

beforeAll(async () => {
  server = await useClickHouse();
  await run("CREATE DATABASE d");
});

afterAll(() => server.stop());

/** One line for each type of sink. */
const makes: Readonly<Record<keyof typeof sinkKinds, () => Promise<SinkUnderTest>>> = {
  clickhouse,
};

for (const [name, make] of Object.entries(makes)) sinkSuite(name, make, { tags: ["rest"] });

const run = (query: string): Promise<unknown> => server.client.command({ query });

/** A table with four partitions, reached through a proxy. */
async function clickhouse(): Promise<SinkUnderTest> {
  const table = `t${++tables}`;
  const proxy = await ClickHouseProxy.start(server.url);
  const target = targetAt(table);
  await target.create();
  return {
    start: ({ create_table = false, password = server.password } = {}) =>
      sinkOn(
        { url: proxy.url, username: server.username, password },
        {
          fields: [
            ["id", "int", "Int64"],
            ["text", "string", "String"],
          ],
          table,
          create_table,
        },
      ),
    password: server.password,
    target,
    network: networkOf(proxy),
    clean: () => proxy.close(),
  };
}

function targetAt(table: string): TargetUnderTest {
  return {
    rows: () => server.query<Row>(`SELECT id, text FROM d.${table}`),
    drop: async () => void (await run(`DROP TABLE d.${table} SYNC`)),
    create: async () =>
      void (await run(
        `CREATE TABLE d.${table} (id Int64, text String, CONSTRAINT allowed CHECK text != 'refused') ENGINE = MergeTree ORDER BY id PARTITION BY id % 4 SETTINGS non_replicated_deduplication_window = 100`,
      )),
    alter: async () => void (await run(`ALTER TABLE d.${table} ADD COLUMN more Int64`)),
    forgetRepeats: async () =>
      void (await run(`ALTER TABLE d.${table} MODIFY SETTING non_replicated_deduplication_window = 0`)),
    feedViews: () => viewsOn(table),
    misfit: "\ud800",
    refused: { text: "refused", failure: { code: 469, name: "VIOLATED_CONSTRAINT" } },
    wrongLogin: { code: 516, name: "AUTHENTICATION_FAILED" },
  };
}

async function viewsOn(table: string): Promise<ViewsUnderTest> {
  const all = `SELECT text FROM d.${table}`;
  for (const [view, query] of Object.entries({ sound: all, broken: `${all} WHERE throwIf(text = 'bad') = 0` })) {
    const to = `d.${table}_${view}`;
    await run(
      `CREATE TABLE ${to} (text String) ENGINE = MergeTree ORDER BY text SETTINGS non_replicated_deduplication_window = 100`,
    );
    await run(`CREATE MATERIALIZED VIEW ${to}_view TO ${to} AS ${query}`);
  }
  return {
    mend: async () => void (await run(`ALTER TABLE d.${table}_broken_view MODIFY QUERY ${all}`)),
    rows: async () => {
      const query = `SELECT (SELECT count() FROM d.${table}_sound) AS sound, (SELECT count() FROM d.${table}_broken) AS broken`;
      const [counts] = await server.query<{ sound: string; broken: string }>(query);
      return { sound: Number(counts?.sound), broken: Number(counts?.broken) };
    },
  };
}

function networkOf(proxy: ClickHouseProxy): NetworkUnderTest {
  return {
    cut: () => proxy.close(),
    mend: async () => {
      proxy.decide();
      await proxy.close();
      await proxy.listen();
    },
    loseAnswers: () => proxy.decideInserts(() => ({ kind: "lose" })),
    loseInserts: () => proxy.decideInserts(() => ({ kind: "drop" })),
    hold: (onHeld) =>
      proxy.decide(() => {
        onHeld();
        return { kind: "hang" };
      }),
    connections: () => proxy.connections,
  };
}
