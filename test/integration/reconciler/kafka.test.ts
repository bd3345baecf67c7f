import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { consumerGroup, type PipelineHealth } from "../../../engine/index.ts";
import { settledFolder } from "../../support/settled-folder.ts";
import type { Plan } from "../../../reconciler/plan/change.ts";
import { reasonText } from "../../../reconciler/plan/render/index.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";

vi.setConfig({ testTimeout: 120_000 });

const kafka = useKafka();
const quick = { sessionTimeout: 1_500, heartbeatInterval: 150, fetchWait: 50, metadataMaxAge: 300 };

let engine: TestEngine;
let reconciler: Reconciler;
let topic: string;
let id: string;
let made: Plan | undefined;

beforeEach(async () => {
  topic = kafka().unique("orders");
  id = kafka().unique("k").replaceAll("_", "-");
  await kafka().topics.create(topic, { partitions: 3 });
  engine = await TestEngine.open({ kafka: quick });
  await engine.engine.sql(
    "CREATE TABLE orders (id Int64, level String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000",
  );
  await mkdir(join(engine.dataDir, "files"));
  reconciler = reconcilerOf(engine);
  await say({ id: "other" });
});

afterEach(async () => {
  await engine.close();
  await kafka().topics.delete(topic);
});

function reconcilerOf({ engine: of, dataDir, log, registry }: TestEngine): Reconciler {
  const source = settledFolder(join(dataDir, "files"));
  return new Reconciler({ source, engine: of, dataDir, log, registry, interval: 60_000, applyTimeout: 60_000 });
}

const fileOf = (pipeline_id: string): string => join(engine.dataDir, "files", `${pipeline_id}.yaml`);

/** The pipeline of the test as its file says it. */
const reader = (over: Partial<PipelineText> = {}, size = "10Gi"): PipelineText => ({
  id,
  topic,
  brokers: kafka().connectionParams().brokers,
  table: "orders",
  transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
  root: [`resources: { transform: [{ source_id: input, storage: { size: ${size} } }] }`],
  ...over,
});

const say = (text: PipelineText): Promise<void> => writeFile(fileOf(text.id), pipelineText(text));

/** One turn; gives what became of each pipeline. */
async function turn(): Promise<Record<string, string>> {
  const { outcomes = [], error, plan } = await reconciler.turn("manual", new AbortController().signal);
  if (error !== undefined) throw error;
  made = plan;
  return Object.fromEntries(outcomes.map(({ pipeline_id, result }) => [pipeline_id, result]));
}

const reason = (): string | undefined => {
  const change = made?.changes.find(({ pipeline_id }) => pipeline_id === id);
  return change && reasonText(change.why);
};

const produce = (from: number, to: number): Promise<void> =>
  kafka().produce(
    topic,
    Array.from({ length: to - from + 1 }, (_, index) => JSON.stringify({ id: from + index, level: "error" })),
  );

