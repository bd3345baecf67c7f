/** @module-tag rest */
import { execFile } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from "kafkajs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PipelineHealth } from "../../engine/index.ts";
import { pipelineFile, tokenEnv, Workplace } from "../support/daemon.ts";
import { useOwnKafka } from "../support/kafka/use-kafka.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { SmallDisk } from "../support/small-disk.ts";

/** What docs/hardening.md says is enough for Sluice: each of it is tried. */

const run = promisify(execFile);
let place: Workplace;

beforeEach(async () => {
  place = await Workplace.make();
});

afterEach(() => place.clean());

test("systemd rates the unit as well protected", async ({ skip }) => {
  const unit = "examples/systemd/sluice.service";
  const rated = await run("systemd-analyze", ["security", "--offline=true", "--no-pager", unit]).catch(
    (error: Error) => error,
  );
  requireOrSkip(rated instanceof Error ? `needs systemd-analyze: ${rated.message}` : undefined, skip);
  const [, exposure] = /Overall exposure level for sluice\.service: ([\d.]+)/.exec(
    (rated as { stdout: string }).stdout,
  )!;
  expect(Number(exposure)).toBeLessThanOrEqual(2);
});

/** Runs a command where everything but `writable` is read-only, without capabilities, and for good. */
function confined(writable: string[], command: string[]): string[] {
  const script = [
    `for folder in ${writable.map((folder) => `'${folder}'`).join(" ")}; do mount --bind "$folder" "$folder"; done`,
    "mount -o remount,bind,ro /",
    'exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"',
  ];
  return ["unshare", "-Urm", "sh", "-ec", script.join("\n"), "sh", ...command];
}

test(
  "it runs on a read-only system without capabilities, and writes to its data dir and TMPDIR alone",
  { timeout: 120_000 },
  async ({ skip }) => {
    requireOrSkip(SmallDisk.obstacle(), skip);
    const temporary = join(place.path, "tmp");
    for (const folder of [place.dataDir, temporary]) await mkdir(folder, { mode: 0o700 });
    const wrap = (command: string[]): string[] => confined([place.dataDir, temporary], command);
    const [program = "", ...args] = wrap(["touch", join(place.pipelines, "stranger.yaml")]);
    await expect(run(program, args)).rejects.toThrow(/Read-only file system/);

    await place.write("orders.yaml", pipelineFile("orders"));
    const daemon = await place.start({ wrap, env: { ...tokenEnv, TMPDIR: temporary } });
    const status = async (): Promise<number> =>
      (
        await fetch(`${daemon.events}/v1/pipelines/orders/topics/input/events`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-pipeline-access-token": tokenEnv.SLUICE_SECRET_TOKEN },
          body: JSON.stringify({ id: "a", n: 1 }),
        })
      ).status;
    await daemon.until(async () => ((await status()) === 202 ? true : undefined), "to take an event");
    await daemon.until(
      async () => ((await daemon.health("orders")).counters.rows_written > 0 ? true : undefined),
      "to write it",
    );
    await daemon.stop();
    expect(await readdir(temporary)).toEqual([]);
  },
);

describe("a user of Kafka who may read the topic and its group, and nothing else", () => {
  const kafka = useOwnKafka({ properties: { "allow.everyone.if.no.acl.found": "false" } });

  async function allow(resourceType: AclResourceTypes, resourceName: string): Promise<void> {
    const acl = {
      resourceType,
      resourceName,
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      principal: "User:ada",
      host: "*",
      operation: AclOperationTypes.READ,
      permissionType: AclPermissionTypes.ALLOW,
    };
    await kafka().withAdmin((admin) => admin.createAcls({ acl: [acl] }));
  }

  function file(topic: string): string {
    return JSON.stringify({
      version: "v3",
      pipeline_id: "orders",
      sources: [
        {
          type: "kafka",
          source_id: "input",
          topic,
          connection_params: { ...kafka().connectionParams("SASL_PLAINTEXT"), password: "${env:SLUICE_SECRET_KAFKA}" },
          schema_fields: [{ name: "id", type: "int" }],
          consumer_group_initial_offset: "earliest",
        },
      ],
      sink: {
        type: "clickhouse",
        connection_params: { host: "embedded", database: "default" },
        table: "orders",
        mapping: [{ name: "id", column_name: "id", column_type: "Int64" }],
        max_batch_size: 100,
        max_delay_time: "100ms",
      },
      "x-sluice": { create_table: true },
    });
  }

  test("has its rows written and its offsets committed", { timeout: 120_000 }, async () => {
    const topic = kafka().unique("orders");
    await kafka().topics.create(topic, { partitions: 2 });
    await allow(AclResourceTypes.TOPIC, topic);
    await allow(AclResourceTypes.GROUP, "sluice-consumer-group-");
    await kafka().produce(
      topic,
      Array.from({ length: 100 }, (_, id) => JSON.stringify({ id })),
    );
    await place.write("orders.yaml", file(topic));
    const { password = "" } = kafka().connectionParams("SASL_PLAINTEXT");
    const daemon = await place.start({ env: { SLUICE_SECRET_KAFKA: password } });
    const health = (): Promise<PipelineHealth> => daemon.get("/api/v1/pipeline/orders/health");
    await daemon.until(async () => ((await health()).counters.rows_written === 100 ? true : undefined), "to write");
    await daemon.until(async () => {
      const { groups } = await kafka().withAdmin((admin) => admin.listGroups());
      const group = groups.find(({ groupId }) => groupId.startsWith("sluice-consumer-group-"))?.groupId ?? "";
      const [found] = await kafka().withAdmin((admin) => admin.fetchOffsets({ groupId: group, topics: [topic] }));
      const sum = found!.partitions.reduce((all, { offset }) => all + Math.max(0, Number(offset)), 0);
      return sum === 100 ? true : undefined;
    }, "to commit");
    expect(await daemon.get("/api/v1/reconcile")).toMatchObject({
      pipelines: [{ conditions: expect.arrayContaining([expect.objectContaining({ type: "Ready", status: "True" })]) }],
    });
  });
});
