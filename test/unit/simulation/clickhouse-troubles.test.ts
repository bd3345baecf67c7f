import { afterEach, describe, expect, test } from "vitest";
import type { Answer } from "../../../engine/core/sink.ts";
import { patient } from "../../integration/sink/support.ts";
import type { SimulatedClickHouseOptions } from "../../support/simulation/clickhouse/clickhouse.ts";
import type { TableOptions } from "../../support/simulation/clickhouse/table-options.ts";
import type { RequestTrouble } from "../../support/simulation/clickhouse/trouble.ts";
import { blockOf, ClickHouseWorld, partitioned, whole } from "./clickhouse-world.ts";
import type { TestRow } from "./clickhouse-world.ts";

let world: ClickHouseWorld;

/** Nothing may have been sent that the simulation does not know. */
afterEach(async () => {
  await world.end();
  expect(world.server.unknown).toEqual([]);
});

async function opened(table: TableOptions, options: Partial<SimulatedClickHouseOptions> = {}, seed = 1) {
  world = new ClickHouseWorld(seed, { table, ...options });
  return { server: world.server, clock: world.clock, sink: await world.opened() };
}

/** What became of an insert that a kill met, rows at first and after its repeat, by seeds until all `wanted` was seen. */
async function outcomes(table: TableOptions, rows: readonly TestRow[], wanted: string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (let seed = 0; seed < 60 && !wanted.every((one) => found.has(one)); seed += 1) {
    const { server, sink, clock } = await opened(table, { work: [0, 6] }, seed);
    await world.insert(sink, [{ id: 0, p: 0 }], "earlier");
    const insert = sink.insert(blockOf(rows.map((row) => JSON.stringify(row))), "a", patient);
    await clock.pass(1 + world.draw(8));
    server.kill();
    const answer = await world.settled(insert);
    const left = server.rows().length;
    server.start();
    expect(await world.insert(sink, rows, "a")).toEqual({ kind: "ok" });
    expect(server.rows()[0]).toEqual({ id: 0, p: 0 });
    found.add(`${answer.kind}: ${left - 1}, then ${server.rows().length - 1}`);
    await world.end();
  }
  return found;
}

/** Inserts until each is in, and says all that happened. */
async function insertAll(seed: number, table: TableOptions): Promise<string[]> {
  const { server, sink, clock } = await opened(table, { troubleRate: { inserts: 2, others: 0 } }, seed);
  const trace: string[] = [];
  for (let id = 0; id < 20; id += 1) {
    const rows = Array.from({ length: 1 + world.draw(4) }, (_, p) => ({ id, p }));
    for (let answer: Answer = { kind: "refused" } as Answer; answer.kind !== "ok";) {
      answer = await world.insert(sink, rows, `${id}`);
      trace.push(`${clock.monotonic} ${answer.kind === "ok" ? "ok" : `${answer.kind} ${answer.failure.name}`}`);
      await clock.pass(500);
    }
  }
  // What begins late may still be under way.
  await clock.pass(600_000);
  const stored = server.stored().map(({ row: { id, p } }) => `${String(id)} ${String(p)}`);
  expect(new Set(stored).size).toBe(stored.length);
  expect(new Set(server.rows().map(({ id }) => id)).size).toBe(20);
  return [...trace, ...stored, ...[...server.met].map(([kind, count]) => `${kind} ${count}`)];
}

const three = [
  { id: 1, p: 1 },
  { id: 2, p: 2 },
  { id: 3, p: 3 },
];

async function expectAnswer(_title: string, trouble: RequestTrouble, answer: object, rows: number): Promise<void> {
  const { server, sink } = await opened(partitioned);
  server.troubles.push(trouble);
  expect(await world.insert(sink, three, "a")).toMatchObject(answer);
  expect(server.rows()).toEqual(three.slice(0, rows));
  expect(server.met).toEqual(new Map([[trouble.kind, 1]]));
  expect(await world.insert(sink, three, "a")).toEqual({ kind: "ok" });
  expect(server.rows()).toEqual(three);
  expect(server.dropped).toBe(rows);
}

