import manifest from "../../package.json" with { type: "json" };
import type { Info } from "../api/info.ts";

/** What this process says about itself; `listeners` may still grow. */
export function processInfo(dataDirId: string, listeners: Record<string, string>): () => Info {
  const told = {
    version: manifest.version,
    node: process.version,
    pid: process.pid,
    started_at: new Date().toISOString(),
    data_dir_id: dataDirId,
  };
  return () => ({ ...told, listeners: { ...listeners } });
}
