import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Printed, runCommand } from "../../support/command.ts";

const kafka = {
  brokers: ["kafka:9092"],
  protocol: "SASL_PLAINTEXT",
  mechanism: "PLAIN",
  username: "reader",
  password: "kafka-s3cret",
};
const clickhouse = { host: "ch", port: "9000", database: "shop", username: "writer", secure: false };

/** As the reference service answers: version v3, with zero values and null for what is not there. */
const version3 = {
  pipeline_id: "clicks",
  name: "Clicks",
  version: "v3",
  sources: [
    {
      type: "kafka",
      source_id: "clicks",
      topic: "clicks",
      connection_params: kafka,
      schema_version: "1",
      schema_fields: [{ name: "id", type: "string" }],
    },
  ],
  transforms: [{ type: "filter", source_id: "clicks", config: { time_window: "0s", expression: 'id != ""' } }],
  join: null,
  sink: {
    type: "clickhouse",
    connection_params: { ...clickhouse, password: "ch-s3cret" },
    table: "clicks",
    max_batch_size: 1000,
    max_delay_time: "1m0s",
    mapping: [{ name: "id", column_name: "id", column_type: "String" }],
  },
  metadata: { tags: null },
  resources: null,
};

/** An older one: version v2, whose filter drops, and whose password is in base64. */
const version2 = {
  pipeline_id: "orders",
  name: "Orders",
  source: { type: "kafka", connection_params: kafka, topics: [{ name: "orders" }] },
  filter: { enabled: true, expression: "amount <= 0" },
  sink: {
    type: "clickhouse",
    connection_params: { ...clickhouse, password: Buffer.from("ch-s3cret").toString("base64") },
    table: "orders",
    max_batch_size: 500,
    max_delay_time: "10s",
  },
  schema: {
    fields: [{ source_id: "orders", name: "amount", type: "float", column_name: "amount", column_type: "Float64" }],
  },
};

let folder: string;
let into: string;
let engine: Server | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-import-"));
  into = join(folder, "pipelines");
});

afterEach(async () => {
  engine?.close();
  engine = undefined;
  await rm(folder, { recursive: true, force: true });
});

function sluice(...argv: string[]): Promise<Printed> {
  return runCommand([...argv, "--into", into], { env: { ENGINE_TOKEN: "the-token-of-the-engine" } });
}

