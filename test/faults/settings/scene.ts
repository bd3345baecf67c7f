import type { Answer, Block, Probe, Reading } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import { encoded } from "../../support/encoded.ts";
import { startClickHouse, type TestClickHouse } from "../../support/clickhouse.ts";
import { events, type Field, sinkOn } from "../../integration/sink/support.ts";
import { ProfileProxy, type ProfileSettings } from "../../integration/sink/profile-proxy.ts";

/** How long one answer may take, in milliseconds. */
const patience = 60_000;

const window = "non_replicated_deduplication_window = 1000";

/** The columns of the target, with the kinds of fields that feed them. */
const fields: Field[] = [
  ["run", "int", "UInt32"],
  ["batch", "string", "String"],
  ["id", "int", "Int64"],
  ["p", "int", "UInt8"],
  ["name", "string", "String"],
  ["at", "string", "DateTime"],
  ["exact", "string", "DateTime64(3)"],
  ["day", "string", "Date"],
  ["maybe", "int", "Nullable(Int32)"],
  ["usual", "int", "Int32"],
  ["price", "string", "Decimal(18, 2)"],
  ["ratio", "float", "Float64"],
  ["done", "bool", "Bool"],
  ["tags", "array", "Array(String)"],
  ["attributes", "map", "Map(String, String)"],
  ["kind", "string", "Enum8('a' = 1, 'b' = 2)"],
  ["level", "string", "LowCardinality(String)"],
  ["key", "string", "UUID"],
  ["place", "map", "Tuple(x Int32, y String)"],
  ["doc", "map", "JSON"],
];

const columns = fields.map(([name, , type]) => `${name} ${type}${name === "usual" ? " DEFAULT 7" : ""}`).join(", ");

function behind(name: string, of: string): string {
  return `CREATE TABLE s.${name} (run UInt32, batch String, ${of}) ENGINE = MergeTree ORDER BY tuple() SETTINGS ${window}`;
}

const target = (settings: string): string =>
  `CREATE TABLE s.main (${columns}, CONSTRAINT small CHECK id < 100) ENGINE = MergeTree ORDER BY id PARTITION BY p SETTINGS ${settings}`;

const makingViews = [
  "CREATE MATERIALIZED VIEW s.plain_view TO s.plain AS SELECT run, batch, id, name FROM s.main",
  "CREATE MATERIALIZED VIEW s.sums_view TO s.sums AS SELECT run, batch, p, count() AS n, sum(id) AS total, max(at) AS newest FROM s.main GROUP BY run, batch, p",
  "CREATE MATERIALIZED VIEW s.joined_view TO s.joined AS SELECT DISTINCT m.run AS run, m.batch AS batch, m.id AS id, l.label AS label FROM s.main AS m LEFT JOIN s.labels AS l ON m.name = l.name WHERE m.name IN (SELECT name FROM s.labels) OR m.id > 6 ORDER BY id",
  "CREATE MATERIALIZED VIEW s.fragile_view TO s.fragile AS SELECT run, batch, id, throwIf(name = 'bad') AS bad FROM s.main",
];

const making = [
  "CREATE DATABASE s",
  behind("plain", "id Int64, name String"),
  behind("sums", "p UInt8, n UInt64, total Int64, newest DateTime"),
  behind("joined", "id Int64, label String"),
  behind("fragile", "id Int64, bad UInt8"),
  "CREATE TABLE s.labels (name String, label String) ENGINE = MergeTree ORDER BY name",
  "INSERT INTO s.labels VALUES ('n1', 'one'), ('n1', 'uno'), ('n2', 'two')",
  target(window),
  ...makingViews,
];

const tables = ["main", "plain", "sums", "joined", "fragile"] as const;
export type SceneTable = (typeof tables)[number];

/** What was answered to each step, and what is in the tables then. */
export interface Observation {
  /** By the name of the step. */
  answers: Record<string, StepAnswer>;
  /** Rows that the target had after the insert with a wrong row. */
  afterWrong: number;
  /** The rows of each table, as text: of the batch that every view takes, and of the one that a view fails for. */
  rows: Record<SceneTable, Record<"good" | "failing", string[]>>;
  /** What the reading after the good batch says of the target; absent where there is none. */
  reading?: SeenReading;
  /** What is named in conditions. */
  named: string[];
}

