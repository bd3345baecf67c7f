import { afterEach, describe, expect, test } from "vitest";
import type { SimulatedClickHouseOptions } from "../../support/simulation/clickhouse/clickhouse.ts";
import type { TableOptions } from "../../support/simulation/clickhouse/table-options.ts";
import { patient } from "../../integration/sink/support.ts";
import { blockOf, ClickHouseWorld, partitioned, whole } from "./clickhouse-world.ts";

/** A profile whose inserts are not deduplicated. */
const off = { insert_deduplicate: { value: "0" } };

let world: ClickHouseWorld;

/** Nothing may have been sent that the simulation does not know. */
afterEach(async () => {
  await world.end();
  expect(world.server.unknown).toEqual([]);
});

function worldOf(table: TableOptions | undefined, options: Partial<SimulatedClickHouseOptions> = {}): ClickHouseWorld {
  world = new ClickHouseWorld(1, { ...(table !== undefined && { table }), ...options });
  return world;
}

async function readingOf(sink: Awaited<ReturnType<ClickHouseWorld["opened"]>>) {
  const read = await world.settled(sink.read(true, patient));
  if (read.kind !== "read") throw new Error(`expected a reading, got ${JSON.stringify(read)}`);
  return read.reading;
}

describe("a sink opens", () => {
  test("a table that recognises repeats, and reads it", async () => {
    const { server, clock } = worldOf(partitioned);
    const sink = await world.opened();
    expect(sink.atLeastOnce).toBeUndefined();
    server.stepClock(-60_000);
    const reading = await readingOf(sink);
    expect(reading).toMatchObject({
      table: server.table?.uuid,
      blocks: 0,
      window: { entries: 10_000, seconds: Infinity },
    });
    expect(reading.description).toContain(
      "PARTITION BY p ORDER BY tuple() SETTINGS non_replicated_deduplication_window",
    );
    expect(clock.wall - reading.time).toBeGreaterThan(59_000);
  });

  test.each([
    ["no window", { ...whole, window: 0 }, "`t` MODIFY SETTING non_replicated_deduplication_window = 10000"],
    ["a short window", { ...whole, engine: "ReplicatedMergeTree", window: 5 }, "`t` MODIFY SETTING replicated_"],
    ["an engine without parts", { ...whole, engine: "Null" }, "d.t has the engine Null"],
    [
      "no window in the target of a view",
      { ...whole, views: [{ name: "v", to: { ...whole, name: "o", window: 0 } }] },
      "`o`",
    ],
  ])("a table with %s, and knows it", async (_title, table, expected) => {
    worldOf(table);
    expect((await world.opened()).atLeastOnce).toContain(expected);
  });

  test("a table that it creates", async () => {
    const { server } = worldOf(undefined);
    const sink = await world.opened({ create_table: true });
    expect(await world.insert(sink, [{ id: 1, p: 2 }])).toEqual({ kind: "ok" });
    expect(server.rows()).toEqual([{ id: 1, p: 2 }]);
    expect(server.table).toMatchObject({ name: "t", isSynced: true });
  });

  test.each([
    ["there is no table", undefined, {}, "table d.t does not exist"],
    ["the password is wrong", whole, { login: { username: "default", password: "other" } }, "AUTHENTICATION_FAILED"],
    ["the profile forbids all writing", whole, { profile: { readonly: { value: "1" } } }, "readonly = 1"],
    ["the profile holds a setting", whole, { profile: { insert_deduplicate: { value: "0", readonly: 1 } } }, "forbids"],
    ["the server knows no tokens", whole, { lacks: ["insert_deduplication_token"] }, "22.2 or later"],
    ["the table lacks a column", { columns: [{ name: "id", type: "Int64" }] }, {}, 'has no column "p"'],
  ])("nothing where %s", async (_title, table, options, expected) => {
    worldOf(table, options);
    const answer = await world.settled(world.sink().open(patient));
    expect(answer).toMatchObject({ kind: "refused", failure: { class: "setup" } });
    expect(answer.kind === "ok" ? "" : answer.failure.text).toContain(expected);
  });

  test("and cannot count blocks without the right to", async () => {
    worldOf(whole, { denied: ["parts"] });
    expect(await readingOf(await world.opened())).not.toHaveProperty("blocks");
  });
});

