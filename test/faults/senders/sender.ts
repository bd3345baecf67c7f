import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Kind } from "./kinds.ts";
import { Relay } from "./relay.ts";

/** What a program is told to send. */
export interface Load {
  /** At once. */
  exporters: number;
  /** Of each exporter; 0: until it is told to stop. */
  exports: number;
  /** Records of an export; each is about 450 bytes. */
  records: number;
  /** Milliseconds between two exports. */
  pause: number;
  /** Milliseconds after which an export is given up, or sent again, as the program does. */
  timeout: number;
}

/** A webhook takes events of up to 1 MiB. */
const mostRecordsOfEvent = 2_300;

/** A program that sends, behind a relay that counts. */
export class Sender {
  readonly kind: Kind;
  /** Exports of which the program says that they were accepted, and those that it gave up. */
  readonly accepted = new Set<string>();
  readonly refused = new Map<string, string>();
  readonly #child: ChildProcess;
  readonly #relay: Relay;
  readonly #said: string[] = [];
  /** Lines that it printed. */
  #lines = 0;

  private constructor(kind: Kind, child: ChildProcess, relay: Relay) {
    this.kind = kind;
    this.#child = child;
    this.#relay = relay;
    createInterface({ input: child.stdout! }).on("line", (line) => this.#note(line));
    createInterface({ input: child.stderr! }).on("line", (line) => this.#said.push(line));
  }

  /** @param token of the pipeline, where events are posted. */
  static async start(
    kind: Kind,
    { door, pipeline_id, load, token }: { door: string; pipeline_id: string; load: Load; token: string },
  ): Promise<Sender> {
    const relay = await Relay.open(door, { isHttp2: kind.transport === "grpc" });
    const { exporters, exports, records, pause, timeout } = load;
    const size = kind.door === "events" ? Math.min(records, mostRecordsOfEvent) : records;
    const numbers = [exporters, exports, size, pause, timeout].map(String);
    const [command = "", ...args] = [
      ...(await kind.prepare()),
      kind.transport,
      relay.address,
      pipeline_id,
      kind.name,
      ...numbers,
    ];
    const child = spawn(command, args, { env: { ...process.env, TOKEN: token }, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.on("error", () => undefined);
    return new Sender(kind, child, relay);
  }

  get lines(): number {
    return this.#lines;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get exchanges(): Relay["exchanges"] {
    return this.#relay.exchanges;
  }

  /** Tells it to stop, and resolves when it has ended. Throws what it printed if that was not well. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    if (!this.hasEnded) await once(this.#child, "close");
    this.#relay.close();
    if (this.#child.exitCode !== 0)
      throw new Error(`${this.kind.name} ended with ${this.#child.exitCode}: ${this.#said.slice(-10).join("\n")}`);
  }

  /** Ends it at once, if it has not ended. */
  kill(): void {
    this.#child.kill("SIGKILL");
    this.#relay.close();
  }

  #note(line: string): void {
    this.#lines += 1;
    const [name = "", what, ...text] = line.split(" ");
    if (what === "accepted") this.accepted.add(name);
    else if (what?.startsWith("refused") === true) this.refused.set(name, text.join(" "));
  }
}
