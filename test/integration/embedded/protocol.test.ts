import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { type ClickHouseClient, ClickHouseLogLevel, type DataFormat, createClient } from "@clickhouse/client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";

const quiet = { log: { level: ClickHouseLogLevel.OFF } };
let clickhouse: TestClickHouse;
let client: ClickHouseClient;

beforeAll(async () => {
  clickhouse = await useClickHouse();
  client = clickhouse.client;
});
afterAll(() => clickhouse.stop());
beforeEach(async () => {
  await client.command({ query: "DROP TABLE IF EXISTS t" });
  await client.command({ query: "CREATE TABLE t (id Int64, s String) ENGINE = MergeTree ORDER BY id" });
});

const rows = (): Promise<unknown[]> => clickhouse.query("SELECT * FROM t ORDER BY id");

/** A request as any program sends it. */
function post(parameters: Record<string, string>, body?: string | Buffer, headers: Record<string, string> = {}) {
  const { url, username, password } = clickhouse;
  const address = `${url}/?${new URLSearchParams(parameters).toString()}`;
  const auth = { "x-clickhouse-user": username, "x-clickhouse-key": password };
  return fetch(address, { method: "POST", headers: { ...auth, ...headers }, ...(body !== undefined && { body }) });
}

function inSession(query: string, parameters: Record<string, string> = {}): Promise<Response> {
  return post({ session_id: "s2", ...parameters }, query);
}

async function askFor(n: number): Promise<unknown> {
  const query = "SELECT {n:Int32} AS n, sleep(0.02) AS z";
  return (await client.query({ query, query_params: { n }, format: "JSONEachRow" })).json();
}

async function currentDatabase(on: ClickHouseClient): Promise<unknown> {
  return (await on.query({ query: "SELECT currentDatabase() AS d", format: "JSONEachRow" })).json();
}