describe("an insert", () => {
  test("is written once under its token, for each partition by itself, and uses up numbers also where it is dropped", async () => {
    const { server } = worldOf(partitioned);
    const sink = await world.opened();
    expect(await world.insert(sink, [{ id: 1, p: 1 }], "a")).toEqual({ kind: "ok" });
    const both = [
      { id: 9, p: 1 },
      { id: 2, p: 2 },
    ];
    for (let each = 0; each < 2; each += 1) expect(await world.insert(sink, both, "a")).toEqual({ kind: "ok" });
    expect(server.stored()).toMatchObject([
      { row: { id: 1, p: 1 }, token: "a", partition: "1", block: 1 },
      { row: { id: 2, p: 2 }, token: "a", partition: "2", block: 3 },
    ]);
    expect(server.dropped).toBe(3);
    await world.insert(sink, [{ id: 3, p: 1 }], "b");
    expect(await readingOf(sink)).toMatchObject({ blocks: 6 });
  });

  test("is forgotten with the window, the oldest first", async () => {
    const { server } = worldOf({ ...whole, window: 2 });
    const sink = await world.opened();
    for (const id of [1, 2, 3, 2, 1]) await world.insert(sink, [{ id, p: 0 }]);
    expect(server.rows().map(({ id }) => id)).toEqual([1, 2, 3, 1]);
  });

  describe("without the settings of Sluice", () => {
    const token = { insert_deduplication_token: "a", async_insert: 0 } as const;
    const three = [1, 2, 3].map((id) => ({ id, p: 0 }));

    test.each([
      ["no deduplication in the profile", { profile: { deduplicate_insert: { value: "disable" } } }, {}],
      ["asynchronous inserts of the table", {}, { isAsync: true }],
      ["no deduplication on an older server", { lacks: ["deduplicate_insert"], profile: off }, {}],
    ])("is written each time with %s", async (_title, options, table) => {
      const { server } = worldOf({ ...whole, ...table }, options);
      for (let each = 0; each < 2; each += 1) expect(await world.insertPlainly(three, token)).toBeUndefined();
      expect(server.rows()).toHaveLength(6);
    });

    test("is cut into blocks by strict limits, of which an error leaves some", async () => {
      const profile = { use_strict_insert_block_limits: { value: "1" }, max_insert_block_size_bytes: { value: "30" } };
      const { server } = worldOf(whole, { profile });
      server.troubles.push({ kind: "error", code: 241 });
      expect(await world.insertPlainly(three, token)).toBe("241");
      expect(server.rows()).toEqual(three.slice(0, 2));
      expect(await world.insertPlainly(three, token)).toBeUndefined();
      expect(server.rows()).toEqual(three);
    });

    test("is answered OK at a limit of time where that breaks it off", async () => {
      const { server } = worldOf(whole, { profile: { timeout_overflow_mode: { value: "break" } } });
      server.troubles.push({ kind: "error", code: 159 }, { kind: "error", code: 159 });
      expect(await world.insertPlainly(three, token)).toBeUndefined();
      expect(server.rows()).toEqual([]);
      expect(await world.insertPlainly(three, { ...token, timeout_overflow_mode: "throw" })).toBe("159");
    });
  });

  test("is written each time where nothing is remembered", async () => {
    const { server } = worldOf({ ...whole, window: 0 });
    const sink = await world.opened();
    for (let each = 0; each < 2; each += 1) await world.insert(sink, [{ id: 1, p: 0 }]);
    expect(server.rows()).toHaveLength(2);
  });

  test.each([
    ["a value of another type", '{"id":"x"}', 27],
    ["a line that is no object", "[1]", 27],
    ["a broken constraint", '{"id":5000}', 469],
    ["null in a text", '{"id":1,"s":null}', 117],
  ])("with %s names the row and writes nothing", async (_title, line, code) => {
    const constraints = [
      { name: "small", expression: "id < 1000", holds: ({ id }: { id?: unknown }) => Number(id) < 1000 },
    ];
    const columns = [...whole.columns, { name: "s", type: "String" }];
    const { server } = worldOf({ columns, constraints });
    const sink = await world.opened({
      fields: [
        ["id", "int", "Int64"],
        ["s", "string", "String"],
      ],
    });
    const answer = await world.settled(sink.insert(blockOf(['{"id":1}', line]), "a", patient));
    expect(answer).toMatchObject({ kind: "refused", failure: { class: "row", code, row: 1 } });
    expect(server.rows()).toEqual([]);
    expect(await world.settled(sink.probe(blockOf(['{"id":1}', line]), patient))).toMatchObject({
      kind: "found",
      rows: [{ row: 1, failure: { code } }],
    });
  });

  test("stores a number out of range as another one, and null as 0", async () => {
    const { server } = worldOf(whole);
    const sink = await world.opened();
    await world.settled(
      sink.insert(blockOf(['{"id":null,"p":300}', '{"id":9223372036854775808,"p":-1}']), "a", patient),
    );
    expect(server.rows()).toEqual([
      { id: 0, p: 44 },
      { id: "-9223372036854775808", p: 255 },
    ]);
  });

  test("into many partitions goes in with a higher limit, unless the profile forbids it", async () => {
    const rows = Array.from({ length: 150 }, (_, p) => ({ id: p, p }));
    const { server } = worldOf(partitioned);
    expect(await world.insert(await world.opened(), rows)).toEqual({ kind: "ok" });
    expect(server.rows()).toHaveLength(150);
    await world.end();
    worldOf(partitioned, { profile: { max_partitions_per_insert_block: { max: "100" } } });
    expect(await world.insert(await world.opened(), rows)).toMatchObject({
      kind: "refused",
      failure: { class: "partitions" },
    });
    expect(world.server.rows()).toEqual([]);
  });

  test("that meets a broken index stays in the partitions before it, and its token completes it", async () => {
    const { server } = worldOf({ ...partitioned, brokenIndex: { code: 6, fails: ({ id }) => id === 3 } });
    const sink = await world.opened();
    const rows = [
      { id: 1, p: 1 },
      { id: 2, p: 2 },
      { id: 3, p: 3 },
    ];
    expect(await world.insert(sink, rows, "a")).toMatchObject({ kind: "unknown", failure: { code: 6 } });
    expect(server.rows()).toEqual(rows.slice(0, 2));
    server.alter({ brokenIndex: { code: 6, fails: () => false } });
    expect(await world.insert(sink, rows, "a")).toEqual({ kind: "ok" });
    expect(server.rows()).toEqual(rows);
  });

  test("that a view fails for is in the table, and its token completes the view", async () => {
    const views = [{ name: "v", to: { ...whole, name: "o" }, broken: { code: 6, fails: () => true } }];
    const { server } = worldOf({ ...whole, views });
    const sink = await world.opened();
    expect(await world.insert(sink, [{ id: 1, p: 1 }])).toMatchObject({
      kind: "unknown",
      failure: { class: "view", code: 6 },
    });
    const view = server.table!.views[0]!;
    expect([server.rows().length, server.rows(view.to).length]).toEqual([1, 0]);
    view.broken = undefined;
    for (let each = 0; each < 2; each += 1) expect(await world.insert(sink, [{ id: 1, p: 1 }])).toEqual({ kind: "ok" });
    expect([server.rows().length, server.rows(view.to).length]).toEqual([1, 1]);
  });

  test("passes on from view to view, and the last one that fails is completed by its token", async () => {
    const last = { name: "w", to: { ...whole, name: "last" }, broken: { code: 6, fails: () => true } };
    const { server } = worldOf({ ...whole, views: [{ name: "v", to: { ...whole, name: "middle", views: [last] } }] });
    const sink = await world.opened();
    const tables = [...server.tables.values()];
    const lengths = (): number[] => tables.map((table) => server.rows(table).length);
    expect(await world.insert(sink, [{ id: 1, p: 1 }])).toMatchObject({ kind: "unknown", failure: { class: "view" } });
    expect(lengths()).toEqual([1, 1, 0]);
    tables[1]!.views[0]!.modifyQuery({}, server.now);
    for (let each = 0; each < 2; each += 1) expect(await world.insert(sink, [{ id: 1, p: 1 }])).toEqual({ kind: "ok" });
    expect(lengths()).toEqual([1, 1, 1]);
  });

  test("is written again to the target of a view whose query was modified, and once where the view was mended otherwise", async () => {
    const { server } = worldOf({ ...whole, views: [{ name: "v", to: { ...whole, name: "o" } }] });
    const sink = await world.opened();
    const view = server.table!.views[0]!;
    await world.insert(sink, [{ id: 1, p: 1 }]);
    view.broken = undefined;
    await world.insert(sink, [{ id: 1, p: 1 }]);
    expect(server.rows(view.to)).toHaveLength(1);
    view.modifyQuery({}, server.now);
    for (let each = 0; each < 2; each += 1) await world.insert(sink, [{ id: 1, p: 1 }]);
    expect([server.rows().length, server.rows(view.to).length]).toEqual([1, 2]);
  });

  test("may ignore what fails in a view", async () => {
    const views = [{ name: "v", to: { ...whole, name: "o" }, broken: { code: 6, fails: () => true } }];
    worldOf({ ...whole, views });
    const sink = await world.opened();
    const block = blockOf(['{"id":1,"p":1}']);
    expect(await world.settled(sink.insert(block, "a", patient, { ignoreViews: true }))).toEqual({ kind: "ok" });
  });
});

