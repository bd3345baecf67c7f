import manifest from "../../package.json" with { type: "json" };

/** The description of a process. Holds no secret and no path of its machine. */
export interface Info {
  version: string;
  node: string;
  pid: number;
  /** ISO 8601, UTC. */
  started_at: string;
  /** Identifies the data dir. */
  data_dir_id: string;
  /** What each listener is bound to, such as `127.0.0.1:8081`; `off` where there is none. */
  listeners: Record<string, string>;
}

/** The description of this process; `listeners` may still grow. */
export function processInfo(dataDirId: string, listeners: Record<string, string>): () => Info {
  const fixed = {
    version: manifest.version,
    node: process.version,
    pid: process.pid,
    started_at: new Date().toISOString(),
    data_dir_id: dataDirId,
  };
  return () => ({ ...fixed, listeners: { ...listeners } });
}
