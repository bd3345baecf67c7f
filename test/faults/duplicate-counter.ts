import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { childrenOf } from "../support/daemon.ts";
import { Control } from "./control.ts";

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
    const query = "SELECT sum(value) FROM system.events WHERE event = 'DuplicatedInsertedBlocks'";
    const [[value] = []] = await new Control(daemon).query(query);
    this.#highest.set(pid, Math.max(Number(value), this.#highest.get(pid) ?? 0));
  }
}
