import { describe, expect, test } from "vitest";
import { parse } from "../../../engine/embedded-clickhouse/server/statement.ts";

/** The statement that would be run, and the data that would go to the file. */
function split(text: string): [string, string] {
  const bytes = Buffer.from(text);
  const statement = parse(bytes);
  return statement.kind === "insert"
    ? [statement.reading("F").replaceAll(/\s+/g, " "), bytes.subarray(statement.dataAt).toString()]
    : [statement.sql, ""];
}

describe("an insert with data is split before its data", () => {
  const from = "FROM INFILE 'F' COMPRESSION 'none'";
  test.each([
    ["INSERT INTO t FORMAT CSV\n1\n\n2", `INSERT INTO t ${from} FORMAT CSV`, "1\n\n2"],
    ["INSERT INTO t FORMAT CSV\r\n1", `INSERT INTO t ${from} FORMAT CSV`, "1"],
    ["INSERT INTO t FORMAT CSV  1", `INSERT INTO t ${from} FORMAT CSV`, "1"],
    ["INSERT INTO t FORMAT CSV\n\n1", `INSERT INTO t ${from} FORMAT CSV`, "\n1"],
    ["INSERT INTO t FORMAT CSV", `INSERT INTO t ${from} FORMAT CSV`, ""],
    ["insert into t values (1, ';')", `insert into t ${from} FORMAT Values`, "(1, ';')"],
    ["INSERT t VALUES(1)", `INSERT t ${from} FORMAT Values`, "(1)"],
    ["INSERT INTO TABLE d.t (a, b) FORMAT TSV\n1", `INSERT INTO TABLE d.t (a, b) ${from} FORMAT TSV`, "1"],
    [
      'INSERT INTO `d`.`FORMAT x` ("VALUES") FORMAT TSV\n1',
      `INSERT INTO \`d\`.\`FORMAT x\` ("VALUES") ${from} FORMAT TSV`,
      "1",
    ],
    ["INSERT INTO format FORMAT TSV\n1", `INSERT INTO format ${from} FORMAT TSV`, "1"],
    ["INSERT INTO values VALUES (1)", `INSERT INTO values ${from} FORMAT Values`, "(1)"],
    [
      "INSERT INTO t SETTINGS a = 'FORMAT \\' CSV', b = 1 FORMAT TSV\nx",
      `INSERT INTO t ${from} SETTINGS a = 'FORMAT \\' CSV', b = 1 FORMAT TSV`,
      "x",
    ],
    ["INSERT INTO {t:Identifier} FORMAT TSV\n1", `INSERT INTO {t:Identifier} ${from} FORMAT TSV`, "1"],
    [
      "INSERT INTO FUNCTION null('FORMAT Int8') VALUES (1)",
      `INSERT INTO FUNCTION null('FORMAT Int8') ${from} FORMAT Values`,
      "(1)",
    ],
    [
      "/* FORMAT a\n */ INSERT INTO t -- VALUES\n# x\nFORMAT CSV\n1",
      `/* FORMAT a */ INSERT INTO t -- VALUES # x ${from} FORMAT CSV`,
      "1",
    ],
    ["INSERT INTO `tä` FORMAT CSV\nü", `INSERT INTO \`tä\` ${from} FORMAT CSV`, "ü"],
    [
      "INSERT INTO t SELECT a, 'FORMAT' FROM input('a String') WHERE x FORMAT CSV\n1",
      "INSERT INTO t SELECT a, 'FORMAT' FROM file('F', CSV, 'a String') WHERE x ",
      "1",
    ],
    ["INSERT INTO t SELECT * FROM input() FORMAT CSV\n1", "INSERT INTO t SELECT * FROM file('F', CSV) ", "1"],
  ])("%j", (text, sql, data) => {
    expect(split(text)).toEqual([sql, data]);
  });

  test("never looks at the data", () => {
    const data = `'unterminated "quote /* comment ; \0 \u2028`;
    expect(split(`INSERT INTO t FORMAT LineAsString\n${data}`)[1]).toBe(data);
  });
});

