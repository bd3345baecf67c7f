import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem } from "../../../reconciler/language/problem.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { runCommand } from "../../support/command.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { ProfileProxy } from "../sink/profile-proxy.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";

const window = "SETTINGS non_replicated_deduplication_window = 1000";
const topics: string[] = [];
const kafka = useKafka({
  prepare: async (found) => {
    topics.push(found.unique("resolved"));
    await found.topics.create(topics[0]!);
  },
});
let clickhouse: TestClickHouse;
let folder: string;

beforeAll(async () => {
  clickhouse = await useClickHouse();
  await clickhouse.client.command({
    query: `CREATE TABLE goods (id Int64, level String) ENGINE = MergeTree ORDER BY id ${window}`,
  });
  await clickhouse.client.command({ query: "CREATE TABLE narrow (id Int64) ENGINE = MergeTree ORDER BY id" });
  folder = await mkdtemp(join(tmpdir(), "sluice-resolved-"));
});

afterAll(async () => {
  await clickhouse.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A pipeline that writes to the server of this file. */
function onServer(of: PipelineText, password = "${env:SLUICE_SECRET_CH}", port = new URL(clickhouse.url).port): string {
  const connection = [`port: "${port}"`, `http_port: "${port}"`, `username: ${clickhouse.username}`];
  return pipelineText({ ...of, connection: [...connection, `password: ${password}`] }).replace("embedded", "127.0.0.1");
}

/** Problems that ask for a server to be known. */
async function resolved(text: string, ...argv: string[]): Promise<{ code: number; problems: Problem[]; out: string }> {
  const file = join(folder, "pipeline.yaml");
  await writeFile(file, text);
  const env = { SLUICE_SECRET_CH: clickhouse.password, SLUICE_SECRET_WRONG: "wr0ng-password" };
  const { code, out, err } = await runCommand(["validate", file, "--resolve", "--format", "json", ...argv], { env });
  const { problems } = JSON.parse(out) as { problems: Problem[] };
  return { code, problems: problems.filter(({ code: name }) => !name.startsWith("SECRET_")), out: out + err };
}

describe("sluice validate --resolve", () => {
  test("is content where the secret, the table and the topic are there", async () => {
    const { code, problems } = await resolved(onServer({ id: "goods" }));
    expect([code, problems]).toEqual([0, []]);
    const brokers = [...kafka().access.plaintext];
    const reading = await resolved(onServer({ id: "goods", topic: topics[0]!, brokers }));
    expect([reading.code, reading.problems]).toEqual([0, []]);
  });

  test(
    "says nothing of a table in the embedded ClickHouse, which is another one where the pipeline runs",
    { tags: ["rest"] },
    async () => {
      expect(await resolved(pipelineText({ id: "orders" }))).toMatchObject({ code: 0, problems: [] });
    },
  );

  test.each([
    ["a secret that is not set", () => onServer({ id: "goods" }, "${env:SLUICE_SECRET_NONE}"), "SLUICE_SECRET_NONE"],
    ["a secret that is not allowed", () => onServer({ id: "goods" }, "${env:PATH}"), "is not allowed"],
    ["a wrong password", () => onServer({ id: "goods" }, "${env:SLUICE_SECRET_WRONG}"), "AUTHENTICATION_FAILED"],
    ["a missing table", () => onServer({ id: "missing" }), "missing"],
    ["a missing column", () => onServer({ id: "narrow" }), "level"],
    [
      "a missing topic",
      () => onServer({ id: "goods", topic: `${topics[0]!}-none`, brokers: [...kafka().access.plaintext] }),
      "-none: This server does not host this topic",
    ],
  ])("%s is an error", async (_, text, says) => {
    const { code, problems, out } = await resolved(text());
    expect(code).toBe(1);
    expect(problems).toMatchObject([{ code: "NOT_READY", line: 1, message: expect.stringContaining(says) as string }]);
    expect(out).not.toContain("wr0ng-password");
    expect(out).not.toContain(clickhouse.password);
  });

  test.each([
    ["ReplacingMergeTree ORDER BY level", ["ORDER_BY"]],
    ["ReplacingMergeTree ORDER BY tuple()", ["ORDER_BY"]],
    ["ReplacingMergeTree ORDER BY (level, id)", []],
    ["MergeTree ORDER BY level", []],
  ])("a table that would drop rows that dedup keeps is a warning: %s", async (engine, codes) => {
    await clickhouse.client.command({ query: "DROP TABLE IF EXISTS ordered SYNC" });
    await clickhouse.client.command({
      query: `CREATE TABLE ordered (id Int64, level String) ENGINE = ${engine} ${window}`,
    });
    const { code, problems } = await resolved(
      onServer({
        id: "ordered",
        transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
      }),
    );
    expect([code, problems.map((one) => one.code)]).toEqual([0, codes]);
    if (codes.length === 0) return;
    expect(problems[0]?.message).toMatch(
      /^sink\.table: expected a table whose ORDER BY has id, by which dedup tells events apart, got default\.ordered, a ReplacingMergeTree with ORDER BY /,
    );
  });

  test.each([
    ["Int64", [], ["NULL_BECOMES_ZERO"]],
    ["Int64", ["null: zero"], []],
    ["Int64", ["null: reject"], []],
    ["Int64 DEFAULT 1", [], []],
    ["Nullable(Int64)", [], []],
  ])("an optional field into a column of type %s with x-sluice %j: %j", async (type, sluice, codes) => {
    await clickhouse.client.command({ query: "DROP TABLE IF EXISTS zeroed SYNC" });
    await clickhouse.client.command({
      query: `CREATE TABLE zeroed (id ${type}, level String) ENGINE = MergeTree ORDER BY tuple() ${window}`,
    });
    const text = onServer({ id: "zeroed", sluice }).replace(
      "{ name: id, type: int }",
      "{ name: id, type: int, required: false }",
    );
    const { code, problems } = await resolved(text);
    expect([code, problems.map((one) => one.code)]).toEqual([0, codes]);
    if (codes.length > 0) expect(problems[0]?.message).toContain("the column id, which gets 0");
  });

  test("a table that remembers no insert is a warning", async () => {
    await clickhouse.client.command({
      query: "CREATE TABLE forgets (id Int64, level String) ENGINE = MergeTree ORDER BY id",
    });
    const { code, problems } = await resolved(onServer({ id: "forgets" }));
    expect([code, problems.map((one) => one.code)]).toEqual([0, ["AT_LEAST_ONCE"]]);
    expect(problems[0]?.message).toContain("default.forgets remembers 0 inserts; run ALTER TABLE");
  });

  test("a setting of the user that may change rows is a warning", { tags: ["rest"] }, async () => {
    const proxy = await ProfileProxy.start(clickhouse);
    proxy.use({ join_use_nulls: "1" });
    const { code, problems } = await resolved(onServer({ id: "goods" }, undefined, new URL(proxy.url).port));
    await proxy.close();
    expect([code, problems.map((one) => one.code)]).toEqual([0, ["PROFILE_SETTINGS"]]);
    expect(problems[0]?.message).toContain("join_use_nulls = 1, which decides whether");
  });

  test("a server that does not answer is a warning: it may answer where the pipeline runs", async () => {
    const { code, problems } = await resolved(onServer({ id: "goods" }, undefined, "1"));
    expect(code).toBe(0);
    expect(problems).toMatchObject([{ code: "UNREACHABLE", severity: "warning" }]);
  });

  test("asks no server that targets do not allow", async () => {
    const { code, problems } = await resolved(onServer({ id: "goods" }), "--targets", "*.example.com");
    expect(code).toBe(1);
    expect(problems).toMatchObject([{ code: "NOT_READY", message: expect.stringContaining("127.0.0.1") as string }]);
  });
});
