/** @module-tag rest */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startClickHouseOnDisk } from "../../support/clickhouse-on-disk.ts";
import { EngineOnServer, type ServerPipeline, tableOf } from "../../support/engine-on-server.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { SmallDisk } from "../../support/small-disk.ts";

let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
afterAll(() => on.stop());

const columns =
  "(id Int64, level String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100";

test("a full disk of the server is a pause, which ends with room, or with a commit that names another server", async ({
  skip,
}) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  const small = await startClickHouseOnDisk(100);
  try {
    on.secrets["small_password"] = small.password;
    const sink = {
      connection_params: on.connection({ http_port: new URL(small.url).port, password: "${small_password}" }),
    };
    await small.client.command({ query: "CREATE DATABASE d" });
    const pipelines: ServerPipeline[] = [];
    for (const pipeline_id of ["disk-room", "disk-commit"]) {
      await small.client.command({ query: `CREATE TABLE ${tableOf(pipeline_id)} ${columns}` });
      pipelines.push(await on.create(pipeline_id, { sink }));
    }
    await Promise.all(pipelines.map((pipeline) => pipeline.post(1, 2)));
    await Promise.all(pipelines.map((pipeline) => pipeline.settled()));

    small.disk.fill(0);
    await Promise.all(pipelines.map((pipeline) => pipeline.post(3, 4)));
    for (const pipeline of pipelines) {
      const { dead_letters, overall_status } = await pipeline.paused(/NOT_ENOUGH_SPACE \(code 243\)/);
      expect({ overall_status, letters: dead_letters.total_messages }).toEqual({
        overall_status: "Running",
        letters: 0,
      });
      await pipeline.post(5, 6);
    }
    const [room, commit] = pipelines as [ServerPipeline, ServerPipeline];
    await on.run(`CREATE TABLE d.disk_commit ${columns}`);
    await commit.edit({});
    small.disk.empty();
    const healths = [await room.settled(), await commit.settled()];

    const there = await small.query("SELECT id FROM d.disk_room ORDER BY id");
    expect(there.map(({ id }) => Number(id))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await small.query("SELECT id FROM d.disk_commit ORDER BY id")).toHaveLength(2);
    expect(await on.ids("d.disk_commit")).toEqual([3, 4, 5, 6]);
    expect(healths).toMatchObject([
      { dead_letters: { total_messages: 0 }, counters: { rows_written: 6, batches_reprepared: 0 } },
      {
        dead_letters: { total_messages: 0 },
        // No answer said for sure that the first server has none of them.
        counters: { rows_written: 6, batches_reprepared: 1, batches_uncertain: 1 },
      },
    ]);
  } finally {
    await small.stop();
  }
});
