import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a server answers to one statement. */
export interface Said {
  status?: number;
  headers?: Record<string, string>;
  body: string;
}

/** A server of an attacker, or of someone else, in the place of a ClickHouse. */
export interface HostileClickHouse {
  url: string;
  port: number;
  /** The requests that it got. */
  asked: string[];
  close(): void;
}

/** Answers each statement as `say` says, with the headers of ClickHouse's own answer unless `isForeign`. */
export async function hostileClickHouse(
  say: (statement: string, request: IncomingMessage) => Said,
  { isForeign = false } = {},
): Promise<HostileClickHouse> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes.toString("latin1")));
    request.on("end", () => {
      asked.push(`${request.method} ${request.url} ${body}`);
      answer(request, response, say(body, request), isForeign);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, port, asked, close };
}

function answer(request: IncomingMessage, response: ServerResponse, said: Said, isForeign: boolean): void {
  const { status = 200, headers = {}, body } = said;
  const id = new URL(request.url ?? "/", "http://127.0.0.1").searchParams.get("query_id") ?? "";
  const own = isForeign ? {} : { "X-ClickHouse-Query-Id": id, "X-ClickHouse-Summary": "{}" };
  response.writeHead(status, { ...own, ...headers }).end(body);
}

/** A table as `system.tables` describes it, with other values in some columns. */
export function tableRow(over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    database: "d",
    name: "t",
    uuid: "00000000-0000-0000-0000-000000000001",
    engine: "MergeTree",
    engine_full: "MergeTree ORDER BY id",
    partition_key: "",
    create_table_query: "CREATE TABLE d.t (id Int64) ENGINE = MergeTree ORDER BY id",
    dependencies_database: [],
    dependencies_table: [],
    data_paths: [],
    altered: 1,
    time: 1,
    uptime: 1,
    server: "00000000-0000-0000-0000-000000000002",
    blocks: [0, 0],
    ...over,
  };
}

/** Answers as a ClickHouse with one table, except where `over` matches a part of the statement. */
export function tableAnswers(over: Record<string, string>): (statement: string) => Said {
  const usual: Record<string, string> = {
    "version()": '{"version":"26.1.1.1"}',
    "system.columns": '{"name":"id","type":"Int64","default_kind":""}',
    "system.tables": JSON.stringify(tableRow()),
  };
  return (statement) => {
    const answers = Object.entries({ ...usual, ...over });
    const body = answers.findLast(([part]) => statement.includes(part))?.[1] ?? "";
    return { body: body === "" ? "" : `${body}\n` };
  };
}

/** Rows of any number, each as short as JSON can be. */
export function manyRows(rows: number): string {
  return "{}\n".repeat(rows);
}

/** A table with so many views on it. */
export function manyDependents(views: number): string {
  const names = Array.from({ length: views }, (_, index) => `v${index}`);
  return JSON.stringify(tableRow({ dependencies_table: names, dependencies_database: names.map(() => "d") }));
}
