/** @module-tag rest */
import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";

let clickhouse: TestClickHouse;

beforeAll(async () => {
  clickhouse = await useClickHouse();
});
afterAll(() => clickhouse.stop());
beforeEach(async () => {
  for (const query of [
    "DROP TABLE IF EXISTS victim",
    "CREATE TABLE victim (id Int64, s String) ENGINE = MergeTree ORDER BY id",
    "INSERT INTO victim VALUES (0, 'here')",
  ]) {
    await clickhouse.client.command({ query });
  }
});

const rows = (): Promise<unknown[]> => clickhouse.query("SELECT id, s FROM victim WHERE id > 0 ORDER BY id");
const isIntact = async (): Promise<void> => {
  expect(await clickhouse.query("SELECT count() AS n FROM victim WHERE id = 0")).toEqual([{ n: 1 }]);
};

/** Inserts bytes as they are. */
async function insert(format: string, bytes: Buffer | string, columns = ""): Promise<void> {
  const values = Readable.from([Buffer.from(bytes)], { objectMode: false });
  const query = `INSERT INTO victim ${columns} FORMAT ${format}`;
  const { stream } = await clickhouse.client.exec({ query, values });
  stream.resume();
}

const drop = "DROP TABLE victim;";

describe("a payload with an empty line and SQL behind it", () => {
  test.each<[format: string, payload: string | Buffer, expected: unknown[]]>([
    [
      "JSONEachRow",
      `{"id":3}\n\n{"id":4,"s":"\\n\\n${drop}\\n"}\n`,
      [
        [3, ""],
        [4, `\n\n${drop}\n`],
      ],
    ],
    [
      "CSV",
      `6,"a\n\n${drop}\n"\n7,b\n`,
      [
        [6, `a\n\n${drop}\n`],
        [7, "b"],
      ],
    ],
    [
      "TabSeparated",
      `8\ta\\n\\n${drop}\n9\t\\\n\\\n${drop}\n`,
      [
        [8, `a\n\n${drop}`],
        [9, `\n\n${drop}`],
      ],
    ],
    [
      "Values",
      `(10,'a\n\n${drop}\n')\n\n,(11,'; ${drop}')`,
      [
        [10, `a\n\n${drop}\n`],
        [11, `; ${drop}`],
      ],
    ],
    ["Values", `(12,'a');\n\n${drop}`, [[12, "a"]]],
    ["RowBinary", rowBinary(0x0a0an, `\n\n${drop}\n`), [[0x0a0a, `\n\n${drop}\n`]]],
    ["RowBinary", rowBinary(0x0a0a0a0a0a0an, "\u0000'\n\n;"), [[0x0a0a0a0a0a0a, "\u0000'\n\n;"]]],
  ])("is data and nothing else: %s %j", async (format, payload, expected) => {
    await insert(format, payload);
    expect((await rows()).map((row) => Object.values(row as object))).toEqual(expected);
    await isIntact();
  });

  test.each([
    ["JSONEachRow", `{"id":3}\n\n${drop}\n`],
    ["CSV", `6,a\n\n${drop}\n`],
    ["TabSeparated", `8\ta\n\n${drop}\n`],
    ["Values", `(1,'a')\n\n${drop}`],
  ])("is refused as a bad row, and nothing of it is in: %s %j", async (format, payload) => {
    await expect(insert(format, payload)).rejects.toThrow(/Cannot parse|expected|Cannot read/);
    expect(await rows()).toEqual([]);
    await isIntact();
  });

  test("in one text with its statement, too", async () => {
    const text = `INSERT INTO victim FORMAT JSONEachRow\n{"id":3}\n\n${drop}\n`;
    await expect(clickhouse.embedded.query(text)).rejects.toThrow("Code: 27");
    await isIntact();
  });
});

/** One row of RowBinary: an Int64 and a String of less than 128 bytes. */
function rowBinary(id: bigint, s: string): Buffer {
  const head = Buffer.alloc(9);
  head.writeBigInt64LE(id);
  head.writeUInt8(Buffer.byteLength(s), 8);
  return Buffer.concat([head, Buffer.from(s)]);
}

describe("a body that breaks off", () => {
  const row = '{"id":1}\n';
  const gzipped = gzipSync(row.repeat(1000));

  test.each<[string, string, string | Buffer]>([
    ["before its length", "Content-Length: 1000", row.repeat(3)],
    ["between two chunks", "Transfer-Encoding: chunked", `9\r\n${row}\r\n`],
    ["within a chunk", "Transfer-Encoding: chunked", `9\r\n${row}\r\n12\r\n${row}`],
    ["at an empty start", "Transfer-Encoding: chunked", ""],
    [
      "within gzip, before its length",
      `Content-Encoding: gzip\r\nContent-Length: ${gzipped.length}`,
      gzipped.subarray(0, -10),
    ],
  ])("%s inserts nothing", async (_, header, sent) => {
    const { url, username, password } = clickhouse;
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const head = `POST /?query=INSERT+INTO+victim+FORMAT+JSONEachRow HTTP/1.1\r\nHost: x\r\n${header}\r\n`;
    socket.write(`${head}Authorization: Basic ${btoa(`${username}:${password}`)}\r\n\r\n`);
    socket.write(sent);
    socket.end();
    socket.resume();
    await once(socket, "close");
    expect(await rows()).toEqual([]);
  });

  test("within gzip, though its length is right, is an error", async () => {
    const { url, username, password } = clickhouse;
    const answer = await fetch(`${url}/?query=INSERT+INTO+victim+FORMAT+JSONEachRow`, {
      method: "POST",
      headers: { "content-encoding": "gzip", authorization: `Basic ${btoa(`${username}:${password}`)}` },
      body: gzipped.subarray(0, -10),
    });
    expect(answer.headers.get("x-clickhouse-exception-code")).toBe("354");
    expect(await rows()).toEqual([]);
  });
});
