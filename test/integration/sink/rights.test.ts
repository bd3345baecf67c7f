import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventList } from "../../../engine/event/event.ts";
import type { Answer, Probe } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { denied, proxyTo } from "./proxy.ts";
import { RestrictedClickHouse, type Rights } from "./restricted.ts";
import { events, patient, sinkOn } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

let clickhouse: RestrictedClickHouse;
const window = "SETTINGS non_replicated_deduplication_window = 100";

beforeAll(async () => {
  clickhouse = await RestrictedClickHouse.create();
  await clickhouse.as({}, async ({ client }) => {
    for (const query of [
      "CREATE DATABASE d",
      `CREATE TABLE d.t (id Int64, p Int64 DEFAULT 0, CONSTRAINT small CHECK id < 100) ENGINE = MergeTree ORDER BY id PARTITION BY p ${window}`,
      `CREATE TABLE d.shared (id Int64) ENGINE = MergeTree ORDER BY id PARTITION BY id % 3 ${window}`,
      "INSERT INTO d.shared SELECT number FROM numbers(30)",
      "INSERT INTO d.shared SELECT number FROM numbers(30, 30)",
    ]) {
      await client.command({ query });
    }
  });
});

afterAll(() => clickhouse.remove());

/** Runs `work` with a sink on a table, opened by a user with these rights. */
function sunk<Result>(
  rights: Rights,
  work: (sink: ClickHouseSink, opened: Answer, server: TestClickHouse) => Promise<Result>,
  table = "t",
): Promise<Result> {
  return clickhouse.as(rights, async (server) => {
    const sink = sinkOn(server, {
      fields: [
        ["id", "int", "Int64"],
        ["p", "int", "Int64"],
      ],
      table,
    });
    try {
      return await work(sink, await sink.open(patient), server);
    } finally {
      await sink.close();
    }
  });
}

function constraint(name: string, rule: string): string {
  return `<constraints><${name}>${rule}</${name}></constraints>`;
}

const grants = ["GRANT INSERT ON d.t"];
const block = (sink: ClickHouseSink) => encoded(sink, events({ id: 1, p: 1 }, { id: 500, p: 1 }, { id: 2, p: 1 }));

describe("a user who may insert and nothing else", () => {
  test("opens, reads and writes, may not probe, and is told the right that the engine asks for", async () => {
    await sunk({ grants }, async (sink, opened) => {
      expect(opened).toEqual({ kind: "ok" });
      expect(sink.atLeastOnce).toBeUndefined();
      const before = await sink.read(true, patient);
      expect(await sink.insert(encoded(sink, events({ id: 1 })), "a", patient)).toEqual({ kind: "ok" });
      const after = await sink.read(true, patient);
      if (before.kind !== "read" || after.kind !== "read") throw new Error("expected two readings");
      expect(after.reading.blocks! - before.reading.blocks!).toBe(1);
      expect(await sink.probe(block(sink), patient)).toEqual({
        kind: "forbidden",
        grant: "GRANT CREATE ARBITRARY TEMPORARY TABLE ON *.* TO `default`",
      });
    });
  });

  test("may probe once it has that right", { tags: ["rest"] }, async () => {
    const allowed = [...grants, "GRANT CREATE ARBITRARY TEMPORARY TABLE ON *.*"];
    const probe = await sunk({ grants: allowed }, (sink) => sink.probe(block(sink), patient));
    expect(probe).toMatchObject({ kind: "found", rows: [{ row: 1, failure: { class: "row", code: 469, row: 1 } }] });
  });
});

/** What a sink whose table is missing in a database is answered. */
async function created(server: TestClickHouse, database: string): Promise<Answer> {
  const sink = sinkOn(server, { fields: [["id", "int", "Int64"]], table: "fresh", database, create_table: true });
  try {
    return await sink.open(patient);
  } finally {
    await sink.close();
  }
}

describe("a user who may create tables in one database", () => {
  const some = ["GRANT CREATE TABLE, INSERT ON d.*"];
  test("has a missing table created, and is told the right that a missing database asks for", { tags: ["rest"] }, () =>
    clickhouse.as({ grants: some }, async (server) => {
      expect(await created(server, "d")).toEqual({ kind: "ok" });
      expect(JSON.stringify(await created(server, "elsewhere"))).toMatch(/CREATE TABLE|CREATE DATABASE/);
    }),
  );
});

test(
  "a user who may insert into some columns alone is told the right to see the others",
  { tags: ["rest"] },
  async () => {
    const some = ["GRANT INSERT(id, p) ON d.t", "GRANT CREATE ARBITRARY TEMPORARY TABLE ON *.*"];
    const probe = await sunk({ grants: some }, (sink) => sink.probe(block(sink), patient));
    expect(probe).toEqual({ kind: "forbidden", grant: "GRANT SHOW COLUMNS ON d.t TO `default`" });
  },
);

function probed(sink: ClickHouseSink, ...lines: string[]): Promise<Probe> {
  const body = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  return sink.probe({ events: EventList.of(events(...lines)), body, rejected: [] }, patient);
}