describe("the stock client", () => {
  test("pings, with and without a query", async () => {
    expect(await client.ping()).toEqual({ success: true });
    expect(await client.ping({ select: true })).toEqual({ success: true });
  });

  test.each<[DataFormat, unknown[]]>([
    [
      "JSONEachRow",
      [
        { id: 1, s: "a\nb" },
        { id: 2, s: "ü\\'" },
      ],
    ],
    [
      "JSONCompactEachRow",
      [
        [1, "a\nb"],
        [2, "ü\\'"],
      ],
    ],
    [
      "JSONStringsEachRow",
      [
        { id: "1", s: "a\nb" },
        { id: "2", s: "ü\\'" },
      ],
    ],
  ])("inserts objects as %s", async (format, values) => {
    const { summary } = await client.insert({ table: "t", values, format });
    expect(summary?.written_rows).toBe("2");
    expect(await rows()).toEqual([
      { id: 1, s: "a\nb" },
      { id: 2, s: "ü\\'" },
    ]);
  });

  test.each(["CSV", "TabSeparated", "CSVWithNames"] as const)("inserts a raw stream as %s", async (format) => {
    const mark = format === "TabSeparated" ? "\t" : ",";
    const text = `${format === "CSVWithNames" ? "id,s\n" : ""}1${mark}a\n2${mark}ü\n`;
    // Pieces of three bytes, so that characters and rows are split.
    const pieces =
      Buffer.from(text)
        .toString("latin1")
        .match(/[\s\S]{1,3}/g) ?? [];
    const values = Readable.from(
      pieces.map((piece) => Buffer.from(piece, "latin1")),
      { objectMode: false },
    );
    await client.insert({ table: "t", values, format });
    expect(await rows()).toEqual([
      { id: 1, s: "a" },
      { id: 2, s: "ü" },
    ]);
  });

  test("inserts raw lines of JSON with exec, some columns only", async () => {
    const values = Readable.from([Buffer.from('{"id":1,"s":"not this"}\n{"i'), Buffer.from('d":2}\n')], {
      objectMode: false,
    });
    const { summary, stream } = await client.exec({ query: "INSERT INTO t (id) FORMAT JSONEachRow", values });
    stream.resume();
    expect(summary?.written_rows).toBe("2");
    expect(await rows()).toEqual([
      { id: 1, s: "" },
      { id: 2, s: "" },
    ]);
  });

  test("inserts with VALUES in a command, expressions included", async () => {
    await client.command({ query: "INSERT INTO t VALUES (1, 'a;b'), (1 + 1, concat('x', '\n\n', 'y'));" });
    expect(await rows()).toEqual([
      { id: 1, s: "a;b" },
      { id: 2, s: "x\n\ny" },
    ]);
  });

  test("inserts what a SELECT makes of its data", async () => {
    const values = Readable.from([Buffer.from('{"a":"1"}\n\n{"a":"2"}\n')], { objectMode: false });
    const query =
      "INSERT INTO t SELECT toInt64(a) * 10, 'via' FROM input('a String') SETTINGS max_threads = 1 FORMAT JSONEachRow";
    (await client.exec({ query, values })).stream.resume();
    expect(await rows()).toEqual([
      { id: 10, s: "via" },
      { id: 20, s: "via" },
    ]);
  });

  test("inserts what a SELECT gives", async () => {
    await client.command({ query: "INSERT INTO t SELECT number, toString(number) FROM numbers(2)" });
    expect(await rows()).toEqual([
      { id: 0, s: "0" },
      { id: 1, s: "1" },
    ]);
  });

  test.each([
    ["gzip", true],
    ["gzip", false],
    ["br", true],
  ] as const)("compresses with %s, requests: %s", async (codec, request) => {
    const { url, username, password } = clickhouse;
    const compressing = createClient({
      url,
      username,
      password,
      ...quiet,
      compression: { response: { codec }, ...(request && { request: { codec } }) },
    });
    await compressing.insert({ table: "t", values: [{ id: 1, s: "x".repeat(100_000) }], format: "JSONEachRow" });
    const answer = await compressing.query({ query: "SELECT length(s) AS n, s FROM t", format: "JSONEachRow" });
    expect(await answer.json()).toEqual([{ n: 100_000, s: "x".repeat(100_000) }]);
    expect(answer.response_headers["content-encoding"]).toBe(codec);
    await expect(compressing.query({ query: "SELECT nope" })).rejects.toMatchObject({ code: "47" });
    await compressing.close();
  });

  test("binds query parameters, also long ones, which it sends as a form", async () => {
    const long = "x'\\\n".repeat(2_000);
    for (const s of ["it's \\ a\ttab\nline", long]) {
      const answer = await client.query({
        query: "SELECT {s:String} AS s, {n:Int32} AS n, {a:Array(String)} AS a",
        query_params: { s, n: 7, a: ["x'y", "z"] },
        format: "JSONEachRow",
      });
      expect(await answer.json()).toEqual([{ s, n: 7, a: ["x'y", "z"] }]);
    }
  });

  test("keeps apart the parameters of requests that run at the same time", async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => askFor(n)));
    expect(answers).toEqual(Array.from({ length: 30 }, (_, n) => [{ n, z: 0 }]));
  });

  test("names a database, which holds for its requests only", async () => {
    await client.command({ query: "CREATE DATABASE IF NOT EXISTS `a``b\\\\c`" });
    const { url, username, password } = clickhouse;
    const other = createClient({ url, username, password, database: "a`b\\c" });
    expect(await currentDatabase(other)).toEqual([{ d: "a`b\\c" }]);
    expect(await currentDatabase(client)).toEqual([{ d: "default" }]);
    await other.close();
  });

  test("keeps temporary tables and settings in a session, and nowhere else", async () => {
    const { url, username, password } = clickhouse;
    const session = createClient({ url, username, password, session_id: "s1", max_open_connections: 1 });
    await session.command({ query: "CREATE TEMPORARY TABLE mine (x Int8)" });
    await session.command({ query: "SET max_threads = 1" });
    await session.insert({ table: "mine", values: [{ x: 5 }], format: "JSONEachRow" });
    const look = async (settings = {}): Promise<unknown> =>
      (
        await session.query({
          query: "SELECT x, getSetting('max_threads') AS n FROM mine",
          format: "JSONEachRow",
          clickhouse_settings: settings,
        })
      ).json();
    expect(await look({ max_threads: 2 })).toEqual([{ x: 5, n: 2 }]);
    expect(await look()).toEqual([{ x: 5, n: 1 }]);
    await expect(client.query({ query: "SELECT * FROM mine" })).rejects.toMatchObject({ code: "60" });
    await session.close();
  });

  test("keeps a session as it was after a database of one request, after an error, and locked for one at a time", async () => {
    await inSession("USE system");
    expect(await (await inSession("SELECT currentDatabase()", { database: "default" })).text()).toBe("default\n");
    await inSession("SELECT throwIf(1)", { database: "default", max_threads: "3" });
    expect(await (await inSession("SELECT currentDatabase(), getSetting('max_threads') = 3")).text()).toBe(
      "system\t0\n",
    );
    const slow = inSession("SELECT sleep(0.5)");
    const codes = await Promise.all(
      [slow, inSession("SELECT 1")].map(async (one) => (await one).headers.get("x-clickhouse-exception-code")),
    );
    expect(codes).toContain("373");
  });

  test("gives the query id back, and streams rows", async () => {
    const answer = await client.query({
      query: "SELECT number AS n FROM numbers(1000)",
      query_id: "my-id",
      format: "JSONEachRow",
    });
    expect([answer.query_id, answer.response_headers["x-clickhouse-query-id"]]).toEqual(["my-id", "my-id"]);
    let count = 0;
    for await (const part of answer.stream()) count += part.length;
    expect(count).toBe(1000);
  });
});