describe("an insert of three partitions that meets", () => {
  const transient = { kind: "unknown", failure: { class: "transient" } };
  const cases: [title: string, trouble: RequestTrouble, answer: object, rows: number][] = [
    ["too many parts", { kind: "error", code: 252, after: 0 }, transient, 0],
    ["a lack of memory in the middle", { kind: "error", code: 241, after: 1 }, transient, 1],
    ["a table that is read-only", { kind: "error", code: 242 }, transient, 0],
    ["a timeout when all is written", { kind: "error", code: 159, after: 9 }, transient, 3],
    ["an unknown table", { kind: "error", code: 60 }, { kind: "refused", failure: { class: "setup", code: 60 } }, 0],
    [
      "an error in its own words",
      { kind: "error", code: 999, text: "Lost." },
      { failure: { text: expect.stringContaining("Lost.") as string } },
      0,
    ],
    ["a server that begins late", { kind: "begins late", milliseconds: 60_000 }, { kind: "ok" }, 3],
    ["a server that takes too long", { kind: "answers late", milliseconds: 900_000 }, transient, 3],
    ["a lost answer", { kind: "answer lost" }, transient, 3],
    ["a reset before it is read", { kind: "reset", bytes: 0 }, transient, 0],
    ["a garbled status line", { kind: "garbled", at: "status" }, transient, 3],
    ["an answer that is cut off", { kind: "truncated" }, transient, 3],
    ["a proxy that says OK", { kind: "foreign ok" }, transient, 0],
    ["a bad gateway before it", { kind: "gateway", status: 502, reaches: "never" }, transient, 0],
    ["a redirect", { kind: "redirect", status: 307 }, { kind: "unknown", failure: { class: "setup" } }, 0],
    ["a slow answer", { kind: "slow", milliseconds: 50 }, { kind: "ok" }, 3],
    ["an error in the body after OK", { kind: "late error", code: 241, at: "body", after: 2 }, transient, 2],
    ["a malformed summary", { kind: "malformed summary" }, transient, 3],
    ["an answer to another statement", { kind: "other query" }, transient, 3],
  ];

  const alike: typeof cases = [
    ["no thread", { kind: "error", code: 439 }, transient, 0],
    ["an unknown database", { kind: "error", code: 81 }, { kind: "refused", failure: { class: "setup" } }, 0],
    ["a wrong login", { kind: "error", code: 516 }, { kind: "refused", failure: { class: "setup" } }, 0],
    ["a server that answers late", { kind: "answers late", milliseconds: 60_000 }, { kind: "ok" }, 3],
    ["a garbled header", { kind: "garbled", at: "header" }, transient, 3],
    ["a garbled chunk", { kind: "garbled", at: "chunk" }, transient, 3],
    ["a gateway that is late", { kind: "gateway", status: 504, reaches: "before" }, transient, 3],
    ["an error in a header after OK", { kind: "late error", code: 241, at: "header", after: 1 }, transient, 1],
    ["a reset in its body", { kind: "reset", bytes: 20 }, transient, 0],
    ["an unknown status", { kind: "error", code: 319, after: 9 }, transient, 3],
  ];

  const title = "%s is answered as that, and its token completes it";

  test.each(cases)(title, expectAnswer);

  test.each(alike)(title, { tags: ["rest"] }, expectAnswer);

  test.each<[string, RequestTrouble]>([
    ["a gateway that gave up on it", { kind: "gateway", status: 504, reaches: { later: 30_000 } }],
    ["a reset, at which the server goes on", { kind: "answer lost", later: 30_000 }],
  ])("%s is written later", async (_title, trouble) => {
    const { server, sink, clock } = await opened(partitioned);
    server.troubles.push(trouble);
    expect(await world.insert(sink, three, "a")).toMatchObject({ kind: "unknown", failure: { class: "transient" } });
    expect(server.rows()).toEqual([]);
    expect(await world.insert(sink, three, "a")).toEqual({ kind: "ok" });
    await clock.pass(40_000);
    expect(server.rows()).toEqual(three);
    expect(server.dropped).toBe(3);
  });

  test("an error after the only partition of a plain table came too late, and the token completes nothing", async () => {
    const { server, sink } = await opened(whole);
    server.troubles.push({ kind: "error", code: 159, after: 1 });
    expect(await world.insert(sink, three, "a")).toMatchObject({ kind: "unknown", failure: { class: "transient" } });
    expect(server.rows()).toEqual(three);
    expect(await world.insert(sink, three, "a")).toEqual({ kind: "ok" });
    expect(server.rows()).toEqual(three);
  });
});

test.each<RequestTrouble>([
  { kind: "error", code: 202 },
  { kind: "answers late", milliseconds: 40_000 },
  { kind: "answer lost" },
  { kind: "truncated" },
  { kind: "gateway", status: 503, reaches: "never" },
])("a reading that meets $kind is no reading, and the next one is", async (trouble) => {
  const { server, sink } = await opened(whole);
  server.readTroubles.push(trouble);
  expect(await world.settled(sink.read(true, patient))).toMatchObject({ failure: { class: "transient" } });
  expect(await world.settled(sink.read(true, patient))).toMatchObject({ kind: "read" });
});