/** What a reading promises. */
export interface SeenReading {
  /** For how many inserts a repeat is recognised. */
  entries: number;
  hasBlocks: boolean;
  views: string[];
  isReplicated: boolean;
}

/** `ok`, or what was said instead: `refused` claims that nothing was written. */
export interface StepAnswer {
  kind: "ok" | "refused" | "unknown" | "found" | "failed";
  text: string;
}

/** Sinks, tables, views and a server, on which one story is played under many profiles. */
export class SettingsScene {
  #server: TestClickHouse;
  #proxy: ProfileProxy;
  #run = 0;

  private constructor(server: TestClickHouse, proxy: ProfileProxy) {
    this.#server = server;
    this.#proxy = proxy;
  }

  static async start(): Promise<SettingsScene> {
    const server = await startClickHouse();
    const scene = new SettingsScene(server, await ProfileProxy.start(server));
    await scene.#build();
    return scene;
  }

  get server(): TestClickHouse {
    return this.#server;
  }

  /** The story under a profile, and with settings of the target. Throws where the server itself is gone. */
  async play(profile: ProfileSettings, tableSettings?: string): Promise<Observation> {
    this.#run += 1;
    if (tableSettings !== undefined) await this.#remake(`${window}, ${tableSettings}`);
    this.#proxy.use(profile);
    const story = new Story(this.#run, { ...this.#server, url: this.#proxy.url });
    try {
      await story.refusesRow(() => this.#count());
      await story.failsView();
    } finally {
      await story.close();
      this.#proxy.use({});
    }
    const { answers, reading, named, afterWrong } = story;
    const rows = await this.#rows();
    if (tableSettings !== undefined) await this.#remake(window);
    return { answers, ...(reading !== undefined && { reading }), named: [...named], rows, afterWrong };
  }

  /** A new server in place of one that died, or hangs. */
  async restart(): Promise<void> {
    await this.stop();
    this.#server = await startClickHouse();
    this.#proxy = await ProfileProxy.start(this.#server);
    await this.#build();
  }

  async stop(): Promise<void> {
    await this.#proxy.close();
    await this.#server.stop();
  }

  async #build(): Promise<void> {
    for (const query of making) await this.#command(query);
  }

  async #remake(settings: string): Promise<void> {
    await this.#command("DROP TABLE IF EXISTS s.main SYNC");
    await this.#command(target(settings));
  }

  async #command(query: string): Promise<void> {
    await this.#server.client.command({ query, abort_signal: AbortSignal.timeout(patience) });
  }

  async #count(): Promise<number> {
    const [row] = await this.#server.query<{ n: string }>(`SELECT count() AS n FROM s.main WHERE run = ${this.#run}`);
    return Number(row!.n);
  }

  async #rows(): Promise<Observation["rows"]> {
    const of = (name: string, batch: string): string =>
      `(SELECT groupArray(toString(tuple(* EXCEPT (run, batch)))) FROM s.${name} WHERE run = ${this.#run} AND batch = '${batch}') AS ${name}_${batch}`;
    const each = tables.flatMap((name) => [of(name, "good"), of(name, "failing")]);
    const [found] = await this.#server.query<Record<string, string[]>>(`SELECT ${each.join(", ")}`);
    // Their order in a table is no promise.
    const rows = (name: string): string[] => found![name]!.toSorted();
    const pairs = tables.map((name) => [name, { good: rows(`${name}_good`), failing: rows(`${name}_failing`) }]);
    return Object.fromEntries(pairs) as Observation["rows"];
  }
}

/** One story: its answers and readings. */
class Story {
  readonly answers: Observation["answers"] = {};
  reading?: SeenReading;
  readonly named = new Set<string>();
  afterWrong = 0;
  readonly #run: number;
  readonly #sink: ClickHouseSink;

  constructor(run: number, server: Pick<TestClickHouse, "url" | "username" | "password">) {
    this.#run = run;
    this.#sink = sinkOn(server, { fields, table: "main", database: "s" });
  }

