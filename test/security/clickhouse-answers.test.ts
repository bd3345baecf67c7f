import { afterEach, describe, expect, test } from "vitest";
import { patient, sinkOn } from "../integration/sink/support.ts";
import { echoed, partsOf } from "./echoes.ts";
import {
  type HostileClickHouse,
  hostileClickHouse,
  manyDependents,
  manyRows,
  type Said,
  tableAnswers,
  tableRow,
} from "./hostile-clickhouse.ts";

/** Whatever answers in the place of a ClickHouse decides nothing and shows nothing of ours or of others. */

const user = "ada";
const password = "correct/horse+battery staple";
const page = "<html><body>internal-page-of-the-operator</body></html>";
let server: HostileClickHouse;

afterEach(() => server.close());

/** All that the sink says when it opens its table, reads it and writes. */
async function told(): Promise<string> {
  const sink = sinkOn({ url: server.url, username: user, password }, { table: "t", fields: [["id", "int", "Int64"]] });
  try {
    const opened = await sink.open(patient);
    const answers = [opened, await sink.check(patient), await sink.read(true, patient), sink.atLeastOnce];
    return JSON.stringify(answers);
  } finally {
    await sink.close();
  }
}

describe("a password that a server sends back is in nothing that is shown", () => {
  const said = echoed(user, password, 8);
  test.each<[string, () => Said]>([
    [
      "in an error",
      () => ({
        status: 500,
        headers: { "X-ClickHouse-Exception-Code": "516" },
        body: `Code: 516. DB::Exception: ${said} (AUTH)`,
      }),
    ],
    ["in an error without its header", () => ({ status: 500, body: `Code: 516. DB::Exception: ${said} (AUTH)` })],
    ["as a page", () => ({ status: 502, body: said })],
    ["as rows", () => ({ body: `${said}\n` })],
    ["as a version", () => ({ body: JSON.stringify({ version: `1.1.${said}` }) })],
    ["as the id of a query", () => ({ body: "", headers: { "X-ClickHouse-Query-Id": password } })],
  ])("%s", async (_title, say) => {
    server = await hostileClickHouse(say);
    const shown = await told();
    for (const part of partsOf(user, password)) expect(shown).not.toContain(part);
  });

  test.each(["engine", "name", "create_table_query", "dependencies_table"])("as %s of its table", async (column) => {
    const text = echoed(user, password);
    const value = column === "dependencies_table" ? [text] : text;
    server = await hostileClickHouse(tableAnswers({ "system.tables": JSON.stringify(tableRow({ [column]: value })) }));
    const shown = await told();
    for (const part of partsOf(user, password)) expect(shown).not.toContain(part);
  });

  test("as the type of its column", async () => {
    const column = { name: "id", type: echoed(user, password), default_kind: "" };
    server = await hostileClickHouse(tableAnswers({ "system.columns": JSON.stringify(column) }));
    const shown = await told();
    for (const part of partsOf(user, password)) expect(shown).not.toContain(part);
  });
});

describe("a page of another server is not shown, only its status and kind", () => {
  test.each([200, 301, 401, 403, 500])("with status %i", async (status) => {
    const say = (): Said => ({ status, body: page, headers: { "Content-Type": "text/html; charset=x\u00ff" } });
    server = await hostileClickHouse(say, { isForeign: true });
    const shown = await told();
    expect(shown).not.toMatch(/internal-page|<html>|charset/);
    expect(shown).toContain(`a body of ${page.length} characters (text/html)`);
    if (status !== 200) expect(shown).toContain(`status ${status}`);
  });

  test("nor where it begins with a code, or as the native port does", async () => {
    for (const body of [`Code: 60 ${page}`, `Port 9000 is for clickhouse-client program${page}`]) {
      server = await hostileClickHouse(() => ({ status: 400, body }), { isForeign: true });
      expect(await told()).not.toContain("internal-page");
      server.close();
    }
  });

  test("and no redirect leads to it", async () => {
    const other = await hostileClickHouse(() => ({ body: page }), { isForeign: true });
    server = await hostileClickHouse(() => ({ status: 307, headers: { Location: `${other.url}/` }, body: "" }));
    expect(await told()).toContain("status 307");
    expect(other.asked).toEqual([]);
    other.close();
  });
});

