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
  /** Listeners that are plain and not on loopback, which `--insecure` allows; absent where there is none. */
  insecure_listeners?: string[];
}

/** The description of this process; `listeners` and the names of those that are `insecure` may still grow. */
export function processInfo(
  dataDirId: string,
  listeners: Record<string, string>,
  insecure: readonly string[] = [],
): () => Info {
  const fixed = {
    version: manifest.version,
    node: process.version,
    pid: process.pid,
    started_at: new Date().toISOString(),
    data_dir_id: dataDirId,
  };
  return () => ({
    ...fixed,
    listeners: { ...listeners },
    ...(insecure.length > 0 && { insecure_listeners: [...insecure] }),
  });
}