describe("any other program", () => {
  test.each<[string, Record<string, string>, string | Buffer | undefined]>([
    ["an insert with its data in the body", {}, 'INSERT INTO t FORMAT JSONEachRow\n{"id":1,"s":"a"}\n'],
    ["an insert with blanks before its data", {}, "INSERT INTO t FORMAT CSV   1,a"],
    ["the statement in the address, the data in the body", { query: "INSERT INTO t FORMAT CSV" }, "1,a\n"],
    ["VALUES in the address, the data in the body", { query: "INSERT INTO t VALUES" }, "(1,'a')"],
    ["everything in the address", { query: "INSERT INTO t VALUES (1,'a')" }, undefined],
    [
      "comments and quotes with keywords in them",
      {},
      '/* FORMAT x */ insert -- VALUES\n into `default`."t" (s, id) settings max_threads=1 format TSV\na\t1\n',
    ],
    ["a parameter for the table", { query: "INSERT INTO {x:Identifier} FORMAT CSV", param_x: "t" }, "1,a\n"],
    ["a format that names its columns", { query: "INSERT INTO t FORMAT CSVWithNames" }, "s,id\r\na,1\r\n"],
    ["a body that ends without a line break", { query: "INSERT INTO t FORMAT TSV" }, "1\ta"],
  ])("sends %s", async (_, parameters, body) => {
    const answer = await post(parameters, body);
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
    expect(JSON.parse(answer.headers.get("x-clickhouse-summary") ?? "")).toMatchObject({ written_rows: "1" });
    expect(await rows()).toEqual([{ id: 1, s: "a" }]);
  });

  test("sends rows to a table function", async () => {
    const answer = await post({ query: "INSERT INTO FUNCTION null('id Int64') (id) FORMAT CSV" }, "1\n2\n");
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
    expect(JSON.parse(answer.headers.get("x-clickhouse-summary") ?? "")).toMatchObject({ written_rows: "2" });
  });

  test.each<[string, Record<string, string>, string, string, string]>([
    ["TabSeparated by default", {}, "SELECT 1, 'a' ;", "1\ta\n", "TabSeparated"],
    ["the default format that it names", { default_format: "CSV" }, "SELECT 1, 'a'", '1,"a"\n', "CSV"],
    [
      "the format of the statement",
      { default_format: "CSV" },
      "SELECT 1 AS x FORMAT JSONEachRow",
      '{"x":1}\n',
      "JSONEachRow",
    ],
    ["the statement in the address", { query: "SELECT 1" }, "", "1\n", "TabSeparated"],
  ])("is answered in %s", async (_, parameters, body, text, format) => {
    const answer = await post(parameters, body);
    expect([answer.status, await answer.text(), answer.headers.get("x-clickhouse-format")]).toEqual([
      200,
      text,
      format,
    ]);
  });

  test("sends a compressed body with a statement, and takes a compressed answer only if it asks for it", async () => {
    const body = gzipSync("SELECT repeat('x', 1000)");
    const plain = await post({}, body, { "content-encoding": "gzip" });
    expect([await plain.text(), plain.headers.get("content-encoding")]).toEqual([`${"x".repeat(1000)}\n`, null]);
    const packed = await post({ enable_http_compression: "1" }, body, {
      "content-encoding": "gzip",
      "accept-encoding": "gzip",
    });
    expect([await packed.text(), packed.headers.get("content-encoding")]).toEqual([`${"x".repeat(1000)}\n`, "gzip"]);
  });

  test("reads with GET, and changes nothing with it", async () => {
    const auth = { authorization: `Basic ${btoa(`${clickhouse.username}:${clickhouse.password}`)}` };
    const get = (query: string): Promise<Response> =>
      fetch(`${clickhouse.url}/?query=${encodeURIComponent(query)}`, { headers: auth });
    expect(await (await get("SELECT 1 + 1")).text()).toBe("2\n");
    for (const query of ["INSERT INTO t VALUES (1,'a')", "DROP TABLE t", "WITH 1 AS x INSERT INTO t SELECT x, ''"]) {
      expect((await get(query)).headers.get("x-clickhouse-exception-code")).toBe("164");
    }
    expect(await rows()).toEqual([]);
  });

  test("finds a health check without a password", async () => {
    for (const path of ["/ping", "/"]) expect(await (await fetch(clickhouse.url + path)).text()).toBe("Ok.\n");
    expect((await fetch(`${clickhouse.url}/nothing`)).status).toBe(404);
    expect((await fetch(`${clickhouse.url}/`, { method: "DELETE" })).status).toBe(405);
  });
});