/** An engine that has these answers by path; anything else is 404. */
async function engineWith(answers: Record<string, unknown>): Promise<string> {
  engine = createServer((request, response) => {
    const answer = answers[request.url ?? ""];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { message: "no such pipeline" }));
  });
  await new Promise<void>((resolve) => engine!.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(engine.address() as AddressInfo).port}`;
}

const imported = async (name: string): Promise<Record<string, unknown>> =>
  load(await readFile(join(into, name), "utf8")) as Record<string, unknown>;

describe("sluice import", () => {
  test("makes files of what an engine runs, in either version, and says what to set", async () => {
    const url = await engineWith({
      "/api/v1/pipeline": [
        { pipeline_id: "clicks", status: "Stopped" },
        { pipeline_id: "orders", status: "Running" },
      ],
      "/api/v1/pipeline/clicks": version3,
      "/api/v1/pipeline/orders": version2,
    });
    const { code, out, err } = await sluice("import", "--from", url, "--keep-behaviour");
    expect(code).toBe(0);
    expect(out).toBe(`wrote ${join(into, "clicks.yaml")}\nwrote ${join(into, "orders.yaml")}`);
    expect(err).toContain("SLUICE_SECRET_CLICKHOUSE_WRITER  writer  ch     clicks, orders");
    expect(err).toContain("SLUICE_SECRET_KAFKA_READER       reader  kafka  clicks, orders");
    expect(out + err).not.toMatch(/s3cret|Y2gtczNjcmV0/);
    expect(await imported("clicks.yaml")).toEqual({
      version: "v3",
      pipeline_id: "clicks",
      sources: [
        {
          type: "kafka",
          source_id: "clicks",
          topic: "clicks",
          schema_fields: [{ name: "id", type: "string" }],
          connection_params: { ...kafka, password: "${env:SLUICE_SECRET_KAFKA_READER}" },
        },
      ],
      transforms: [{ type: "filter", source_id: "clicks", config: { expression: 'id != ""' } }],
      sink: {
        type: "clickhouse",
        connection_params: {
          host: "ch",
          port: "9000",
          database: "shop",
          username: "writer",
          password: "${env:SLUICE_SECRET_CLICKHOUSE_WRITER}",
        },
        table: "clicks",
        mapping: [{ name: "id", column_name: "id", column_type: "String" }],
      },
      "x-sluice": { state: "Stopped" },
    });
    const orders = await imported("orders.yaml");
    expect(orders["transforms"]).toEqual([
      { type: "filter", source_id: "orders", config: { expression: "!(amount <= 0)" } },
    ]);
    expect(orders["sink"]).toMatchObject({ max_batch_size: 500, max_delay_time: "10s" });
  });

  test("holds back a pipeline of version v2 whose filter nobody has looked at", async () => {
    const file = join(folder, "orders.json");
    await writeFile(file, JSON.stringify([version2]));
    const { code, err } = await sluice("import", "--from", file);
    expect(code).toBe(1);
    expect(err).toContain("FILTERS_NOT_REVIEWED");
    expect((await imported("orders.yaml"))["x-sluice"]).toEqual({ filters_reviewed: false });
  });

  test("reads several files, and takes an id once", async () => {
    const files = ["a.json", "b.json"].map((name) => join(folder, name));
    await writeFile(files[0]!, JSON.stringify(version3));
    await writeFile(files[1]!, JSON.stringify([version3, { ...version3, pipeline_id: "views" }]));
    const { code, err } = await sluice("import", "--from", ...files);
    expect(code).toBe(1);
    expect(err).toContain("DUPLICATE_PIPELINE_ID");
    expect((await readdir(into)).toSorted()).toEqual(["clicks.yaml", "views.yaml"]);
  });

  test("makes no file of what is no pipeline, and says why", async () => {
    const url = await engineWith({
      "/api/v1/pipeline": [{ pipeline_id: "clicks" }, { pipeline_id: "../../etc" }],
      "/api/v1/pipeline/clicks": version3,
      "/api/v1/pipeline/..%2F..%2Fetc": { ...version3, pipeline_id: "../../etc" },
    });
    const { code, err } = await sluice("import", "--from", url);
    expect(code).toBe(1);
    expect(err).toContain("PIPELINE_ID");
    expect(await readdir(into)).toEqual(["clicks.yaml"]);
  });

  test.each([
    ["a list of something else", { "/api/v1/pipeline": [{ id: 1 }] }, "expected a list of at most 10000 pipelines"],
    ["no list", { "/api/v1/pipeline": {} }, "expected a list of at most 10000 pipelines"],
    ["nothing", {}, "answered 404"],
    ["a pipeline that is gone", { "/api/v1/pipeline": [{ pipeline_id: "clicks" }] }, "answered 404"],
    ["no pipelines", { "/api/v1/pipeline": [] }, "expected pipelines, found none"],
  ])("an engine that answers %s is an error, and nothing is written", async (_, answers, expected) => {
    const { code, err } = await sluice("import", "--from", await engineWith(answers));
    expect(code).toBe(1);
    expect(err).toContain(expected);
    await expect(readdir(into)).rejects.toThrow("ENOENT");
  });

  test("overwrites nothing", async () => {
    const file = join(folder, "clicks.json");
    await writeFile(file, JSON.stringify([version3, { ...version3, pipeline_id: "a-first" }]));
    expect((await sluice("import", "--from", file)).code).toBe(0);
    await rm(join(into, "a-first.yaml"));
    const { code, err } = await sluice("import", "--from", file);
    expect(code).toBe(1);
    expect(err).toContain("clicks.yaml exists already");
    expect(await readdir(into)).toEqual(["clicks.yaml"]);
  });

  test("sends a token to nobody on the way", async () => {
    const { code, err } = await sluice(
      "import",
      "--from",
      "http://engine.test",
      "--server-token",
      "${env:ENGINE_TOKEN}",
    );
    expect(code).toBe(1);
    expect(err).toContain("--from: expected https");
    expect(err).not.toContain("the-token");
  });
});
