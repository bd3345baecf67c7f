import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer } from "../../../engine/core/sink.ts";
import {
  commonSettings,
  newerSettings,
  tokenSetting,
} from "../../../engine/sinks/clickhouse/insert/insert-settings.ts";
import { PartitionLimit } from "../../../engine/sinks/clickhouse/insert/inserter.ts";
import { reviewedAs } from "../../../engine/sinks/clickhouse/insert/profile-review.ts";
import { corrections, harmless, shown } from "../../../engine/sinks/clickhouse/insert/reviewed-settings.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { encoded } from "../../support/encoded.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { ProfileProxy, type ProfileSettings } from "./profile-proxy.ts";
import { proxyTo } from "./proxy.ts";
import { events, patient, sinkOn } from "./support.ts";

const ok = { kind: "ok" };
const rows = events({ id: 1 }, { id: 2 }, { id: 3 });
let server: TestClickHouse;
let proxy: ProfileProxy;

beforeAll(async () => {
  server = await useClickHouse();
  proxy = await ProfileProxy.start(server);
  const window = "SETTINGS non_replicated_deduplication_window = 100";
  for (const query of [
    "CREATE DATABASE d",
    `CREATE TABLE d.t (id Int64) ENGINE = MergeTree ORDER BY id ${window}`,
    `CREATE TABLE d.behind (id Int64) ENGINE = MergeTree ORDER BY id ${window}`,
    "CREATE MATERIALIZED VIEW d.t_view TO d.behind AS SELECT id FROM d.t ORDER BY id",
    `CREATE TABLE d.broken (id Int64) ENGINE = MergeTree ORDER BY id ${window}`,
    "CREATE MATERIALIZED VIEW d.broken_view TO d.behind AS SELECT id + throwIf(id = 2) AS id FROM d.broken",
  ]) {
    await server.client.command({ query });
  }
});

afterAll(async () => {
  await proxy.close();
  await server.stop();
});

async function sunk<Result>(
  profile: ProfileSettings,
  table: string,
  work: (sink: ClickHouseSink) => Promise<Result>,
): Promise<Result> {
  proxy.use(profile);
  const sink = sinkOn({ ...server, url: proxy.url }, { fields: [["id", "int", "Int64"]], table });
  try {
    return await work(sink);
  } finally {
    await sink.close();
  }
}

/** What a sink under this profile is answered, and the rows of the table and of the one that its view writes. */
async function inserted(profile: ProfileSettings, table = "t"): Promise<{ answers: Answer[]; counts: unknown }> {
  const answers = await sunk(profile, table, async (sink) => [
    await sink.open(patient),
    await sink.insert(encoded(sink, rows), "a", patient),
  ]);
  const counted = `SELECT (SELECT count() FROM d.${table}) AS there, (SELECT count() FROM d.behind) AS behind`;
  const [counts] = await server.query<{ there: string; behind: string }>(counted);
  for (const name of [table, "behind"]) await server.client.command({ query: `TRUNCATE TABLE d.${name}` });
  return { answers, counts: [Number(counts!.there), Number(counts!.behind)] };
}

test("a profile that leaves rows out for views changes nothing", async () => {
  const profile = { additional_table_filters: "{'d.t': 'id > 1'}" };
  expect(await inserted(profile)).toEqual({ answers: [ok, ok], counts: [3, 3] });
});

test.each<[setting: string, profile: ProfileSettings, answer: Answer["kind"], counts: number[]]>([
  ["sort_overflow_mode", { sort_overflow_mode: "break", max_rows_to_sort: "1" }, "unknown", [3, 0]],
  ["limit", { limit: "1", offset: "1" }, "ok", [3, 3]],
])(
  "a profile with another %s makes no insert with fewer rows one of success",
  { tags: ["rest"] },
  async (_, profile, answer, counts) => {
    expect(await inserted(profile)).toMatchObject({ answers: [ok, { kind: answer }], counts });
  },
);

test("a profile that ignores errors of views does not make one an answer of success", { tags: ["rest"] }, async () => {
  const { answers } = await inserted({ materialized_views_ignore_errors: "1" }, "broken");
  expect(answers).toMatchObject([ok, { kind: "unknown", failure: { class: "view" } }]);
});

test("a setting that a profile may mean is shown with its value and what it does, also before anything is written", async () => {
  const remark = "the settings profile of user sluice has join_use_nulls = 1, which decides whether";
  const [shownAtStart, checked, gone] = await sunk({ join_use_nulls: "1" }, "t", async (sink) => {
    const before = await sink.check(patient);
    await sink.open(patient);
    const opened = sink.profileRemark;
    proxy.use({});
    await sink.open(patient);
    return [opened, before, sink.profileRemark];
  });
  expect(shownAtStart).toContain(remark.replace("sluice", server.username));
  expect(checked).toMatchObject({ kind: "ok", profileRemark: shownAtStart });
  expect(gone).toBeUndefined();
});

test("the profile is asked again when the server has another version", { tags: ["rest"] }, async () => {
  let version = "version()";
  let value = "0";
  const told = await proxyTo(
    server.url,
    () => undefined,
    (body) =>
      body
        .replace("version() AS version", `${version} AS version`)
        .replace(
          "SELECT name, value, changed",
          `SELECT name, if(name = 'join_use_nulls', '${value}', value) AS value, changed`,
        )
        .replace("changed = 1 OR", "changed = 1 OR name = 'join_use_nulls' OR")
        .replace("value, changed,", "value, name = 'join_use_nulls' OR changed AS changed,"),
  );
  const sink = sinkOn({ ...server, url: told.url }, { fields: [["id", "int", "Int64"]], table: "t" });
  const remarks: (string | undefined)[] = [];
  await sink.open(patient);
  for (const [now, set] of [
    ["version()", "1"],
    ["'99.1.1.1'", "1"],
    ["'99.1.1.1'", "2"],
  ] as const) {
    [version, value] = [now, set];
    expect(await sink.read(true, patient)).toMatchObject({ kind: "read" });
    remarks.push(/join_use_nulls = \d/.exec(sink.profileRemark ?? "")?.[0]);
  }
  await sink.close();
  await told.stop();
  expect(remarks).toEqual(["join_use_nulls = 0", "join_use_nulls = 1", "join_use_nulls = 1"]);
});

test("each setting of the embedded ClickHouse that may touch inserts is sent, corrected, shown, or known to be harmless", async () => {
  const settings = await server.query<{ name: string; default: string }>(
    "SELECT name, default FROM system.settings WHERE NOT is_obsolete",
  );
  const defaults = new Map(settings.map(({ name, default: usual }) => [name, usual]));
  const names = [...defaults.keys()];
  const sent = [...Object.keys({ ...commonSettings(true), ...newerSettings }), tokenSetting, PartitionLimit.setting];
  expect(names.filter((name) => reviewedAs(name) === undefined && !sent.includes(name))).toEqual([]);
  expect(Object.entries(corrections).filter(([name, right]) => defaults.get(name) !== right)).toEqual([]);
  expect([...sent, ...Object.keys(shown)].filter((name) => !defaults.has(name))).toEqual([]);
  expect(harmless.filter(([pattern]) => !names.some((name) => pattern.test(name)))).toEqual([]);
});
