import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from "@clickhouse/client";
import { EventList } from "../../../engine/event/event.ts";
import type { Answer, Block } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import { encoded } from "../../support/encoded.ts";
import { Random } from "../../support/random.ts";
import {
  SimulatedClickHouse,
  type SimulatedClickHouseOptions,
} from "../../support/simulation/clickhouse/clickhouse.ts";
import type { TableOptions } from "../../support/simulation/clickhouse/table-options.ts";
import { SimulatedClock } from "../../support/simulation/clock.ts";
import { SimulatedNetwork } from "../../support/simulation/network.ts";
import { events, type Field, patient, sinkOn, type Wish } from "../../integration/sink/support.ts";

/** Not a name, which would be looked up in the real network. */
export const address = "10.0.0.8:8123";

export interface TestRow {
  id: number;
  p: number;
}

/** `id Int64, p UInt8`, with a partition for each `p`. */
export const partitioned: TableOptions = {
  columns: [
    { name: "id", type: "Int64" },
    { name: "p", type: "UInt8" },
  ],
  partitionBy: { expression: "p", of: ({ p }) => Number(p) },
};

/** The same in one partition. */
export const whole: TableOptions = { columns: partitioned.columns };

export const fields: Field[] = [
  ["id", "int", "Int64"],
  ["p", "int", "UInt8"],
];

/** A simulated ClickHouse, with real sinks on it, in a time of their own. */
export class ClickHouseWorld {
  readonly clock = new SimulatedClock();
  readonly draw: (n: number) => number;
  readonly network: SimulatedNetwork;
  readonly server: SimulatedClickHouse;
  readonly #sinks: ClickHouseSink[] = [];

  constructor(seed: number, options: Partial<SimulatedClickHouseOptions> = {}) {
    this.clock.install();
    const random = new Random(seed);
    this.draw = (n) => random.below(n);
    this.network = new SimulatedNetwork(this.draw);
    this.server = new SimulatedClickHouse({ network: this.network, address, draw: this.draw, ...options });
    this.server.start();
  }

  /** A sink that is not open yet. */
  sink(wish: Partial<Wish> = {}): ClickHouseSink {
    const login = { username: "default", password: "secret" };
    const agent = this.network.agent();
    const sink = sinkOn({ url: `http://${address}`, ...login }, { table: "t", fields, agent, ...wish });
    this.#sinks.push(sink);
    return sink;
  }

  /** A sink that is open. */
  async opened(wish: Partial<Wish> = {}): Promise<ClickHouseSink> {
    const sink = this.sink(wish);
    const answer = await this.settled(sink.open(patient));
    if (answer.kind !== "ok") throw new Error(`expected the sink to open, got ${JSON.stringify(answer)}`);
    return sink;
  }

  /** Inserts these rows, by default under the token of their first id. */
  insert(sink: ClickHouseSink, rows: readonly TestRow[], token?: string): Promise<Answer> {
    const own = token ?? String(rows[0]?.id);
    return this.settled(sink.insert(encoded(sink, events(...rows)), own, patient));
  }

  /** Runs a statement with the stock client. Returns the rows of a SELECT, or the code of the error. */
  run(query: string, clickhouse_settings: ClickHouseSettings = {}): Promise<unknown[] | string> {
    return this.#asked((client) =>
      client.query({ query, format: "JSONEachRow", clickhouse_settings }).then(
        (result) => result.json(),
        (error: { code: string }) => error.code,
      ),
    );
  }

  /** Inserts with the stock client, which sends no setting but these. Returns the code of the error, if any. */
  insertPlainly(rows: readonly TestRow[], clickhouse_settings: ClickHouseSettings): Promise<string | undefined> {
    const query = "INSERT INTO `d`.`t` (`id`, `p`) FORMAT JSONEachRow";
    const body = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    return this.#asked(async (client) => {
      const sent = client.exec({ query, values: Readable.from([body]), clickhouse_settings });
      return sent.then(
        async ({ stream }) => void (await text(stream)),
        (error: { code: string }) => error.code,
      );
    });
  }

  /** Whether the server says that it is there. */
  ping(): Promise<boolean> {
    return this.#asked(async (client) => (await client.ping()).success);
  }

  async #asked<Result>(ask: (client: ClickHouseClient) => Promise<Result>): Promise<Result> {
    const http_agent = this.network.agent();
    const log = { level: ClickHouseLogLevel.OFF };
    const client = createClient({ url: `http://${address}`, http_agent, log });
    try {
      return await this.settled(ask(client));
    } finally {
      await client.close();
    }
  }

  /** What comes of it, in the time that it takes: at most an hour. */
  async settled<Result>(promise: Promise<Result>): Promise<Result> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    promise.then(settle, settle);
    if (!(await this.clock.until(() => isSettled, 3_600_000))) throw new Error("expected an end within an hour");
    return promise;
  }

  async end(): Promise<void> {
    for (const sink of this.#sinks) await this.settled(sink.close());
    this.clock.uninstall();
  }
}

/** A block of these lines, whatever they are. */
export function blockOf(lines: readonly string[]): Block {
  return {
    events: EventList.of(events(...lines)),
    body: Buffer.from(lines.map((line) => `${line}\n`).join("")),
    rejected: [],
  };
}
