import { ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";

let clickhouse: TestClickHouse;

beforeAll(async () => {
  clickhouse = await useClickHouse();
  const { client } = clickhouse;
  await client.command({
    query: "CREATE TABLE t (id Int64, CONSTRAINT small CHECK id < 1000) ENGINE = MergeTree ORDER BY id",
  });
});
afterAll(() => clickhouse.stop());

function post(
  query: string,
  parameters: Record<string, string> = {},
  headers?: Record<string, string>,
): Promise<Response> {
  const { url, username, password } = clickhouse;
  const auth = headers ?? { authorization: `Basic ${btoa(`${username}:${password}`)}` };
  return fetch(`${url}/?${new URLSearchParams(parameters).toString()}`, { method: "POST", body: query, headers: auth });
}

describe("an exception has ClickHouse's code, name, text and status", () => {
  test.each<
    [code: number, name: string, status: number, says: string, query: string, parameters?: Record<string, string>]
  >([
    [6, "CANNOT_PARSE_TEXT", 400, "Cannot parse string 'x' as UInt64", "SELECT toUInt64('x')"],
    [16, "NO_SUCH_COLUMN_IN_TABLE", 500, "No such column nope", "INSERT INTO t (nope) VALUES (1)"],
    [
      27,
      "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
      400,
      "(at row 2)",
      'INSERT INTO t FORMAT JSONEachRow\n{"id":1}\n{"id":"x"}\n',
    ],
    [48, "NOT_IMPLEMENTED", 501, "Content-Encoding", "SELECT 1", { decompress: "1" }],
    [48, "NOT_IMPLEMENTED", 501, "Use ASYNC", "KILL QUERY WHERE 1 SYNC"],
    [36, "BAD_ARGUMENTS", 400, "Nope", "SELECT toTimeZone(now(), 'Nope')"],
    [46, "UNKNOWN_FUNCTION", 404, "nope", "SELECT nope(1)"],
    [47, "UNKNOWN_IDENTIFIER", 404, "nope", "SELECT nope"],
    [57, "TABLE_ALREADY_EXISTS", 500, "already exists", "CREATE TABLE t (id Int64) ENGINE = Memory"],
    [60, "UNKNOWN_TABLE", 404, "nope", "SELECT * FROM nope"],
    [60, "UNKNOWN_TABLE", 404, "nope", "INSERT INTO nope FORMAT CSV\n1\n"],
    [62, "SYNTAX_ERROR", 400, "creat", "creat tabel"],
    [62, "SYNTAX_ERROR", 400, "Empty query", ""],
    [62, "SYNTAX_ERROR", 400, "Multi-statements are not allowed", "SELECT 1; DROP TABLE t"],
    [62, "SYNTAX_ERROR", 400, "Multi-statements are not allowed", "SELECT 1;-- x\n;/* y */ SELECT ';'"],
    [62, "SYNTAX_ERROR", 400, "Max query size", `SELECT '${"x".repeat(300_000)}'`],
    [62, "SYNTAX_ERROR", 400, "takes no data", "DROP TABLE t", { query: "SELECT 1" }],
    [62, "SYNTAX_ERROR", 400, "Expected FORMAT", "INSERT INTO t FORMAT 'CSV'\n1\n\nDROP TABLE t"],
    [62, "SYNTAX_ERROR", 400, "empty line", "INSERT INTO t SELECT 1 FORMAT CSV\n1\n\nDROP TABLE t"],
    [73, "UNKNOWN_FORMAT", 404, "Nope", "INSERT INTO t FORMAT Nope\n1\n"],
    [78, "UNKNOWN_TYPE_OF_QUERY", 404, "infile", "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV"],
    [81, "UNKNOWN_DATABASE", 404, "nope", "SELECT * FROM nope.t"],
    [81, "UNKNOWN_DATABASE", 404, "nope", "SELECT 1", { database: "nope" }],
    [89, "UNKNOWN_COMPRESSION_METHOD", 500, "zstd", "SELECT 1", { "": "zstd" }],
    [115, "UNKNOWN_SETTING", 404, "no_such", "SELECT 1", { no_such: "1" }],
    [115, "UNKNOWN_SETTING", 404, "a b", "SELECT 1", { "a b": "1" }],
    [
      117,
      "INCORRECT_DATA",
      400,
      "nope",
      'INSERT INTO t SETTINGS input_format_skip_unknown_fields = 0 FORMAT JSONEachRow\n{"nope":1}\n',
    ],
    [
      159,
      "TIMEOUT_EXCEEDED",
      408,
      "Timeout exceeded",
      "SELECT sum(number) FROM numbers(1e12)",
      { max_execution_time: "1" },
    ],
    [164, "READONLY", 500, "readonly", "DROP TABLE t", { readonly: "1" }],
    [358, "INTO_OUTFILE_NOT_ALLOWED", 500, "INTO OUTFILE", "SELECT 1 INTO OUTFILE '/tmp/x'"],
    [372, "SESSION_NOT_FOUND", 500, "Session not found", "SELECT 1", { session_id: "none", session_check: "1" }],
    [395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO", 500, "enough", "SELECT throwIf(1, 'enough')"],
    [456, "UNKNOWN_QUERY_PARAMETER", 500, "`x`", "SELECT {x:String}"],
    [469, "VIOLATED_CONSTRAINT", 500, "violated at row 2", "INSERT INTO t FORMAT CSV\n1\n5000\n"],
  ])("%i %s, %i, with %j", async (code, name, status, says, query, parameters = {}) => {
    const { "": encoding, ...others } = parameters;
    const auth = { authorization: `Basic ${btoa(`${clickhouse.username}:${clickhouse.password}`)}` };
    const answer = await post(query, others, { ...auth, ...(encoding && { "content-encoding": encoding }) });
    const text = await answer.text();
    expect(text).toMatch(new RegExp(`^Code: ${code}\\. DB::Exception: [^]*\\(${name}\\) \\(version [0-9.]+\\)\n$`));
    expect([answer.status, answer.headers.get("x-clickhouse-exception-code")]).toEqual([status, String(code)]);
    expect(text).toContain(says);
    expect(text.match(/DB::Exception/g)).toHaveLength(1);
    expect(text).not.toMatch(/\/proc\/|spool|in file\/uri|was parsed from file/);
  });

  test("nothing of it was written, and the table is still there", async () => {
    expect(await clickhouse.query("SELECT * FROM t")).toEqual([]);
  });

  test("the stock client makes a typed error of it", async () => {
    const failure = clickhouse.client.insert({ table: "t", values: [{ id: 5000 }], format: "JSONEachRow" });
    await expect(failure).rejects.toBeInstanceOf(ClickHouseError);
    await expect(failure).rejects.toMatchObject({ code: "469", type: "VIOLATED_CONSTRAINT" });
  });

  test("a body that is not what its encoding says", async () => {
    const auth = { authorization: `Basic ${btoa(`${clickhouse.username}:${clickhouse.password}`)}` };
    const answer = await post("SELECT 1", {}, { ...auth, "content-encoding": "gzip" });
    expect([answer.status, answer.headers.get("x-clickhouse-exception-code")]).toEqual([500, "354"]);
  });
});

describe("the password", () => {
  const wrong = "Authentication failed: password is incorrect, or there is no user with such name.";

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ["basic authentication", { authorization: `Basic ${btoa("default:wrong")}` }, {}],
    ["basic authentication without a colon", { authorization: `Basic ${btoa("default")}` }, {}],
    ["no credentials in the header", { authorization: "Bearer x" }, {}],
    ["headers", { "x-clickhouse-user": "default", "x-clickhouse-key": "wrong" }, {}],
    ["a user alone", { "x-clickhouse-user": "default" }, {}],
    ["parameters", {}, { user: "default", password: "wrong" }],
    ["another user", {}, { user: "root", password: "RIGHT" }],
  ])("is refused when wrong: %s", async (_, headers, parameters) => {
    const right = parameters["password"] === "RIGHT" && { password: clickhouse.password };
    const answer = await post("SELECT 1", { ...parameters, ...right }, headers);
    expect([answer.status, answer.headers.get("x-clickhouse-exception-code")]).toEqual([403, "516"]);
    const text = await answer.text();
    expect(text).toContain(wrong);
    expect(text).not.toContain(clickhouse.password);
  });

  test("is asked for when there is none", async () => {
    const answer = await post("SELECT 1", {}, {});
    expect([answer.status, answer.headers.get("x-clickhouse-exception-code")]).toEqual([401, "194"]);
    expect(answer.headers.get("www-authenticate")).toContain("Basic");
  });

  test.each([
    ["basic authentication", (u: string, p: string) => [{ authorization: `Basic ${btoa(`${u}:${p}`)}` }, {}]],
    ["headers", (u: string, p: string) => [{ "x-clickhouse-user": u, "x-clickhouse-key": p }, {}]],
    ["parameters", (user: string, password: string) => [{}, { user, password }]],
  ])("lets in by %s", async (_, give) => {
    const [headers, parameters] = give(clickhouse.username, clickhouse.password);
    expect(await (await post("SELECT 1", parameters, headers)).text()).toBe("1\n");
  });

  test("reaches the stock client as a typed error", async () => {
    const stranger = createClient({ url: clickhouse.url, password: "wrong", log: { level: ClickHouseLogLevel.OFF } });
    expect(await stranger.ping({ select: true })).toMatchObject({ success: false, error: { code: "516" } });
    await stranger.close();
  });
});
