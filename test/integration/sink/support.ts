import type { Agent } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { Event } from "../../../engine/event/event.ts";
import type { Answer } from "../../../engine/core/sink.ts";
import { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { Log } from "../../../engine/telemetry/log.ts";
import type { FieldType, Mapping, SinkConnection } from "../../../schemas/pipeline.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { encoded } from "../../support/encoded.ts";

/** A field, the column of the same name, and its type. */
export type Field = [name: string, type: FieldType, column_type: string];

export interface Wish {
  fields: Field[];
  table: string;
  database?: string;
  create_table?: boolean;
  /** Overrides of `connection_params`. */
  connection?: Partial<SinkConnection>;
  /** What makes the sink's connections, if not an agent of its own. */
  agent?: Agent;
  /** Collects what the sink logs. */
  lines?: { fields: Record<string, unknown>; sentence: string }[];
}

/** A sink on a server that listens at `url`. */
export function sinkOn(server: Pick<TestClickHouse, "url" | "username" | "password">, wish: Wish): ClickHouseSink {
  const { hostname, port } = new URL(server.url);
  const note = (fields: Record<string, unknown>, sentence: string): void => void wish.lines?.push({ fields, sentence });
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const mapping: Mapping[] = wish.fields.map(([name, , column_type]) => ({ name, column_name: name, column_type }));
  return new ClickHouseSink({
    pipeline_id: "p",
    sink: {
      type: "clickhouse",
      connection_params: {
        host: hostname,
        http_port: port,
        database: wish.database ?? "d",
        username: server.username,
        password: server.password,
        secure: false,
        skip_certificate_verification: false,
        ...wish.connection,
      },
      table: wish.table,
      max_batch_size: 1000,
      max_delay_time: "1s",
      mapping,
    },
    schemas: new Map([[undefined, wish.fields.map(([name, type]) => ({ name, type }))]]),
    options: { create_table: wish.create_table ?? false },
    log,
    ...(wish.agent !== undefined && { agent: wish.agent }),
  });
}

export const patient: AbortSignal = new AbortController().signal;

export function events(...values: unknown[]): Event[] {
  return values.map((value, index) => new Event(index + 1, 0, Buffer.from(JSON.stringify(value))));
}

/** Items by what `keyOf` gives of them, in the order in which those come first. */
export function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): [key: string, items: Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups];
}

let tokens = 0;

/** Opens the sink and inserts the values, by default with a token of their own. */
export async function write(sink: ClickHouseSink, values: unknown[], token = `t${++tokens}`): Promise<Answer> {
  const opened = await sink.open(patient);
  if (opened.kind !== "ok") return opened;
  return sink.insert(encoded(sink, events(...values)), token, patient);
}

/** The headers of ClickHouse's own answer to a request, by its address. */
export function ownHeaders(url = "/"): Record<string, string> {
  const id = new URL(url, "http://127.0.0.1").searchParams.get("query_id") ?? "";
  return { "X-ClickHouse-Query-Id": id, "X-ClickHouse-Summary": "{}" };
}

/** A TCP server on loopback that does what `talk` says with each connection. */
export async function listen(talk: (socket: Socket) => void): Promise<{ url: string; server: Server }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    talk(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
