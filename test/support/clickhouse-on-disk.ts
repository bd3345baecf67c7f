import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entryPoint } from "../../engine/system/entry-point.ts";
import { startClickHouse, type TestClickHouse } from "./clickhouse.ts";
import { SmallDisk } from "./small-disk.ts";

/** An embedded ClickHouse whose data lie on a small disk of their own, which a test can fill. */
export interface ClickHouseOnDisk extends TestClickHouse {
  disk: SmallDisk;
}

/** Where `SmallDisk.obstacle` names none. */
export async function startClickHouseOnDisk(megabytes: number): Promise<ClickHouseOnDisk> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-server-disk-"));
  const dataDir = join(folder, "data");
  await mkdir(dataDir);
  const disk = await SmallDisk.make(dataDir, megabytes);
  const remove = async (): Promise<void> => {
    await disk.remove();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const entry = join(folder, "entry.mjs");
    await writeFile(entry, relayTo(disk.wrap([process.execPath, entryPoint("clickhouse")])));
    const server = await startClickHouse({ dataDir, entry });
    return {
      ...server,
      disk,
      async stop() {
        await server.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** An entry that runs another command in its place: what its parent and that process say is passed on both ways. */
function relayTo([command, ...args]: string[]): string {
  return `import { spawn } from "node:child_process";
    const stdio = ["ignore", "inherit", "inherit", "ipc"];
    const child = spawn(${JSON.stringify(command)}, ${JSON.stringify(args)}, { stdio });
    child.on("message", (message) => process.send(message));
    child.on("exit", (code) => process.exit(code ?? 1));
    process.on("message", (message) => child.send(message));
    process.on("disconnect", () => child.disconnect());
    process.on("SIGTERM", () => child.kill("SIGTERM"));
  `;
}
