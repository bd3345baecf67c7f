import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";

/** A server whose Replicated tables are replicas of this name in a ZooKeeper. */
export interface Replica {
  name: string;
  zooKeeperPort: number;
  /** After which ZooKeeper and the server give a session up, in milliseconds. */
  sessionTimeout: number;
  /** The same for all replicas behind one address. */
  password: string;
}

const session = fileURLToPath(new URL("session.ts", import.meta.url));

/** Has the server open sessions of its own kind instead of chDB's. */
const asReplica: Plugin = {
  name: "as replica",
  setup(building) {
    building.onResolve({ filter: /^chdb$/ }, ({ importer }) =>
      importer === session ? { path: "chdb", external: true } : { path: session },
    );
  },
};

/**
 * A server has one session with a ZooKeeper of one name: ClickHouse ends those of earlier starts by the id of the server.
 * All of chDB have the same id, so each replica calls the ZooKeeper by the replica's name.
 */
function configurationOf({ name, zooKeeperPort, sessionTimeout }: Replica): string {
  const zooKeeper = `
    <node><host>127.0.0.1</host><port>${zooKeeperPort}</port></node>
    <session_timeout_ms>${sessionTimeout}</session_timeout_ms>
    <operation_timeout_ms>${sessionTimeout}</operation_timeout_ms>`;
  return `<clickhouse>
  <zookeeper>${zooKeeper}
  </zookeeper>
  <auxiliary_zookeepers><${name}>${zooKeeper}
  </${name}></auxiliary_zookeepers>
  <macros><replica>${name}</replica></macros>
</clickhouse>
`;
}

/** How the program of a replica is built, whose configuration is written to `folder`. */
export async function builtAsReplica(
  folder: string,
  replica: Replica,
): Promise<Required<Pick<BuildOptions, "plugins" | "define">>> {
  const file = join(folder, "config.xml");
  await writeFile(file, configurationOf(replica));
  const define = { replicaConfiguration: JSON.stringify(file), replicaUuid: JSON.stringify(randomUUID()) };
  return { plugins: [asReplica], define };
}