test("a user without the right to it cannot probe", async () => {
  worldOf(whole, { denied: ["probe"] });
  const sink = await world.opened();
  const probe = await world.settled(sink.probe(blockOf(['{"id":"x"}']), patient));
  expect(probe).toMatchObject({ kind: "found", rows: [{ row: 0 }] });
  expect(await world.settled(sink.probe(blockOf(['{"id":1}']), patient))).toMatchObject({
    kind: "forbidden",
    grant: expect.stringContaining("CREATE ARBITRARY TEMPORARY TABLE") as string,
  });
});

test("what the simulation does not know is refused, and collected", async () => {
  const { server } = worldOf(whole);
  server.otherWriter([{ rows: [{ id: 1, p: 2 }] }]);
  expect(await world.run("SELECT id FROM d.t")).toEqual([{ id: 1 }]);
  expect(await world.run("OPTIMIZE TABLE d.t")).toBe("62");
  expect(await world.run("SELECT nonsense()")).toBe("62");
  expect(await world.run("SELECT id FROM d.t", { max_threads: 1 })).toBe("115");
  expect(server.unknown.splice(0)).toEqual([
    expect.stringContaining("OPTIMIZE TABLE d.t"),
    "not understood: the function nonsense",
    "Unknown setting 'max_threads'.",
  ]);
});

