import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";

/** A folder on a disk, where other tests keep their temporary files in memory. */
export const onDisk = "/var/tmp";

/** ext4 and XFS, as statfs(2) names them. */
const able: readonly number[] = [0xef53, 0x58465342];

/** Why this machine cannot keep each write to a file on disk by an attribute of its folder; undefined if it can. */
export function attributeObstacle(): string | undefined {
  if (process.platform !== "linux") return "needs ext4 or XFS, which only Linux has";
  if (!able.includes(statfsSync(onDisk).type)) return `needs ext4 or XFS at ${onDisk}`;
  try {
    execFileSync("chattr", [], { stdio: "ignore" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "needs chattr: install e2fsprogs";
  }
  return undefined;
}

/** Whether each write to a file, or to the new files of a folder, is on disk before it returns. */
export function isSynced(path: string): boolean {
  return execFileSync("lsattr", ["-d", path], { encoding: "utf8" }).split(" ")[0]!.includes("S");
}
