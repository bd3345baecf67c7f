import type { ReachableClickHouse } from "../support/clickhouse.ts";
import { droppedBy } from "./duplicate-counter.ts";

/** What is in a table of ids, held against the ids that there must be: 0 up to their number, each once. */
export interface TableAudit {
  count: number;
  unique: number;
  /** Some of the ids that are wrong, by what is wrong with them; empty where nothing is. */
  lost: number[];
  doubled: number[];
  strangers: number[];
  /** There, and `n` is not what it was. */
  changed: number[];
}

type Wrong = "lost" | "doubled" | "strangers" | "changed";

/** So many wrong ids are named. */
const named = 5;

/** A table of `id` and `n` that remembers what was inserted, on a server that no kill touches. */
export class CountedTable {
  readonly name: string;
  readonly #server: Pick<ReachableClickHouse, "query">;

  private constructor(server: Pick<ReachableClickHouse, "query">, name: string) {
    this.#server = server;
    this.name = name;
  }

  /** One that is there already, or will be. */
  static on(server: Pick<ReachableClickHouse, "query">, name: string): CountedTable {
    return new CountedTable(server, name);
  }

  static async create(server: ReachableClickHouse, name: string): Promise<CountedTable> {
    const columns = "(id Int64, n Int64)";
    const settings = "SETTINGS non_replicated_deduplication_window = 10000";
    await server.client.command({
      query: `CREATE TABLE ${name} ${columns} ENGINE = MergeTree ORDER BY id ${settings}`,
    });
    return new CountedTable(server, name);
  }

  async rows(): Promise<number> {
    const [row] = await this.#server.query<{ n: string }>(`SELECT toString(count()) AS n FROM ${this.name}`);
    return Number(row?.n);
  }

  async audit(distinct: number): Promise<TableAudit> {
    const { name } = this;
    const [counts] = await this.#server.query<{ count: string; unique: string }>(
      `SELECT toString(count()) AS count, toString(uniqExact(id)) AS unique FROM ${name}`,
    );
    return {
      count: Number(counts?.count),
      unique: Number(counts?.unique),
      lost: await this.#ids(`SELECT number AS id FROM numbers(${distinct}) WHERE id NOT IN (SELECT id FROM ${name})`),
      doubled: await this.#ids(`SELECT id FROM ${name} GROUP BY id HAVING count() > 1`),
      strangers: await this.#ids(`SELECT id FROM ${name} WHERE id < 0 OR id >= ${distinct}`),
      changed: await this.#ids(`SELECT id FROM ${name} WHERE n != id * 7 % 1000`),
    };
  }

  /**
   * As `audit`, of a table that must have just these rows. `missing`: ids that are lost whatever the table has.
   */
  async auditRows(rows: readonly { id: number; n: number }[], missing: readonly number[]): Promise<TableAudit> {
    const wanted = new Map(rows.map(({ id, n }) => [id, n]));
    const found = new Map<number, number>();
    const audit = { lost: [...missing], doubled: [], strangers: [], changed: [] } as Pick<TableAudit, Wrong>;
    const there = await this.#server.query<{ id: string; n: string }>(`SELECT id, n FROM ${this.name}`);
    for (const row of there) {
      const [id, n] = [Number(row.id), Number(row.n)];
      if (found.has(id)) audit.doubled.push(id);
      else if (!wanted.has(id)) audit.strangers.push(id);
      else if (wanted.get(id) !== n) audit.changed.push(id);
      found.set(id, n);
    }
    for (const id of wanted.keys()) if (!found.has(id)) audit.lost.push(id);
    for (const wrong of Object.values(audit)) wrong.splice(named);
    return { count: there.length, unique: found.size, ...audit };
  }

  /** Inserts that the server dropped as repeats since it started, of all its tables. */
  dropped(): Promise<number> {
    return droppedBy(this.#server);
  }

  async #ids(query: string): Promise<number[]> {
    const rows = await this.#server.query<{ id: string }>(`${query} ORDER BY id LIMIT ${named}`);
    return rows.map(({ id }) => Number(id));
  }
}
