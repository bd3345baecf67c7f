import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Case } from "./otlp-cases.ts";

/** Processes that send, and requests that all of them together have under way. */
const [processes, inFlight] = [2, 20];

/** Programs that wait to send requests. */
export class Senders {
  readonly #children: readonly ChildProcess[];

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  /** Starts them; resolves when each is ready to send its part of so many requests, taken in turn from a folder. */
  static async start(
    { transport, but }: Case,
    {
      address,
      pipeline_id,
      folder,
      requests,
    }: Record<"address" | "pipeline_id" | "folder", string> & { requests: number },
  ): Promise<Senders> {
    const script = fileURLToPath(new URL("otlp-client.ts", import.meta.url));
    const encoding = but === "gzip" ? "gzip" : "identity";
    const own = [transport, address, pipeline_id, folder, encoding, requests / processes, inFlight / processes];
    const children = Array.from({ length: processes }, () =>
      spawn(process.execPath, ["--import", "tsx", script, ...own.map(String)], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    const senders = new Senders(children);
    await Promise.all(children.map(async (child) => Promise.race([once(child.stdout, "data"), once(child, "exit")])));
    if (children.some(({ exitCode }) => exitCode !== null)) {
      senders.stop();
      throw new Error("expected each sender to be ready, one of them has ended");
    }
    return senders;
  }

  /** Lets them send; resolves when all was taken. Throws if one of them was refused anything. */
  async send(): Promise<void> {
    const ended = this.#children.map(async (child) => {
      const [code] = (await once(child, "exit")) as [number | null];
      if (code !== 0) throw new Error(`expected a sender to end well, it ended with ${code}`);
    });
    for (const { stdin } of this.#children) stdin!.write("go\n");
    await Promise.all(ended);
  }

  stop(): void {
    for (const child of this.#children) child.kill();
  }
}