/** Resolves when the table holds exactly as many rows as there are ids from 1 to `last`, and checks that it is each once. */
async function holds(last: number): Promise<void> {
  for (;;) {
    const [found] = await engine.rows<{ rows: number; ids: number }>(
      "SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(id)) AS ids FROM orders",
    );
    if (found !== undefined && found.rows >= last) return expect(found).toEqual({ rows: last, ids: last });
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

const committed = async (): Promise<number> =>
  (await kafka().groups.offsets(consumerGroup(id), topic)).reduce((sum, { offset }) => sum + Math.max(0, offset), 0);

test(
  "a pipeline that is made anew goes on where its consumer group stands: each event once",
  { tags: ["rest"] },
  async () => {
    await produce(1, 100);
    await say(reader());
    expect(await turn()).toMatchObject({ [id]: "applied" });
    expect(reason()).toMatch(
      new RegExp(`^it is new; topic ${topic} is read from its beginning, unless the consumer group `),
    );
    await holds(100);

    await say(reader({}, "20Gi"));
    expect(await turn()).toEqual({});
    expect(reason()).toContain("set x-sluice.recreate: true");

    await say(reader({ sluice: ["recreate: true"] }, "20Gi"));
    await produce(101, 200);
    expect(await turn()).toEqual({ [id]: "applied" });
    expect(reason()).toContain(
      `the consumer group ${consumerGroup(id)} is kept, and reading continues from its committed offsets`,
    );
    expect(engine.engine.get(id)).toMatchObject({ revision: 1, status: "Running" });
    await produce(201, 300);
    await holds(300);
    expect(await turn()).toEqual({});
  },
);

test("a pipeline whose file goes leaves its place to the next one of its pipeline_id", async () => {
  await say(reader());
  await turn();
  await produce(1, 100);
  await holds(100);
  await rm(fileOf(id));
  expect(await turn()).toEqual({ [id]: "applied" });
  expect([engine.engine.list().map(({ pipeline_id }) => pipeline_id), await committed()]).toEqual([["other"], 100]);

  await produce(101, 200);
  await say(reader());
  expect(await turn()).toEqual({ [id]: "applied" });
  await holds(200);
});

test("a pipeline at rest since before a restart is deleted when its group was asked", { tags: ["rest"] }, async () => {
  await produce(1, 100);
  await say(reader());
  await turn();
  await holds(100);
  await say(reader({ sluice: ["state: Stopped"] }));
  expect(await turn()).toEqual({ [id]: "applied" });
  const { dataDir } = engine;
  await engine.close({ keep: true });
  engine = await TestEngine.open({ dataDir, kafka: quick });
  reconciler = reconcilerOf(engine);
  await rm(fileOf(id));
  const first = await turn();
  if (first[id] === "held") {
    await engine.until(id, ({ source }) => source?.uncommitted === 0);
    expect(await turn()).toEqual({ [id]: "applied" });
  } else expect(first).toEqual({ [id]: "applied" });
  expect([engine.engine.list().map(({ pipeline_id }) => pipeline_id), await committed()]).toEqual([["other"], 100]);
});

test("a pipeline whose partitions somebody else reads says who", { tags: ["rest"] }, async () => {
  await say(reader());
  await turn();
  await engine.until(id, ({ source }) => source?.partitions === 3);
  const stranger = kafka()
    .client(undefined, { clientId: "console" })
    .consumer({ groupId: consumerGroup(id), sessionTimeout: 6_000 });
  try {
    await stranger.connect();
    await stranger.subscribe({ topics: [topic] });
    await stranger.run({ autoCommit: false, eachBatch: async () => undefined });
    await engine.until(id, ({ foreign_members }) => foreign_members !== undefined);
    const told = reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === id)?.conditions;
    expect(told?.find(({ type }) => type === "ForeignMembers")).toMatchObject({
      status: "True",
      reason: "NotSluice",
      message: expect.stringContaining("are not read here: console. ") as string,
    });
  } finally {
    await stranger.disconnect();
  }
  await engine.until(id, ({ foreign_members, source }) => foreign_members === undefined && source?.partitions === 3);
});

const order = (order_id: string, amount: number): string =>
  JSON.stringify({ order_id, customer: { country: "NO" }, amount, ordered_at: "2026-01-05T10:00:00.5Z" });

test("the example reads orders once: without those that the filter drops, and without repeats", async () => {
  const text = await readFile("examples/kafka/pipelines/shop-orders.yaml", "utf8");
  const [address = ""] = kafka().connectionParams().brokers;
  const here = text.replace("localhost:9092", address).replace("topic: shop.orders", `topic: ${topic}`);
  await writeFile(fileOf("shop-orders"), here.replace("max_delay_time: 2s", "max_delay_time: 100ms"));
  expect(await turn()).toMatchObject({ "shop-orders": "applied" });
  await kafka().produce(topic, [order("a", 5), order("b", 7.5), order("a", 5), order("c", 0), "not an order"]);
  const { dead_letters, counters } = await engine.until(
    "shop-orders",
    ({ counters: { rows_written, duplicates_dropped, events_filtered, dead_lettered } }) =>
      rows_written + duplicates_dropped + events_filtered + dead_lettered === 5,
  );
  expect(counters).toMatchObject({ rows_written: 2, duplicates_dropped: 1, events_filtered: 1 });
  expect(dead_letters.total_messages).toBe(1);
  expect(await engine.rows("SELECT order_id, country, amount, ordered_at FROM shop_orders ORDER BY order_id")).toEqual([
    { order_id: "a", country: "NO", amount: 5, ordered_at: "2026-01-05 10:00:00.500" },
    { order_id: "b", country: "NO", amount: 7.5, ordered_at: "2026-01-05 10:00:00.500" },
  ]);
});

test(
  "the example of two topics books orders and returns in one table, each through its own transforms",
  { tags: ["rest"] },
  async () => {
    const returns = kafka().unique("returns");
    await kafka().topics.create(returns);
    const text = await readFile("examples/kafka-topics/pipelines/shop-turnover.yaml", "utf8");
    const [address = ""] = kafka().connectionParams().brokers;
    const here = text.replace("localhost:9092", address).replace("topic: shop.orders", `topic: ${topic}`);
    const quickly = here.replace("topic: shop.returns", `topic: ${returns}`).replace("time: 2s", "time: 100ms");
    await writeFile(fileOf("shop-turnover"), quickly);
    expect(await turn()).toMatchObject({ "shop-turnover": "applied" });
    const back = { return_id: "a", order_id: "b", country: "NO", refund: 7.5, returned_at: "2026-01-09T12:00:00Z" };
    await kafka().produce(topic, [order("a", 5), order("b", 7.5), order("a", 5), order("c", 0)]);
    await kafka().produce(returns, [JSON.stringify(back), JSON.stringify(back), order("d", 1)]);
    const { dead_letters, counters } = await engine.until(
      "shop-turnover",
      ({ counters: { rows_written, duplicates_dropped, events_filtered, dead_lettered }, keys }) =>
        rows_written + duplicates_dropped + events_filtered + dead_lettered === 7 && keys?.keys === 3,
    );
    expect(counters).toMatchObject({ rows_written: 3, duplicates_dropped: 2, events_filtered: 1 });
    expect(dead_letters.total_messages).toBe(1);
    const rows = await engine.rows(
      "SELECT order_id, country, amount FROM shop_turnover ORDER BY order_id, amount DESC",
    );
    expect(rows).toEqual([
      { order_id: "a", country: "NO", amount: 5 },
      { order_id: "b", country: "NO", amount: 7.5 },
      { order_id: "b", country: "NO", amount: -7.5 },
    ]);
    await kafka().topics.delete(returns);
  },
);

const ofCustomer = (order_id: string, customer_id: unknown): string =>
  JSON.stringify({ order_id, customer_id, amount: 5, ordered_at: "2026-01-05T10:00:00Z" });
const customer = (key: string, name: string): string => JSON.stringify({ id: key, name, address: { country: "NO" } });

test("the example of a join writes orders with their customers, whichever came first", { tags: ["rest"] }, async () => {
  const customers = kafka().unique("customers");
  await kafka().topics.create(customers);
  const text = await readFile("examples/join/pipelines/orders-with-customers.yaml", "utf8");
  const [address = ""] = kafka().connectionParams().brokers;
  const here = text.replace("localhost:9092", address).replace("topic: shop.orders", `topic: ${topic}`);
  const quickly = here.replace("topic: shop.customers", `topic: ${customers}`).replace("time: 2s", "time: 100ms");
  const joined = (counters: Partial<PipelineHealth["counters"]>): Promise<PipelineHealth> =>
    engine.until("orders-with-customers", (health) =>
      Object.entries(counters).every(([name, count]) => health.counters[name as keyof typeof counters] === count),
    );
  await kafka().produce(topic, [ofCustomer("too-old", 7)]);
  await kafka().produce(customers, [customer("7", "Ada")]);
  await writeFile(fileOf("orders-with-customers"), quickly);
  expect(await turn()).toMatchObject({ "orders-with-customers": "applied" });
  await joined({ events_read: 1 });

  await kafka().produce(topic, [ofCustomer("a", 7), ofCustomer("b", 8), ofCustomer("a", 7), ofCustomer("c", null)]);
  await joined({ rows_written: 1, duplicates_dropped: 1, dead_lettered: 1 });
  await kafka().produce(customers, [customer("8", "Grace"), customer("7", "Ada L.")]);
  await joined({ rows_written: 2 });

  // A field more needs a stop, and keeps what is buffered.
  await writeFile(
    fileOf("orders-with-customers"),
    quickly
      .replace(
        "    - { source_id: orders, name: amount }",
        "    - { source_id: orders, name: amount }\n    - { source_id: orders, name: customer_id }",
      )
      .replace("  mapping:", "  mapping:\n    - { name: customer_id, column_name: customer_id, column_type: Int64 }")
      .replace("create_table: true", "create_table: true\n  alter_table: true"),
  );
  expect(await turn()).toMatchObject({ "orders-with-customers": "applied" });
  const health = await engine.until("orders-with-customers", ({ overall_status }) => overall_status === "Running");
  expect(health.join).toMatchObject({ left: { events: 0 }, right: { events: 2 } });
  await kafka().produce(topic, [ofCustomer("d", 7)]);
  await joined({ rows_written: 3 });
  const rows = await engine.rows(
    "SELECT order_id, customer, country, customer_id FROM orders_with_customers ORDER BY order_id",
  );
  expect(rows).toEqual([
    { order_id: "a", customer: "Ada", country: "NO", customer_id: 0 },
    { order_id: "b", customer: "Grace", country: "NO", customer_id: 0 },
    { order_id: "d", customer: "Ada L.", country: "NO", customer_id: 7 },
  ]);
  await kafka().topics.delete(customers);
});