describe("a server that is killed", () => {
  test("refuses, and comes back with what was answered, another uptime and the next numbers", async () => {
    const { server, sink, clock } = await opened(whole);
    await world.insert(sink, [{ id: 1, p: 1 }]);
    server.kill();
    expect([server.isUp, await world.ping()]).toEqual([false, false]);
    const refused = await world.insert(sink, [{ id: 2, p: 1 }]);
    expect(refused).toMatchObject({ kind: "refused", failure: { class: "transient", name: "network_io" } });
    expect(refused.kind === "ok" ? "" : refused.failure.text).toContain("ECONNREFUSED");
    await clock.pass(60_000);
    server.start();
    expect([server.isUp, await world.ping()]).toEqual([true, true]);
    await clock.pass(5_000);
    expect(await world.run("SELECT uptime() AS up, version() AS version")).toEqual([{ up: 5, version: "26.7.2.1" }]);
    for (const id of [1, 2]) expect(await world.insert(sink, [{ id, p: 1 }])).toEqual({ kind: "ok" });
    expect(server.stored().map(({ row, block }) => [row["id"], block])).toEqual([
      [1, 1],
      [2, 3],
    ]);
    expect(server.met.get("kill")).toBe(1);
  });

  test("leaves an insert out, or in, or its token alone", async () => {
    const all = ["ok: 1, then 1", "unknown: 0, then 0", "unknown: 0, then 1", "unknown: 1, then 1"];
    const found = await outcomes(whole, [{ id: 1, p: 1 }], all);
    expect([...found].toSorted()).toEqual(all.toSorted());
  });

  test("leaves some partitions of an insert", { tags: ["rest"] }, async () => {
    const some = ["unknown: 1, then 3", "unknown: 2, then 3", "unknown: 1, then 2"];
    expect([...(await outcomes(partitioned, three, some))]).toEqual(expect.arrayContaining(some));
  });

  test("of several replicas leaves no token alone", { tags: ["rest"] }, async () => {
    const all = ["ok: 1, then 1", "unknown: 0, then 1", "unknown: 1, then 1"];
    const found = await outcomes({ ...whole, engine: "ReplicatedMergeTree" }, [{ id: 1, p: 1 }], all);
    expect([...found].toSorted()).toEqual(all.toSorted());
  });

  test("and loses its power, loses nothing that was synced", async () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const { server, sink } = await opened(whole, {}, seed);
      for (const id of [1, 2, 3]) await world.insert(sink, [{ id, p: 1 }]);
      server.kill({ losesParts: true });
      expect(server.rows()).toHaveLength(3);
      server.start();
      await world.end();
    }
  });

  test(
    "and loses its power, may lose what was not synced, with its tokens or without",
    { tags: ["rest"] },
    async () => {
      const found = new Set<string>();
      for (let seed = 0; seed < 20; seed += 1) {
        const { server, sink, clock } = await opened({ ...whole, isSynced: false }, {}, seed);
        await world.insert(sink, [{ id: 0, p: 1 }]);
        await clock.pass(31_000);
        await world.insert(sink, [{ id: 1, p: 1 }]);
        server.kill({ losesParts: true });
        const left = server.rows().length;
        expect(left).toBeGreaterThan(0);
        server.start();
        await world.insert(sink, [{ id: 1, p: 1 }]);
        found.add(`${left}, then ${server.rows().length}`);
        await world.end();
      }
      expect([...found].toSorted()).toEqual(["1, then 1", "1, then 2", "2, then 2", "2, then 3"]);
    },
  );

  test("and loses its power, may lose tokens whose rows are synced, the newest ones", async () => {
    const found = new Set<string>();
    for (let seed = 0; seed < 20; seed += 1) {
      const { server, sink, clock } = await opened(whole, {}, seed);
      await world.insert(sink, [{ id: 0, p: 1 }]);
      await clock.pass(31_000);
      await world.insert(sink, [{ id: 1, p: 1 }]);
      server.kill({ losesParts: true });
      server.start();
      for (const id of [0, 1]) await world.insert(sink, [{ id, p: 1 }]);
      found.add(
        server
          .rows()
          .map(({ id }) => String(id))
          .join(", "),
      );
      await world.end();
    }
    expect([...found].toSorted()).toEqual(["0, 1", "0, 1, 1"]);
  });
});

async function expectSameOfSeed(table: TableOptions): Promise<void> {
  for (let seed = 0; seed < 2; seed += 1) {
    const first = await insertAll(seed, table);
    await world.end();
    expect(await insertAll(seed, table)).toEqual(first);
    await world.end();
  }
}

describe("with drawn troubles", () => {
  test("a sink opens and reads all the same", async () => {
    for (let seed = 0; seed < 4; seed += 1) {
      world = new ClickHouseWorld(seed, { table: partitioned, troubleRate: { inserts: 0, others: 4 } });
      const sink = world.sink();
      const isDone = async (ask: () => Promise<{ kind: string }>, kind: string): Promise<boolean> =>
        (await world.settled(ask())).kind === kind;
      while (!(await isDone(() => sink.open(patient), "ok")));
      while (!(await isDone(() => sink.read(true, patient), "read")));
      expect(sink.atLeastOnce).toBeUndefined();
      expect(world.server.unknown).toEqual([]);
      await world.end();
    }
  });

  test("a plain table gets each row once, under its token, and a seed decides all", () =>
    expectSameOfSeed(partitioned));

  test("several replicas get each row once, under its token, and a seed decides all", { tags: ["rest"] }, () =>
    expectSameOfSeed({ ...partitioned, engine: "ReplicatedMergeTree" }),
  );
});
