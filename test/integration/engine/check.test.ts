import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Readiness } from "../../../engine/index.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import type { EngineOptions } from "../../../schemas/pipeline.ts";
import { EngineOnServer, mappingOf, type Over, tableOf, webhookOf } from "../../support/engine-on-server.ts";

let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
afterAll(() => on.stop());

const over: Over = {
  sources: webhookOf({ id: "int", n: "int" }),
  sink: { mapping: mappingOf({ id: "Int64", n: "Int32" }) },
};

function check(pipeline_id: string, sink: Over["sink"] = {}, options: Partial<EngineOptions> = {}): Promise<Readiness> {
  const config = on.config(pipeline_id, { ...over, sink: { ...over.sink, ...sink } });
  return on.engine.engine.check(config, { ...defaultOptions, ...options });
}

const refused = (text: RegExp): object => ({ kind: "refused", text: expect.stringMatching(text) as string });

test("a config whose table takes its rows is ready, and nothing is created or changed by the check", async () => {
  const columns = "(id Int64, n Int32) ENGINE = MergeTree ORDER BY id";
  await on.run(`CREATE TABLE ${tableOf("fine")} ${columns} SETTINGS non_replicated_deduplication_window = 1000`);
  expect(await check("fine")).toEqual({ kind: "ready", table: { engine: "MergeTree", order_by: ["id"] } });
  await on.run(`CREATE TABLE ${tableOf("forgets")} ${columns}`);
  expect(await check("forgets")).toMatchObject({
    kind: "ready",
    atLeastOnce: expect.stringContaining("remembers 0 inserts") as string,
  });
  expect(await check("created", {}, { create_table: true })).toEqual({ kind: "ready" });
  expect(await on.server.query(`SELECT name FROM system.tables WHERE name = 'created'`)).toEqual([]);
  expect(on.engine.engine.list()).toEqual([]);
});

test("a missing table or column, a column of another type, a wrong login, and a secret that is not set are refused", async () => {
  expect(await check("missing", {}, { create_table: false })).toEqual(refused(/table d\.missing does not exist/));
  await on.run(`CREATE TABLE ${tableOf("lacks")} (id Int64) ENGINE = MergeTree ORDER BY id`);
  expect(await check("lacks", {}, { create_table: true })).toEqual(refused(/d\.lacks has no column "n"/));
  await on.run(`CREATE TABLE ${tableOf("other")} (id Int64, n Array(Int32)) ENGINE = MergeTree ORDER BY id`);
  expect(await check("other")).toEqual(refused(/field "n" to column "n"/));
  const login = { connection_params: on.connection({ username: "nobody", password: "wrong" }) };
  expect(await check("fine", login)).toEqual(refused(/AUTHENTICATION_FAILED|Authentication failed/));
  const unset = { connection_params: on.connection({ password: "${env:UNSET}" }) };
  expect(await check("fine", unset)).toEqual(refused(/env:UNSET/));
  expect(await check("fine", {}, { access_token: "${env:NO_TOKEN}" })).toEqual(refused(/env:NO_TOKEN/));
  expect(await check("fine", {}, { access_token: "short" })).toEqual(refused(/has fewer than 16 characters/));
});

test("columns that a table lacks are added with alter_table, by the start and not by the check", async () => {
  const table = tableOf("grows");
  const columns = (): Promise<unknown> =>
    on.server.query(`SELECT name, type FROM system.columns WHERE table = 'grows'`);
  await on.run(`CREATE TABLE ${table} (id Int64, other String) ENGINE = MergeTree ORDER BY id`);
  const before = await columns();
  expect(await check("grows")).toEqual(refused(/d\.grows has no column "n".*x-sluice\.alter_table: true/));
  expect(await check("grows", {}, { alter_table: true })).toMatchObject({ kind: "ready" });
  expect(await columns()).toEqual(before);

  const config = on.config("grows", over);
  const options = { ...defaultOptions, alter_table: true, access_token: "a-token-of-the-tests" };
  await on.engine.engine.create(config, options);
  for (const id of [1, 2])
    expect((await on.engine.post("grows", "a-token-of-the-tests", { id, n: 7 })).status).toBe(202);
  await on.engine.until("grows", ({ counters }) => counters.rows_written === 2);
  expect(await columns()).toEqual([
    { name: "id", type: "Int64" },
    { name: "other", type: "String" },
    { name: "n", type: "Int32" },
  ]);
  expect(await on.server.query(`SELECT * FROM ${table} ORDER BY id`)).toEqual([
    { id: 1, other: "", n: 7 },
    { id: 2, other: "", n: 7 },
  ]);
});

test("a Nested column that the table has flattened is not added, and the refusal names its parts", async () => {
  const columns = "(id Int64, items Nested(a UInt8, b String)) ENGINE = MergeTree ORDER BY id";
  await on.run(`CREATE TABLE ${tableOf("flat")} ${columns} SETTINGS non_replicated_deduplication_window = 1000`);
  const nested = { sources: webhookOf({ id: "int", items: "array" }) };
  const sink = { mapping: mappingOf({ id: "Int64", items: "Nested(a UInt8, b String)" }) };
  const checked = (alter_table: boolean): Promise<Readiness> =>
    on.engine.engine.check(on.config("flat", { ...nested, sink }), { ...defaultOptions, alter_table });
  const named = refused(
    /d\.flat has no column "items", but "items\.a", "items\.b", which ClickHouse makes of a Nested/,
  );
  expect(await checked(false)).toEqual(named);
  expect(await checked(true)).toEqual(named);
  const mapping = mappingOf({ id: "Int64", "items.a": "Array(UInt8)", "items.b": "Array(String)" });
  const parts = { sources: webhookOf({ id: "int", "items.a": "array", "items.b": "array" }), sink: { mapping } };
  expect(await on.engine.engine.check(on.config("flat", parts), defaultOptions)).toMatchObject({ kind: "ready" });
});

test("a server that is down is no refusal", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const gone = { connection_params: on.connection({ http_port: String(port) }) };
  expect(await check("fine", gone)).toMatchObject({ kind: "unreachable" });
});
