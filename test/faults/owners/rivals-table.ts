import type { ReachableClickHouse } from "../../support/clickhouse.ts";

/** The moment of an insert by the clock of the server, as ClickHouse writes it. */
export type Moment = string;

/** What two writers of one table left in it. */
export interface RivalsAudit {
  rows: number;
  /** Ids that must be there and are not. */
  lost: number;
  /** Ids that nobody produced. */
  strangers: number;
  /** Rows too many. */
  repeated: number;
  /** Those of them that one writer wrote twice. */
  byOneAlone: number;
  /** The time in which the first owner wrote what was repeated, up to its last row before `stopped`, in milliseconds. */
  span: number;
  /** What the first owner wrote after `continued`. */
  late: { rows: number; inserts: number };
}

/** A table whose rows say who wrote them, and when they were inserted. */
export class RivalsTable {
  readonly name: string;
  readonly #server: ReachableClickHouse;

  private constructor(server: ReachableClickHouse, name: string) {
    this.#server = server;
    this.name = name;
  }

  static async create(server: ReachableClickHouse, name: string): Promise<RivalsTable> {
    const columns = "id Int64, writer LowCardinality(String), at DateTime64(6) DEFAULT now64(6)";
    const settings = "SETTINGS non_replicated_deduplication_window = 10000";
    await server.client.command({
      query: `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY id ${settings}`,
    });
    return new RivalsTable(server, name);
  }

  async rows(writer: string): Promise<number> {
    const [row] = await this.#server.query<{ n: string }>(
      `SELECT toString(count()) AS n FROM ${this.name} WHERE writer = '${writer}'`,
    );
    return Number(row?.n);
  }

  async now(): Promise<Moment> {
    const [row] = await this.#server.query<{ now: Moment }>("SELECT toString(now64(6)) AS now");
    return row!.now;
  }

  /**
   * `events`: ids are 0 up to this one. `first`: the writer whose group was taken over; it stood still between `stopped` and
   * `continued`.
   */
  async audit(events: number, first: string, stopped: Moment, continued: Moment): Promise<RivalsAudit> {
    const { name } = this;
    const own = `writer = '${first}'`;
    const twice = `id IN (SELECT id FROM ${name} GROUP BY id HAVING count() > 1)`;
    const [found] = await this.#server.query<Record<string, string>>(`SELECT
      toString(count()) AS rows,
      toString(uniqExactIf(id, id >= 0 AND id < ${events})) AS known,
      toString(uniqExact(id)) AS ids,
      toString(uniqExact(id, writer)) AS once,
      toString(dateDiff('ms', minIf(at, ${own} AND ${twice}), maxIf(at, ${own} AND at <= '${stopped}'))) AS span,
      toString(countIf(${own} AND at > '${continued}')) AS late,
      toString(uniqExactIf(at, ${own} AND at > '${continued}')) AS inserts
    FROM ${name}`);
    const of = (what: string): number => Number(found?.[what]);
    const repeated = of("rows") - of("ids");
    return {
      rows: of("rows"),
      lost: events - of("known"),
      strangers: of("ids") - of("known"),
      repeated,
      byOneAlone: of("rows") - of("once"),
      span: repeated === 0 ? 0 : Math.max(0, of("span")),
      late: { rows: of("late"), inserts: of("inserts") },
    };
  }
}