test("control characters of an error are visible, and its text is bounded", async () => {
  const text = `a\u001b[31mb\u0000c\u202ed\r\nx${"y".repeat(100_000)}`;
  const headers = { "X-ClickHouse-Exception-Code": "60" };
  server = await hostileClickHouse(() => ({ status: 500, headers, body: `Code: 60. DB::Exception: ${text}` }));
  const sink = sinkOn({ url: server.url, username: user, password }, { table: "t", fields: [["id", "int", "Int64"]] });
  const opened = await sink.open(patient);
  await sink.close();
  const shown = opened.kind === "ok" ? "" : opened.failure.text;
  expect(shown).toContain("a\\u001b[31mb\\u0000c\\u202ed x");
  expect(shown.length).toBeLessThan(1_500);
});

async function expectInWords(column: string, value: unknown): Promise<void> {
  server = await hostileClickHouse(tableAnswers({ "system.tables": JSON.stringify(tableRow({ [column]: value })) }));
  const shown = await told();
  expect(shown).toMatch(
    /127\.0\.0\.1:\d+: the answer about system\.(tables|parts) is not as ClickHouse gives it: expected .* found /,
  );
  expect(shown).toContain('"class":"transient"');
  expect(shown).not.toContain("TypeError");
}

describe("an answer that is not as ClickHouse gives it fails in words, and is asked again", () => {
  const wrong = ["number", 5, null, true, {}, undefined, ["x"]] as const;
  const valueOf = (value: (typeof wrong)[number]): unknown => (value === "number" ? 1.5e300 : value);
  const texts = ["uuid", "engine", "engine_full", "partition_key", "create_table_query", "database", "name"];
  const lists = ["dependencies_database", "dependencies_table", "data_paths"];
  const isRight = (column: string, value: unknown): boolean =>
    (lists.includes(column) && Array.isArray(value)) ||
    (!texts.includes(column) && !lists.includes(column) && column !== "blocks" && typeof value === "number") ||
    (column === "blocks" && value === undefined);
  const cases = Object.keys(tableRow())
    .flatMap((column) => wrong.map((value): [string, unknown] => [column, valueOf(value)]))
    .filter(([column, value]) => !isRight(column, value));
  /** Each column once with another wrong value than the one before, and a value of each kind. */
  const some = Object.keys(tableRow()).map((column, index) => {
    const own = cases.filter(([name]) => name === column);
    return own[index % own.length]!;
  });

  test.each(some)("%s as %j", expectInWords);

  test.each(cases.filter((one) => !some.includes(one)))("%s as %j", { tags: ["rest"] }, expectInWords);

  test.each([
    ["a type that is a number", '{"name":"id","type":7,"default_kind":""}'],
    ["no name", '{"type":"Int64","default_kind":""}'],
    ["a kind of null", '{"name":"id","type":"Int64","default_kind":null}'],
  ])("a column with %s", async (_title, row) => {
    server = await hostileClickHouse(tableAnswers({ "system.columns": row }));
    expect(await told()).toContain("the answer about system.columns is not as ClickHouse gives it");
  });

  test("a setting without a value", async () => {
    server = await hostileClickHouse(tableAnswers({ "system.settings": '{"name":"readonly","value":null}' }));
    expect(await told()).toContain("the answer about system.settings is not as ClickHouse gives it");
  });

  test("two tables of one name", async () => {
    const row = JSON.stringify(tableRow());
    server = await hostileClickHouse(tableAnswers({ "system.tables": `${row}\n${row}` }));
    expect(await told()).toContain("expected at most one as rows, found a list of 2");
  });

  test("more rows than a table has columns", async () => {
    server = await hostileClickHouse(tableAnswers({ "system.columns": manyRows(10_001) }));
    expect(await told()).toContain("expected at most 10000 rows, found more");
  });

  test("an answer of more than 16 MiB", async () => {
    server = await hostileClickHouse(tableAnswers({ "system.columns": " ".repeat((16 << 20) + 1) }));
    expect(await told()).toContain("the answer is longer than 16777216 bytes");
  });

  test("a list of more than ten thousand views", async () => {
    server = await hostileClickHouse(tableAnswers({ "system.tables": manyDependents(10_001) }));
    expect(await told()).toContain("expected a list of at most 10000 texts as dependencies_database, found a list");
  });
});

test("of ten thousand views that a server lists, only a hundred are asked for", async () => {
  const many = manyDependents(10_000);
  const answers = tableAnswers({ "name = 't'": many, "name = 'v": "", "name IN (": "" });
  server = await hostileClickHouse(answers);
  expect(await told()).toContain("more than 100 tables depend on it");
  expect(server.asked.filter((text) => text.includes("name = 'v")).length).toBeLessThan(500);
});
