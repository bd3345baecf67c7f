import { setTimeout as sleep } from "node:timers/promises";
import type { PipelineHealth } from "../../../engine/index.ts";
import type { Daemon, Listeners } from "../../../examples/quickstart/daemon.ts";
import { type Asked, ClickHouseProxy, type Fate, Gate, pass } from "../../support/clickhouse-proxy.ts";
import { freeListeners, pipelineFile, token, tokenEnv, Workplace } from "../../support/daemon.ts";
import { changedIn } from "../../support/pipeline-file.ts";
import { Random } from "../../support/random.ts";
import { Control } from "../control.ts";
import { EventMix } from "../event-mix.ts";
import { audit } from "../external/audit.ts";
import { BatchNotes } from "../external/batch-notes.ts";
import type { ClickHouseServer } from "../external/server.ts";
import type { ServerStep } from "../external/server-steps.ts";
import { connectionTo } from "../external/subject.ts";
import { Ledger, tally } from "../ledger.ts";
import { failuresOf } from "../outages.ts";
import { died, until } from "../patience.ts";
import { Poster } from "../poster.ts";
import type { Step } from "../steps.ts";
import { Trap } from "../trap.ts";
import type { ReplicatedReport } from "./report.ts";
import { database, SharedTable, type TableOptions } from "./table.ts";

export interface SceneOptions {
  /** What is done, in a few words. */
  name: string;
  /** Those with the table. */
  servers: readonly ClickHouseServer[];
  /** Whether the address of the sink leads to each of them in turn; else to the first. */
  isAlternating?: boolean;
  table: TableOptions;
  on_uncertain?: "insert" | "skip";
  /** Inserts under way at one time; one by default. */
  inserts?: number;
  seed: number;
}

interface Parts {
  pipeline_id: string;
  place: Workplace;
  trap: Trap;
  proxy: ClickHouseProxy;
  listeners: Listeners;
  table: SharedTable;
}

const batchRows = 50;
let scenes = 0;
/** Until something is written, or everything is settled, in milliseconds. */
const patience = 150_000;

/** `sluice run` with a webhook pipeline that writes, through a proxy, to a table of its own on one server or several. */
export class ReplicatedScene {
  readonly pipeline_id: string;
  readonly proxy: ClickHouseProxy;
  readonly table: SharedTable;
  readonly random: Random;
  readonly #options: SceneOptions;
  readonly #parts: Parts;
  readonly #notes: BatchNotes;
  readonly #ledger = new Ledger();
  readonly #mix: EventMix;
  #poster: Poster | undefined;
  #gate = new Gate();
  #daemon!: Daemon;

  private constructor(options: SceneOptions, parts: Parts) {
    this.pipeline_id = parts.pipeline_id;
    this.proxy = parts.proxy;
    this.table = parts.table;
    this.random = new Random(options.seed);
    this.#options = options;
    this.#parts = parts;
    this.#notes = new BatchNotes(parts.place.path);
    this.#mix = new EventMix(this.random, { withBad: false, repeats: 0 });
  }

