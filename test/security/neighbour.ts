import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, token, type Workplace } from "../support/daemon.ts";
import { isFull, longestDelay, measured } from "./attacks.ts";

/** Between two events, in milliseconds. */
const every = 50;
/** How long the events of a pipeline took to be rows, in milliseconds, ascending. */
export class Delays {
  readonly #sorted: readonly number[];

  constructor(delays: readonly number[]) {
    this.#sorted = delays.toSorted((one, other) => one - other);
  }

  get count(): number {
    return this.#sorted.length;
  }

  get longest(): number {
    return this.#sorted.at(-1) ?? 0;
  }

  get p99(): number {
    return this.#sorted[Math.ceil(0.99 * this.#sorted.length) - 1] ?? 0;
  }

  toString(): string {
    const [p99, longest] = [this.p99, this.longest].map((one) => one.toFixed(0));
    return `rows of a neighbour: ${this.count}, p99 ${p99} ms, longest ${longest} ms`;
  }
}

/**
 * A pipeline that nobody attacks, in the process of one that is: what its events suffer is what an attack costs others. Its
 * file is written before the process starts.
 */
export class Neighbour {
  static readonly pipeline_id = "beside";
  readonly #daemon: Daemon;
  #sent = 0;

  private constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  static write(place: Workplace): Promise<void> {
    return place.write("beside.yaml", pipelineFile(Neighbour.pipeline_id));
  }

  /** Resolves when it writes rows. */
  static async of(daemon: Daemon): Promise<Neighbour> {
    const made = new Neighbour(daemon);
    await daemon.until(async () => ((await made.#post()) ? true : undefined), "to take events of the neighbour");
    made.#sent = 1;
    await made.#isWritten(1);
    return made;
  }

  /** Sends events until `work` is done; resolves with its result, and with how long they took to be rows. */
  async during<Result>(work: () => Promise<Result>): Promise<{ result: Result; delays: Delays }> {
    const waiting: { number: number; at: number }[] = [];
    const delays: number[] = [];
    const over = new AbortController();
    const sending = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const at = performance.now();
        while (!(await this.#post())) await sleep(every);
        this.#sent += 1;
        waiting.push({ number: this.#sent, at });
        await sleep(every);
      }
    };
    const looking = async (): Promise<void> => {
      while (!over.signal.aborted || waiting.length > 0) {
        const written = await this.#written();
        while (waiting[0] !== undefined && waiting[0].number <= written) {
          delays.push(performance.now() - waiting.shift()!.at);
        }
        await sleep(10);
      }
    };
    const under = Promise.all([sending(), looking()]);
    // It is awaited below, also where the attack fails.
    under.catch(() => undefined);
    const result = await work().finally(() => over.abort());
    await under;
    return { result, delays: new Delays(delays) };
  }

  /** What an attack cost, noted for the long form; there it may cost no more than the bounds. Throws where it did. */
  noted(attack: string, delays: Delays, ...figures: string[]): void {
    const { pid } = this.#daemon;
    measured(attack, pid, ...figures, String(delays));
    if (isFull && delays.p99 >= longestDelay) {
      throw new Error(`${attack}: expected a p99 below ${longestDelay} ms: ${String(delays)}`);
    }
  }

  async #isWritten(count: number): Promise<void> {
    const { pipeline_id } = Neighbour;
    const look = async () => ((await this.#written()) >= count ? true : undefined);
    await this.#daemon.until(look, `to write the rows of ${pipeline_id}`);
  }

  /** Rows that it has written; 0 where nobody answers, as an attack may keep its sender from that too. */
  async #written(): Promise<number> {
    const health = await this.#daemon.health(Neighbour.pipeline_id).catch(() => undefined);
    return health?.counters.rows_written ?? 0;
  }

  /** Whether an event was accepted. */
  async #post(): Promise<boolean> {
    const headers = { "content-type": "application/json", "x-pipeline-access-token": token, connection: "close" };
    const url = `${this.#daemon.events}/v1/pipelines/${Neighbour.pipeline_id}/topics/input/events`;
    const body = JSON.stringify({ id: "a", n: 1 });
    const response = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
    await response?.arrayBuffer().catch(() => undefined);
    return response?.status === 202;
  }
}