describe("any other statement is taken as it is", () => {
  test.each([
    ["SELECT 1;", "SELECT 1"],
    [" SELECT ';' ; -- the end\n;", " SELECT ';'"],
    ["SELECT 'a''; b', \"c;\", `d;`, $x$ ; $x$", "SELECT 'a''; b', \"c;\", `d;`, $x$ ; $x$"],
    ["INSERT INTO a SELECT format FROM b", "INSERT INTO a SELECT format FROM b"],
    ["INSERT INTO a WITH 1 AS x SELECT x", "INSERT INTO a WITH 1 AS x SELECT x"],
    ["SELECT * FROM input", "SELECT * FROM input"],
  ])("%j", (text, sql) => {
    expect(split(text)).toEqual([sql, ""]);
  });

  test.each([
    ["SELECT 1 FORMAT JSON", "JSON"],
    ["SELECT 'x FORMAT y' FORMAT CSV;", "CSV"],
    ["SELECT 1", undefined],
    ["SELECT format('{}-{}', 'a', 'b')", undefined],
    ["SELECT format('{}', 'a') FORMAT CSV", "CSV"],
  ])("its format is found: %j", (text, format) => {
    expect(parse(Buffer.from(text))).toMatchObject({ format });
  });

  test.each([
    ["SELECT 1", true, true],
    ["(SELECT 1)", true, true],
    ["WITH 1 AS x SELECT x", true, true],
    ["WITH 1 AS x INSERT INTO t SELECT x", true, false],
    ["EXPLAIN INSERT INTO t SELECT 1", true, true],
    ["INSERT INTO t SELECT 1", true, false],
    ["DROP TABLE t", true, false],
    ["SET a = 1", false, false],
    ["/* SELECT */ USE d", false, false],
    ["CREATE TEMPORARY TABLE t (a Int8)", false, false],
    ["CREATE TABLE t (a Int8)", false, false],
    ["BEGIN TRANSACTION", false, false],
  ])(
    "what it may change is known: %j leaves its session as it was: %s, changes nothing: %s",
    (text, leavesSessionUnchanged, readsOnly) => {
      expect(parse(Buffer.from(text))).toMatchObject({ leavesSessionUnchanged, readsOnly });
    },
  );
});

test.each([
  ["", 62],
  ["-- nothing\n;", 62],
  ["SELECT 1; SELECT 2", 62],
  ["SELECT 1;;x", 62],
  ["INSERT INTO t", 62],
  ["INSERT INTO t FORMAT", 62],
  ["INSERT INTO t FORMAT 'CSV'\n1", 62],
  ["INSERT INTO t; DROP TABLE t", 62],
  ["INSERT INTO t SELECT 1 FORMAT CSV\n1\n\nDROP TABLE t", 62],
  ["WITH 1 AS x INSERT INTO t VALUES (1)\n\nDROP TABLE t", 62],
  ["INSERT INTO t FROM INFILE 'x' FORMAT CSV", 78],
  ["SELECT 1 INTO OUTFILE 'x'", 358],
])("%j is refused with %i", (text, code) => {
  expect(() => parse(Buffer.from(text))).toThrow(expect.objectContaining({ code }));
});

describe("tables of ClickHouse's own databases are", () => {
  test.each([
    "INSERT INTO system.t FORMAT CSV\n1",
    "insert into `System` . `t` (a) values (1)",
    "CREATE TABLE IF NOT EXISTS `system`.`t` (id Int64) ENGINE = MergeTree ORDER BY id",
    "CREATE MATERIALIZED VIEW d.v TO system.t AS SELECT 1",
    'ALTER TABLE "INFORMATION_SCHEMA".t ADD COLUMN a String',
    "/* x */ DROP TABLE information_schema.t",
    "RENAME TABLE d.t TO system.t",
  ])("not changed by %s", (text) => {
    expect(() => parse(Buffer.from(text))).toThrow(/^Tables of \w+ cannot be changed/);
  });

  test.each([
    "SELECT * FROM system.tables",
    "INSERT INTO d.t SELECT number FROM system.numbers LIMIT 1",
    "CREATE TABLE d.t ENGINE = Log AS SELECT * FROM system.one",
    "INSERT INTO d.system VALUES (1)",
  ])("read by %s", (text) => {
    expect(() => parse(Buffer.from(text))).not.toThrow();
  });
});

test.each<[string, boolean]>([
  ["CREATE TABLE t (n Int64) ENGINE = MergeTree ORDER BY n", true],
  ["/* x */ create materialized view v ENGINE = MergeTree ORDER BY n AS SELECT 1 AS n", true],
  ["ALTER TABLE t MODIFY SETTING non_replicated_deduplication_window = 100", true],
  ["ATTACH TABLE t", true],
  ["UNDROP TABLE t", true],
  ["EXCHANGE TABLES a AND b", true],
  ["SOMETHING NEW", true],
  ["CREATE TEMPORARY TABLE t (n Int64)", false],
  ["INSERT INTO t SELECT 1", false],
  ["WITH 1 AS n SELECT n", false],
  ["OPTIMIZE TABLE t FINAL", false],
  ["DROP TABLE t", false],
  ["SET max_threads = 1", false],
])("%j may make a table that has a deduplication log: %s", (text, mayMakeTable) => {
  expect(parse(Buffer.from(text))).toMatchObject({ mayMakeTable });
});
