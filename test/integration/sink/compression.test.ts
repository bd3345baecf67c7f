import { afterAll, beforeAll, expect, test } from "vitest";
import { Connection } from "../../../engine/sinks/clickhouse/transport/connection.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { ClickHouseProxy } from "../../support/clickhouse-proxy.ts";

let server: TestClickHouse;
let proxy: ClickHouseProxy;

beforeAll(async () => {
  server = await useClickHouse();
  proxy = await ClickHouseProxy.start(server.url);
});

afterAll(async () => {
  await proxy.close();
  await server.stop();
});

test.each([true, false])("a body is compressed for a far server: %s, and its rows are the same", async (far) => {
  const table = `default.compressed_${String(far)}`;
  await server.client.command({ query: `CREATE TABLE ${table} (id Int64) ENGINE = MergeTree ORDER BY id` });
  const { username, password } = server;
  const at = { host: "127.0.0.1", http_port: String(proxy.port), database: "default", username, password };
  const connection = new Connection({ ...at, secure: false, skip_certificate_verification: false }, { compress: far });
  const body = Buffer.from(Array.from({ length: 5_000 }, (_, id) => `{"id":${id}}\n`).join(""));
  const request = { signal: AbortSignal.timeout(20_000), body };
  await connection.run(`INSERT INTO ${table} FORMAT JSONEachRow`, request);
  await connection.close();
  const [{ rows }] = (await server.query(`SELECT count() AS rows FROM ${table}`)) as [{ rows: string }];
  expect(Number(rows)).toBe(5_000);
  const sent = proxy.handled.find(({ statement }) => statement.includes(table))!;
  expect(sent.headers["content-encoding"]).toBe(far ? "gzip" : undefined);
  expect(Number(sent.headers["content-length"]) < body.length).toBe(far);
});