  /** Its pipeline runs. Call `clean` in the end. */
  static async start(options: SceneOptions): Promise<ReplicatedScene> {
    const urls = options.servers.map(({ url }) => url);
    const [first, ...others] = options.isAlternating === true ? urls : urls.slice(0, 1);
    if (first === undefined) throw new Error(`${options.name}: expected a server, found none`);
    const place = await Workplace.make();
    const pipeline_id = `replicated-${++scenes}`;
    const scene = new ReplicatedScene(options, {
      pipeline_id,
      place,
      trap: await Trap.make(place.path),
      proxy: await ClickHouseProxy.start(first, ...others),
      listeners: await freeListeners(),
      table: await SharedTable.create(pipeline_id.replaceAll("-", "_"), options.servers, options.table),
    });
    try {
      await place.write(`${pipeline_id}.yaml`, scene.#file());
      await scene.#startSluice();
      return scene;
    } catch (error) {
      await scene.clean();
      throw error;
    }
  }

  async clean(): Promise<void> {
    this.goOn();
    await this.#poster?.stop();
    await this.#parts.place.clean();
    await this.proxy.close();
  }

  /** Whether Sluice reports that it delivers at least once. */
  async isAtLeastOnce(): Promise<boolean> {
    const metrics = await this.#daemon.get<string>("/metrics");
    return metrics.includes(`sluice_pipeline_at_least_once{pipeline_id="${this.pipeline_id}"} 1`);
  }

  /** Failed inserts of the process that runs, by the name of the error. */
  failures(): Promise<Record<string, number>> {
    return failuresOf(this.#daemon);
  }

  health(): Promise<PipelineHealth> {
    return this.#daemon.get(`/api/v1/pipeline/${this.pipeline_id}/health`);
  }

  /** Waits until it is so; fails with the last lines of Sluice. */
  until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
    return until(this.#daemon, what, isSo, patience);
  }

  /** Posts one event after the other. */
  async post(count: number): Promise<void> {
    const url = `${this.#daemon.events}/v1/pipelines/${this.pipeline_id}/topics/input/events`;
    const headers = { "content-type": "application/json", "x-pipeline-access-token": token };
    for (let posted = 0; posted < count; posted += 1) {
      const event = this.#mix.next();
      const { status } = await fetch(url, { method: "POST", headers, body: event.body });
      if (status !== 202) throw new Error(`expected 202 for an event, found ${status}`);
      this.#ledger.note(event, "accepted");
    }
  }

  /** Posts without a pause until the scene settles. */
  beginLoad(): void {
    const load = { mix: this.#mix, ledger: this.#ledger, connections: 4, rest: 5 };
    this.#poster = new Poster({ url: this.#daemon.events, pipeline_id: this.pipeline_id, token, ...load });
  }

  /** Resolves when new rows are written, and so what was under way before is taken up. */
  async writing(): Promise<void> {
    let before: number | undefined;
    await this.until("to write rows", async () => {
      const { rows_written } = (await this.health()).counters;
      return rows_written > (before ??= rows_written);
    });
  }

  /** Kills Sluice at a step of a batch, and starts it again. */
  async killSluiceAt(step: Step): Promise<void> {
    const { trap } = this.#parts;
    await this.writing();
    await trap.arm({ step, pipeline_id: this.pipeline_id, nth: 1 + this.random.below(5) });
    await died(this.#daemon, `to come to a batch ${step}`);
    await trap.collect();
    await this.#startSluice();
  }

  /** Kills a server at a step of an insert, and starts it again. */
  async killServerAt(step: ServerStep, server: ClickHouseServer): Promise<void> {
    await this.writing();
    await this.table.sampleDropped();
    await server.trap.arm({ step, pipeline_id: this.pipeline_id, nth: 1 + this.random.below(3) });
    await this.until("to insert rows", () => server.hasEnded);
    await server.trap.collect();
    await server.restart();
  }

  /** Kills Sluice, a server, or both, at a random moment, also while it recovers from the kill before. */
  async killAtRandom(): Promise<void> {
    const isRecovered = this.random.below(3) > 0;
    if (isRecovered) await this.writing();
    await sleep(this.random.below(1_000));
    await this.table.sampleDropped();
    const server = this.random.oneOf(this.#options.servers);
    const killed = this.random.pick("sluice", "server", "both");
    if (killed !== "sluice") await server.kill();
    if (killed !== "server") await this.#daemon.stop("SIGKILL");
    await Promise.all([
      ...(killed === "sluice" ? [] : [server.restart()]),
      ...(killed === "server" ? [] : [this.#startSluice()]),
    ]);
  }

  /**
   * The next insert is carried out and its answer is lost; whatever Sluice asks after that waits until `goOn`. Resolves
   * when the answer is lost.
   */
  async loseAnswer(): Promise<void> {
    const gate = new Gate();
    this.#gate = gate;
    let isLost = false;
    const judge = async ({ token: isInsert }: Asked): Promise<Fate> => {
      if (isLost) await gate.opened;
      else if (isInsert !== undefined) {
        isLost = true;
        return { kind: "lose" };
      }
      return pass;
    };
    const before = this.proxy.inserts("lose").length;
    this.proxy.decide(judge);
    await this.until("to insert a batch", () => this.proxy.inserts("lose").length > before);
  }

  goOn(): void {
    this.proxy.decide();
    this.#gate.open();
  }

  /** Resolves when all that was accepted is settled, with what came of it. Ends the load. */
  async report(): Promise<ReplicatedReport> {
    await this.#poster?.stop();
    await this.until("to settle all events", async () => {
      const { stream, pending_batches } = await this.health();
      return stream!.messages + pending_batches === 0;
    });
    await this.table.sampleDropped();
    const letters = await new Control(this.#daemon).letters(this.pipeline_id);
    const notes = this.#notes;
    const expected = { row: this.#ledger.expected("row", false), letter: this.#ledger.expected("letter", false) };
    const found = audit({
      rows: await this.table.rows(),
      letters: tally(letters.map((letter) => (JSON.parse(letter) as { id: string }).id)),
      expected,
      others: this.table.others,
      prepared: (await notes.prepared(this.pipeline_id)).flatMap((batch) =>
        this.table.tokensOf(batch.token).map((there) => ({ ...batch, token: there })),
      ),
      uncertain: notes.uncertain,
    });
    return {
      ...found,
      broken: [...found.broken, ...(await this.#miscounted())],
      name: this.#options.name,
      sent: [...expected.row.values()].reduce((sum, { least }) => sum + least, 0),
      uncertain: notes.count(this.pipeline_id, "batches_uncertain"),
      replayed: notes.count(this.pipeline_id, "batches_replayed"),
      repeated: notes.count(this.pipeline_id, "inserts_repeated"),
      dropped: this.table.dropped,
      failures: await this.failures(),
      isAtLeastOnce: await this.isAtLeastOnce(),
    };
  }

  /** What is counted is what was logged, of a process that has not ended. */
  async #miscounted(): Promise<string[]> {
    const { batches_uncertain } = (await this.health()).counters;
    const logged = this.#notes.count(this.pipeline_id, "batches_uncertain", "last");
    return batches_uncertain === logged
      ? []
      : [`batches_uncertain is ${batches_uncertain}, and was logged ${logged} times`];
  }

  async #startSluice(): Promise<void> {
    const { place, trap, listeners } = this.#parts;
    this.#daemon = await place.start({
      args: ["--dir", place.pipelines, "--log-format", "json"],
      listeners,
      env: { ...tokenEnv, ...trap.env, ...this.#notes.env, ...this.#passwords() },
      onLine: this.#notes.listener(),
    });
    await this.#daemon.until(() => this.health(), "to have its pipeline");
  }

  /** All servers have that of the first one. */
  #passwords(): Record<string, string> {
    return { SLUICE_SECRET_CLICKHOUSE: this.#options.servers[0]!.password };
  }

  #file(): string {
    const { on_uncertain = "insert", inserts = 1 } = this.#options;
    const { port } = this.proxy;
    const sink = `  max_batch_size: ${batchRows}\n  max_delay_time: 50ms`;
    const text = pipelineFile(this.pipeline_id, { sink, xSluice: `  on_uncertain: ${on_uncertain}` });
    const file = changedIn(
      text,
      "{ host: embedded, database: default }",
      connectionTo({ port, username: "default" }, database),
      "create_table: true",
      "create_table: false",
    );
    return `${file}resources: { sink: { replicas: ${inserts} } }\n`;
  }
}
