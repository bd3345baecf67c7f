import type { Daemon } from "../../examples/quickstart/daemon.ts";
import type { ReachableClickHouse } from "../support/clickhouse.ts";
import { childrenOf } from "../support/daemon.ts";
import { Control } from "./control.ts";

const dropped = "SELECT toString(sum(value)) AS n FROM system.events WHERE event = 'DuplicatedInsertedBlocks'";

/** Blocks that a server dropped as repeats since it was started, of all its tables. */
export async function droppedBy(server: Pick<ReachableClickHouse, "query">): Promise<number> {
  const [row] = await server.query<{ n: string }>(dropped);
  return Number(row?.n);
}

/**
 * Adds up how many repeated inserts ClickHouse dropped. The server's counter begins anew with each of its processes, so
 * the highest value seen of each is kept.
 */
export class DuplicateCounter {
  readonly #highest = new Map<number, number>();

  get total(): number {
    return [...this.#highest.values()].reduce((sum, value) => sum + value, 0);
  }

  async sample(daemon: Daemon): Promise<void> {
    const [pid] = childrenOf(daemon.pid, "clickhouse.js");
    if (pid === undefined) return;
    const [[value] = []] = await new Control(daemon).query(dropped);
    this.note(pid, Number(value));
  }

  /** `value`: what the process of a server has counted so far. */
  note(pid: number, value: number): void {
    this.#highest.set(pid, Math.max(value, this.#highest.get(pid) ?? 0));
  }
}
