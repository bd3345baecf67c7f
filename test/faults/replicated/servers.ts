import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { replicatedObstacle } from "../../support/replicated/engine.ts";
import type { Replica } from "../../support/replicated/replica.ts";
import { ZooKeeper } from "../../support/zookeeper/zookeeper.ts";
import { ClickHouseServer, newPassword } from "../external/server.ts";

/** After which ZooKeeper and ClickHouse give a session up, in milliseconds. */
export const sessionTimeout = 5_000;

/** A ZooKeeper and two ClickHouse servers that share it. */
export interface ReplicatedServers {
  zooKeeper: ZooKeeper;
  servers: readonly [ClickHouseServer, ClickHouseServer];
}

/** Runs `use` with servers of its own. Throws why Replicated tables cannot run here. */
export async function withReplicas<T>(use: (servers: ReplicatedServers) => Promise<T>): Promise<T> {
  const obstacle = await replicatedObstacle();
  if (obstacle !== undefined) throw new Error(obstacle);
  const zooKeeper = await ZooKeeper.start();
  try {
    const shared = { zooKeeperPort: zooKeeper.port, sessionTimeout, password: newPassword() };
    return await withServer({ ...shared, name: "first" }, (first) =>
      withServer({ ...shared, name: "second" }, (second) => use({ zooKeeper, servers: [first, second] })),
    );
  } finally {
    await zooKeeper.stop();
  }
}

/** Resolves when a server has a session with ZooKeeper: on a slow machine its first handshake may take too long. */
async function hasSession(server: ClickHouseServer): Promise<void> {
  for (;;) {
    const name = `default.session_${randomUUID().replaceAll("-", "_")}`;
    const engine = `ReplicatedMergeTree('{replica}:/tables/${name}', '{replica}')`;
    try {
      await server.client.command({ query: `CREATE TABLE ${name} (id Int64) ENGINE = ${engine} ORDER BY id` });
      await server.client.command({ query: `DROP TABLE ${name} SYNC` });
      return;
    } catch (error) {
      if (!/from ZooKeeper|KEEPER_EXCEPTION|Coordination/.test((error as Error).message)) throw error;
      await sleep(200);
    }
  }
}

async function withServer<T>(replica: Replica, use: (server: ClickHouseServer) => Promise<T>): Promise<T> {
  const server = await ClickHouseServer.start({ replica });
  try {
    await hasSession(server);
    return await use(server);
  } finally {
    await server.stop();
  }
}