  /**
   * A batch over two partitions and four views whose eighth row violates a constraint; without it once it is found; and
   * the repeat of that.
   */
  async refusesRow(count: () => Promise<number>): Promise<void> {
    const sink = this.#sink;
    if (!(await this.#opens())) return;
    const good = Array.from({ length: 10 }, (_, id) => valueOf(this.#run, "good", id));
    const all = encoded(sink, events(...good.map((value, id) => (id === 7 ? { ...value, id: 700 } : value))));
    await this.#insert("wrong row", all, "good");
    this.afterWrong = await count();
    await this.#step("probe", (signal) => sink.probe(all, signal));
    const rest = encoded(sink, events(...good.filter((_, id) => id !== 7)));
    await this.#insert("insert", rest, "good");
    await this.#insert("repeat", rest, "good");
    await this.#read();
  }

  /** A batch with a row that a view does not take, and its repeat. */
  async failsView(): Promise<void> {
    if (this.answers["open"]?.kind !== "ok") return;
    const values = Array.from({ length: 6 }, (_, id) => valueOf(this.#run, "failing", id));
    const block = encoded(
      this.#sink,
      events(...values.map((value, id) => (id === 3 ? { ...value, name: "bad" } : value))),
    );
    await this.#insert("failing view", block, "failing");
    await this.#insert("failing view, again", block, "failing");
  }

  close(): Promise<void> {
    return this.#sink.close();
  }

  async #opens(): Promise<boolean> {
    await this.#step("open", (signal) => this.#sink.open(signal));
    for (const text of [this.#sink.atLeastOnce, this.#sink.profileRemark]) if (text !== undefined) this.named.add(text);
    return this.answers["open"]!.kind === "ok";
  }

  #insert(name: string, block: Block, batch: string): Promise<void> {
    return this.#step(name, (signal) => this.#sink.insert(block, `${batch}${this.#run}`, signal));
  }

  async #read(): Promise<void> {
    const read = await this.#sink.read(true, AbortSignal.timeout(patience));
    if (read.kind === "read") this.reading = promisedBy(read.reading);
    else this.answers["read"] = { kind: read.kind, text: read.failure.text };
  }

  async #step(name: string, work: (signal: AbortSignal) => Promise<Answer | Probe>): Promise<void> {
    this.answers[name] = told(await work(AbortSignal.timeout(patience)));
  }
}

function valueOf(run: number, batch: string, id: number): Record<string, unknown> {
  const two = String(id).padStart(2, "0");
  return {
    run,
    batch,
    id,
    p: id % 2,
    name: `n${id % 4}`,
    at: `2026-03-01T12:00:${two}Z`,
    exact: `2026-03-01 12:00:${two}.125`,
    day: `2026-03-${String(id + 1).padStart(2, "0")}`,
    ...(id % 3 === 0 ? {} : { maybe: id, usual: id }),
    price: `${id}.25`,
    ratio: id / 4,
    done: id % 2 === 0,
    tags: ["x", `${id}`],
    attributes: { a: "1", b: `${id}` },
    kind: id % 2 === 0 ? "a" : "b",
    level: "info",
    key: `00000000-0000-4000-8000-0000000000${two}`,
    place: { x: id, y: "here" },
    doc: { n: id, deep: { when: "2026-03-01", yes: true, list: [1, 2] } },
  };
}

function promisedBy({ window: kept, blocks, views, isReplicated = false }: Reading): SeenReading {
  const names = Object.keys(views ?? {}).toSorted();
  return { entries: kept.entries, hasBlocks: blocks !== undefined, views: names, isReplicated };
}

function told(answer: Answer | Probe): StepAnswer {
  if (answer.kind === "ok") return { kind: "ok", text: "" };
  if (answer.kind === "found") return { kind: "found", text: answer.rows.map(({ row }) => row).join(", ") };
  if (answer.kind === "forbidden") return { kind: "failed", text: answer.grant };
  const { failure } = answer;
  return { kind: answer.kind, text: failure.text };
}