describe("a user who may make temporary tables in memory alone", () => {
  const some = [...grants, "GRANT CREATE TEMPORARY TABLE ON *.*"];
  test(
    "finds what does not fit the types, and is told what it lacks where they are not to blame",
    { tags: ["rest"] },
    () =>
      sunk({ grants: some }, async (sink) => {
        expect(await probed(sink, '{"id":1,"p":1}', '{"id":2,"p":"x"}', '{"id":"y","p":1}')).toMatchObject({
          kind: "found",
          rows: [
            { row: 1, failure: { code: 27 } },
            { row: 2, failure: { code: 27 } },
          ],
        });
        expect(await probed(sink, '{"id":500,"p":1}')).toEqual({
          kind: "forbidden",
          grant: "GRANT CREATE ARBITRARY TEMPORARY TABLE ON *.* TO `default`",
        });
      }),
  );
});

async function refused(_title: string, profile: string, text: string): Promise<void> {
  const [opened, written] = await sunk({ grants, profile }, async (sink, answer) => [
    answer,
    await sink.insert(encoded(sink, events({ id: 1 })), "b", patient),
  ]);
  expect(opened).toMatchObject({ kind: "refused", failure: { class: "setup", text: expect.stringContaining(text) } });
  // What the check foretells is what the server does.
  expect(written).toMatchObject({ kind: "refused", failure: { class: "setup" } });
}

describe("a profile", () => {
  const refusals: [title: string, profile: string, says: string][] = [
    ["that is read-only", "<readonly>1</readonly>", "has readonly = 1, which forbids every insert"],
    [
      "that insists on another value",
      `<insert_deduplicate>0</insert_deduplicate>${constraint("insert_deduplicate", "<const/>")}`,
      "the settings profile of user default holds insert_deduplicate = 0 and forbids to change it, but every insert needs 1; an administrator should set it to 1 there, or lift that constraint",
    ],
  ];
  const [readOnly, ...others] = refusals;

  test.each([readOnly!])("%s is a setup failure that says so", refused);
  test.each(others)("%s is a setup failure that says so", { tags: ["rest"] }, refused);

  test("that insists on what is sent anyway does no harm", { tags: ["rest"] }, async () => {
    const profile = constraint("async_insert", "<const/>") + constraint("insert_deduplicate", "<const/>");
    await sunk({ grants, profile }, async (sink, opened) => {
      expect(opened).toEqual({ kind: "ok" });
      expect(await sink.insert(encoded(sink, events({ id: 3 })), "c", patient)).toEqual({ kind: "ok" });
    });
  });

  test(
    "that allows too few partitions leaves an insert into too many for somebody to mend",
    { tags: ["rest"] },
    async () => {
      const profile = constraint("max_partitions_per_insert_block", "<max>500</max>");
      await sunk({ grants, profile }, async (sink, opened) => {
        expect(opened).toEqual({ kind: "ok" });
        const many = encoded(sink, events(...Array.from({ length: 110 }, (_, p) => ({ id: 1, p }))));
        expect(await sink.insert(many, "d", patient)).toMatchObject({
          kind: "refused",
          failure: { class: "partitions", code: 252 },
        });
      });
    },
  );
});

test("where the profile cannot be read, what it forbids shows when it is met", { tags: ["rest"] }, async () => {
  const profile = constraint("max_partitions_per_insert_block", "<const/>");
  await clickhouse.as({ profile }, async (server) => {
    const proxy = await proxyTo(server.url, (statement) =>
      statement.includes("system.settings") ? denied("SELECT(name, value) ON system.settings") : undefined,
    );
    const sink = sinkOn({ ...server, url: proxy.url }, { fields: [["p", "int", "Int64"]], table: "t" });
    expect(await sink.open(patient)).toEqual({ kind: "ok" });
    const many = encoded(sink, events(...Array.from({ length: 110 }, (_, p) => ({ p }))));
    for (const inserts of [2, 3]) {
      expect(await sink.insert(many, "e", patient)).toMatchObject({
        kind: "refused",
        failure: { class: "partitions", code: 252 },
      });
      expect(proxy.statements.filter((statement) => statement.startsWith("INSERT"))).toHaveLength(inserts);
    }
    expect(await sink.insert(encoded(sink, events({ p: 1 })), "f", patient)).toEqual({ kind: "ok" });
    await sink.close();
    await proxy.stop();
  });
});

test(
  "a replicated table is read by the blocks of all its partitions, and remembers for an hour",
  { tags: ["rest"] },
  async () => {
    await clickhouse.as({}, async ({ client }) => {
      await client.command({ query: "DETACH TABLE d.shared" });
      await client.command({ query: "ATTACH TABLE d.shared AS REPLICATED" });
    });
    await clickhouse.as({}, async (server) => {
      const sink = sinkOn(server, { fields: [["id", "int", "Int64"]], table: "shared" });
      expect(await sink.open(patient)).toEqual({ kind: "ok" });
      expect(sink.atLeastOnce).toBeUndefined();
      const [sum] = await server.query<{ blocks: number }>(
        "SELECT sum(highest + 1) AS blocks FROM (SELECT max(max_block_number) AS highest FROM system.parts WHERE database = 'd' AND table = 'shared' GROUP BY partition)",
      );
      // The highest numbers of the partitions are 4, 5 and 6; those of a replicated table begin at 0.
      expect(sum?.blocks).toBe(18);
      expect(await sink.read(true, patient)).toMatchObject({
        kind: "read",
        reading: { blocks: 18, isReplicated: true, window: { entries: 10_000, seconds: 3600 } },
      });
      await sink.close();
    });
  },
);
