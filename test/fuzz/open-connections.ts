import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Files and connections that a process may have open. */
export function openLimit(): number {
  const text = execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim();
  return text === "unlimited" ? Infinity : Number(text);
}

/** Of those of one listener, so many come at once: more are not waited for by the system. */
const atOnce = 100;

/** Connections that say nothing. */
export class OpenConnections {
  readonly #open = new Set<Socket>();

  /** Those that are open now. */
  get count(): number {
    return this.#open.size;
  }

  /** Opens so many to the addresses in turn. A listener may close some of them at once. */
  async open(count: number, addresses: readonly string[]): Promise<void> {
    for (let made = 0; made < count; made += atOnce) {
      const batch = Math.min(atOnce, count - made);
      await Promise.all(Array.from({ length: batch }, (_, at) => this.#connect(addresses[at % addresses.length]!)));
    }
  }

  async close(): Promise<void> {
    const closed = [...this.#open].map((socket) => once(socket, "close"));
    for (const socket of this.#open) socket.destroy();
    await Promise.all(closed);
  }

  #connect(address: string): Promise<void> {
    const [host = "", port = ""] = address.split(":");
    const socket = connect({ host, port: Number(port) });
    socket.on("error", () => undefined);
    socket.resume();
    return new Promise((resolve) => {
      socket.once("connect", () => {
        this.#open.add(socket);
        resolve();
      });
      socket.once("close", () => {
        this.#open.delete(socket);
        resolve();
      });
    });
  }
}