describe("of several replicas", () => {
  const replicated: TableOptions = { ...partitioned, engine: "ReplicatedMergeTree", windowSeconds: 100 };

  test("each counts what it has got, and all know the tokens", async () => {
    const { server, clock } = worldOf(replicated, { replicas: 3, lag: [1_000, 60_000] });
    const sink = await world.opened();
    expect(sink.atLeastOnce).toBeUndefined();
    for (const id of [1, 2, 3, 4, 1, 2]) await world.insert(sink, [{ id, p: 1 }]);
    expect(server.rows()).toHaveLength(4);
    const seen = new Set<number | undefined>();
    for (let each = 0; each < 12; each += 1) seen.add((await readingOf(sink)).blocks);
    expect(seen.size).toBeGreaterThan(1);
    await clock.pass(60_000);
    for (let each = 0; each < 12; each += 1) expect(await readingOf(sink)).toMatchObject({ blocks: 4 });
  });

  test("a reading counts the first block of each partition too, whose number is 0", async () => {
    worldOf(replicated);
    const sink = await world.opened();
    for (const p of [1, 2, 3]) {
      await world.insert(sink, [{ id: p, p }]);
      expect(await readingOf(sink)).toMatchObject({ blocks: p });
    }
  });

  test("a token is forgotten after its seconds, by the server's clock", async () => {
    const { server, clock } = worldOf(replicated, { replicas: 2 });
    const sink = await world.opened();
    await world.insert(sink, [{ id: 1, p: 1 }]);
    await clock.pass(90_000);
    await world.insert(sink, [{ id: 1, p: 1 }]);
    expect(server.rows()).toHaveLength(1);
    server.stepClock(11_000);
    await world.insert(sink, [{ id: 1, p: 1 }]);
    expect(server.rows()).toHaveLength(2);
  });
});

describe("what a person or another writer does", () => {
  test("is seen in the next reading", async () => {
    const { server, clock } = worldOf(partitioned);
    const sink = await world.opened();
    const first = await readingOf(sink);
    server.otherWriter([
      {
        rows: [
          { id: 7, p: 1 },
          { id: 8, p: 2 },
        ],
      },
      { rows: [{ id: 9, p: 1 }], token: "x" },
      { rows: [{ id: 9, p: 1 }], token: "x" },
    ]);
    expect(server.rows()).toHaveLength(3);
    expect(await readingOf(sink)).toMatchObject({ blocks: 3, description: first.description });
    await clock.pass(5_000);
    server.alter({ columns: [...partitioned.columns, { name: "more", type: "Int32", byDefault: 4 }] });
    const altered = await readingOf(sink);
    expect(altered.description).toContain("`more` Int32 DEFAULT 4");
    expect(altered.altered).toBeGreaterThan(first.altered);
    await world.insert(sink, [{ id: 1, p: 3 }]);
    expect(server.rows().at(-1)).toEqual({ id: 1, p: 3, more: 4 });
    server.alter({ window: 7 });
    expect(await readingOf(sink)).toMatchObject({ window: { entries: 7 }, table: first.table });
    server.create(partitioned);
    const anew = await readingOf(sink);
    expect(anew).toMatchObject({ blocks: 0 });
    expect(anew.table).not.toBe(first.table);
    server.drop();
    expect(await world.settled(sink.read(true, patient))).toMatchObject({
      kind: "refused",
      failure: { class: "setup" },
    });
    expect(await world.insert(sink, [{ id: 1, p: 1 }])).toMatchObject({ kind: "refused", failure: { code: 60 } });
  });

  test("frees the tokens of the parts that were dropped", async () => {
    const { server } = worldOf(partitioned);
    const sink = await world.opened();
    const rows = [
      { id: 1, p: 1 },
      { id: 2, p: 2 },
    ];
    await world.insert(sink, rows, "a");
    expect(server.dropPartition("2").map(({ row }) => row)).toEqual([{ id: 2, p: 2 }]);
    expect(await readingOf(sink)).toMatchObject({ blocks: 1 });
    await world.insert(sink, rows, "a");
    expect(server.rows()).toEqual(rows);
    expect(server.dropped).toBe(1);
  });
});
