import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { EngineOnServer, type Over, type ServerPipeline, tableOf } from "../../support/engine-on-server.ts";

let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
afterEach(() => on.proxy.decide());
afterAll(() => on.stop());

const columns =
  "(id Int64, level String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100";

interface Trouble {
  text: RegExp;
  /** From now on the server says no. */
  strike(table: string): unknown;
  /** What is done on the server. */
  mend(table: string): unknown;
  /** What a commit says instead: keys of the sink. */
  commit(table: string): Record<string, unknown>;
  /** The table that the commit leads to, where it is another one. */
  moved?: string;
}

const basic = (password: string): string => `Basic ${Buffer.from(`default:${password}`).toString("base64")}`;

/** From now on the server takes this password and no other one. */
function changePassword(password: string): void {
  on.proxy.decide(({ headers }) => {
    const isRight = headers.authorization === basic(password);
    return { kind: "pass", headers: { authorization: basic(isRight ? on.server.password : "wrong") } };
  });
}

const troubles: [title: string, pipeline_id: string, Trouble][] = [
  [
    "a missing table",
    "missing",
    {
      text: /table d\.\w+ does not exist.*x-sluice\.create_table: true/s,
      strike: (table) => on.run(`RENAME TABLE ${table} TO ${table}_away`),
      mend: (table) => on.run(`RENAME TABLE ${table}_away TO ${table}`),
      commit: (table) => ({ table: `${table.slice(2)}_away` }),
      moved: "_away",
    },
  ],
  [
    "a column that is gone",
    "column",
    {
      text: /has no column "level" that can be written/,
      strike: (table) => on.run(`ALTER TABLE ${table} RENAME COLUMN level TO severity`),
      mend: (table) => on.run(`ALTER TABLE ${table} RENAME COLUMN severity TO level`),
      commit: () => ({
        mapping: [
          { name: "id", column_name: "id", column_type: "Int64" },
          { name: "level", column_name: "severity", column_type: "String" },
        ],
      }),
    },
  ],
  [
    "a wrong password",
    "password",
    {
      text: /AUTHENTICATION_FAILED \(code 516\)/,
      strike: () => changePassword("another-password"),
      mend: () => changePassword(on.server.password),
      commit: () => {
        on.secrets["new_password"] = "another-password";
        return { connection_params: on.connection({ password: "${new_password}" }) };
      },
    },
  ],
  [
    "a user who may only read",
    "reader",
    {
      text: /readonly = 1, which forbids every insert/,
      strike: () => on.proxy.decide(() => ({ kind: "pass", parameters: { readonly: "1" } })),
      mend: () => on.proxy.decide(),
      commit: () => ({ connection_params: on.connection({ http_port: new URL(on.server.url).port }) }),
    },
  ],
];

/** What is remembered of a batch is given up with it, so that nothing is a repeat of itself when it is made again. */
const dedup = { transforms: [{ type: "dedup", source_id: "input", config: { key: "id", time_window: "1h" } }] };

/** A pipeline that has written 1 and 2, waits with 3 and 4, and holds 5 and 6. */
async function stuck(pipeline_id: string, { text, ...trouble }: Trouble, over: Over = {}): Promise<ServerPipeline> {
  const table = tableOf(pipeline_id);
  await on.run(`CREATE TABLE ${table} ${columns}`);
  const pipeline = await on.create(pipeline_id, { ...dedup, ...over });
  await pipeline.post(1, 2);
  await pipeline.settled();
  await trouble.strike(table);
  await pipeline.post(3, 4);
  const { paused, overall_status, dead_letters } = await pipeline.paused(text);
  expect({ overall_status, class: paused!.class }).toEqual({ overall_status: "Running", class: "setup" });
  expect(dead_letters.total_messages).toBe(0);
  await pipeline.post(5, 6);
  return pipeline;
}

/** What was said to the inserts of the batch that waited, with its tokens in their order. */
function refused({ inserts }: ServerPipeline): { statuses: boolean[]; tokens: Set<string | undefined> } {
  const own = inserts.filter(({ rows }) => rows.includes('"id":3'));
  return { statuses: own.map(({ status }) => status === 200), tokens: new Set(own.map(({ token }) => token)) };
}

const [missing, ...others] = troubles;

describe.each([missing!])("%s pauses a pipeline that has a batch on its way", untilMended);
describe.each(others)("%s pauses a pipeline that has a batch on its way", { tags: ["rest"] }, untilMended);

function untilMended(_title: string, pipeline_id: string, trouble: Trouble): void {
  test("until the server is mended", async () => {
    const pipeline = await stuck(`${pipeline_id}-server`, trouble);
    await trouble.mend(pipeline.table);
    const { counters, dead_letters, paused } = await pipeline.settled();
    expect(await on.ids(pipeline.table)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(dead_letters.total_messages).toBe(0);
    expect(paused).toBeUndefined();
    // Told after the commit.
    await pipeline.until(({ keys }) => keys?.keys === 6);
    expect(counters).toMatchObject({ rows_written: 6, inserts_repeated: 0, batches_reprepared: 0 });
    expect(refused(pipeline)).toEqual({ statuses: [false, true], tokens: new Set([expect.any(String)]) });
  });

  test("until a commit says something else", async () => {
    const pipeline = await stuck(`${pipeline_id}-commit`, trouble);
    await pipeline.edit({ ...dedup, sink: trouble.commit(pipeline.table) });
    const { counters, dead_letters, paused } = await pipeline.settled();
    expect(await on.ids(pipeline.table + (trouble.moved ?? ""))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(dead_letters.total_messages).toBe(0);
    expect(paused).toBeUndefined();
    // Told after the commit.
    await pipeline.until(({ keys }) => keys?.keys === 6);
    // Nothing of it was in the table, so that it was made again as a new batch. What was behind it was never sent.
    expect(counters).toMatchObject({
      rows_written: 6,
      batches_replayed: 1,
      batches_reprepared: 1,
      inserts_repeated: 0,
      batches_uncertain: 0,
    });
    expect(refused(pipeline).statuses[0]).toBe(false);
  });
}

test(
  "a secret that has another value by now is taken when the pipeline is started again",
  { tags: ["rest"] },
  async () => {
    on.secrets["rotated"] = on.server.password;
    const connection_params = on.connection({ password: "${rotated}" });
    const pipeline = await stuck("rotated", troubles[2]![2], { sink: { connection_params } });
    on.secrets["rotated"] = "another-password";
    await pipeline.configure({});
    const { counters } = await pipeline.settled();
    expect(await on.ids(pipeline.table)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(counters).toMatchObject({ batches_replayed: 1, batches_reprepared: 0, inserts_repeated: 0 });
    expect(refused(pipeline)).toEqual({ statuses: [false, true], tokens: new Set([expect.any(String)]) });
  },
);

test(
  "what was never sent is not given up, whatever a commit says of what nobody knows",
  { tags: ["rest"] },
  async () => {
    const pipeline = await stuck("never-sent", troubles[0]![2]);
    await on.run(`CREATE TABLE ${pipeline.table}_other ${columns}`);
    await pipeline.edit({ ...dedup, sink: { table: "never_sent_other" } }, { on_uncertain: "skip" });
    const { counters } = await pipeline.settled();
    expect(await on.ids(`${pipeline.table}_other`)).toEqual([3, 4, 5, 6]);
    expect(counters).toMatchObject({ rows_written: 6, batches_uncertain: 0, events_skipped: 0 });
  },
);
