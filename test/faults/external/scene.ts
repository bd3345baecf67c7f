import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import { freeAddress } from "../../support/ports.ts";
import { freeListeners, Workplace } from "../../support/daemon.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { Random } from "../../support/random.ts";
import { Control } from "../control.ts";
import { tally } from "../ledger.ts";
import { died, until } from "../patience.ts";
import type { Step } from "../steps.ts";
import { Trap } from "../trap.ts";
import { audit, type FoundRows } from "./audit.ts";
import { BatchNotes } from "./batch-notes.ts";
import { ExternalSightings, healthOf } from "./external-sightings.ts";
import { KafkaTopicSubject } from "./kafka-subject.ts";
import { OtherWriter } from "./other-writer.ts";
import { OtlpSubject } from "./otlp-subject.ts";
import type { ExternalReport } from "./report.ts";
import { ClickHouseServer } from "./server.ts";
import type { ServerStep } from "./server-steps.ts";
import type { Subject, Surroundings } from "./subject.ts";
import { type ExternalVariant, nameOf } from "./variants.ts";
import { WebhookSubject } from "./webhook-subject.ts";

export const killed = ["sluice", "server", "both"] as const;

/** Whose process is killed. */
export type Killed = (typeof killed)[number];

export interface SceneOptions {
  variants: readonly ExternalVariant[];
  /** Decides the events, and when something is killed. */
  seed: number;
  /** Where a variant reads from Kafka. */
  kafka?: TestKafka;
}

/** Longest pauses, in milliseconds: before a kill, between the kills of two processes, and before a new start. */
const [beforeKill, betweenKills, beforeStart] = [1_000, 200, 500];
/**
 * For how long a server has run when Sluice looks at it, in milliseconds: only an uptime that is shorter than that proves
 * that it was started again, and Sluice looks at it within a few seconds of that.
 */
const uptime = 6_000;
/** Until a batch was met that is not there, in milliseconds. */
const huntLimit = 60_000;
/** Until everything is settled after the last kill, in milliseconds. */
const settleLimit = 150_000;

/**
 * `sluice run` with pipelines that write to a ClickHouse server of its own, into tables into which another writer
 * inserts, under load. Sluice and the server are killed and started again on the same data, while the load goes on.
 */
export class ExternalScene {
  readonly #server: ClickHouseServer;
  readonly #place: Workplace;
  readonly #trap: Trap;
  readonly #random: Random;
  readonly #notes: BatchNotes;
  #subjects: Subject[] = [];
  #sightings = new ExternalSightings([]);
  #writer: OtherWriter | undefined;
  #daemon!: Daemon;
  #listeners!: Surroundings["listeners"];

  private constructor(server: ClickHouseServer, place: Workplace, trap: Trap, random: Random) {
    this.#server = server;
    this.#place = place;
    this.#trap = trap;
    this.#random = random;
    this.#notes = new BatchNotes(place.path);
  }

  static async start({ variants, seed, kafka }: SceneOptions): Promise<ExternalScene> {
    const server = await ClickHouseServer.start();
    const place = await Workplace.make();
    const scene = new ExternalScene(server, place, await Trap.make(place.path), new Random(seed));
    try {
      await scene.#begin(variants, kafka);
      return scene;
    } catch (error) {
      await scene.clean();
      throw error;
    }
  }

  async clean(): Promise<void> {
    try {
      await this.#writer?.stop();
      await this.#place.clean();
      await Promise.all(this.#subjects.map((subject) => subject.giveUp()));
    } finally {
      await this.#server.stop();
    }
  }

  /** Kills Sluice at a step of a batch of a pipeline. */
  async killSluiceAt(step: Step, { pipeline_id }: Subject): Promise<void> {
    await this.#writing();
    await this.#trap.arm({ step, pipeline_id, nth: 1 + this.#random.below(5) });
    await died(this.#daemon, `to come to a batch of ${pipeline_id} ${step}`);
    await this.#trap.collect();
    await this.#startSluice();
  }

  /**
   * Kills the server at a step of an insert of a pipeline; then Sluice too where `withSluice`, else the server is away
   * until each pipeline has had as many batches under way as there may be inserts in flight.
   */
  async killServerAt(step: ServerStep, { pipeline_id }: Subject, withSluice = false): Promise<void> {
    await this.#writing();
    await this.#sightings.sample(this.#daemon, this.#server);
    await this.#server.trap.arm({ step, pipeline_id, nth: 1 + this.#random.below(5) });
    await this.#serverEnded(pipeline_id);
    if (withSluice) await this.#daemon.stop("SIGKILL");
    else await until(this.#daemon, "to fill what may be in flight", () => this.#sightings.isFull(this.#daemon));
    await Promise.all([this.#server.restart(), ...(withSluice ? [this.#startSluice()] : [])]);
  }

  /**
   * Kills the server until Sluice has met a batch of a pipeline of which the block numbers of its table tell that nothing
   * is there. It meets one only where it has looked at the table after the batch before had been written.
   */
  async killServerWithoutRows(subject: Subject): Promise<void> {
    const met = (): number => this.#notes.count(subject.pipeline_id, "tokens_without_rows");
    for (const [before, end] = [met(), Date.now() + huntLimit]; met() === before;) {
      if (Date.now() > end) throw new Error(`expected a batch of ${subject.pipeline_id} without rows, met none`);
      await this.#killServerTwice(subject);
    }
  }

  /** The second time it is killed before it has anything of the first insert of a pipeline since. */
  async #killServerTwice({ pipeline_id }: Subject): Promise<void> {
    await this.#writing();
    await this.#sightings.sample(this.#daemon, this.#server);
    await this.#writer?.rest();
    await this.#server.kill();
    const isWaiting = async (): Promise<boolean> => (await healthOf(this.#daemon, pipeline_id)).pending_batches > 0;
    await until(this.#daemon, `to have a batch of ${pipeline_id} under way`, isWaiting);
    await this.#server.trap.arm({ step: "before its rows", pipeline_id, nth: 1 });
    process.kill(this.#daemon.pid, "SIGSTOP");
    await this.#server.restart();
    await sleep(uptime);
    process.kill(this.#daemon.pid, "SIGCONT");
    await this.#serverEnded(pipeline_id);
    await this.#server.restart();
    await this.#writing();
    this.#writer?.goOn();
  }

  /**
   * Kills the server when it holds the token of an insert of a pipeline without its rows: it would drop them when they are
   * sent again.
   */
  async killServerBetweenTokenAndRows(): Promise<void> {
    await this.#writing();
    await this.#sightings.sample(this.#daemon, this.#server);
    await this.#writer?.rest();
    await this.#server.killBetweenTokenAndRows();
    await this.#server.restart();
    await this.#writing();
    this.#writer?.goOn();
  }

  /**
   * Kills at a random moment, also while it recovers from the kill before. Every third time the other writer rests
   * meanwhile, up to the next kill. Returns what it did, in a few words.
   */
  async killAtRandom(what: Killed): Promise<string> {
    const isRecovered = this.#random.below(3) > 0;
    const isAlone = this.#random.below(3) === 0;
    if (isRecovered) await this.#writing();
    this.#writer?.goOn();
    const milliseconds = this.#random.below(beforeKill);
    await sleep(milliseconds);
    if (isRecovered) await this.#sightings.sample(this.#daemon, this.#server);
    if (isAlone) await this.#writer?.rest();
    const isTokenAlone = isRecovered && this.#random.below(3) === 0;
    const kills = {
      sluice: () => this.#daemon.stop("SIGKILL"),
      server: () => (isTokenAlone ? this.#server.killBetweenTokenAndRows() : this.#server.kill()),
    };
    const starts = { sluice: () => this.#startSluice(), server: () => this.#server.restart() };
    // Without Sluice there may be no inserts to wait for.
    const both = isTokenAlone ? (["server", "sluice"] as const) : this.#random.shuffled(["sluice", "server"] as const);
    const those = what === "both" ? both : [what];
    for (const one of those) {
      await kills[one]();
      if (what === "both") await sleep(this.#random.below(betweenKills));
    }
    const started = those.map(async (one) => {
      await sleep(this.#random.below(beforeStart));
      // A Sluice that was just started may not have its pipelines yet.
      if (what === "server") await this.#sightings.isFull(this.#daemon).catch(() => false);
      await starts[one]();
    });
    await Promise.all(started);
    const when = `${milliseconds} ms after its ${isRecovered ? "recovery" : "start"}`;
    const how = what !== "sluice" && isTokenAlone ? ", with a token without its rows" : "";
    return `${those.join(" and ")}, ${when}${how}${isAlone ? ", without the other writer" : ""}`;
  }

  get subjects(): readonly Subject[] {
    return this.#subjects;
  }

  /** Ends the load, lets everything be settled, and holds what is there against what was sent. */
  async report(): Promise<ExternalReport[]> {
    await this.#writing();
    await Promise.all(this.#subjects.map((subject) => subject.stop()));
    await this.#writer?.stop();
    for (const subject of this.#subjects) await this.#settled(subject);
    await this.#sightings.sample(this.#daemon, this.#server);
    const reports: ExternalReport[] = [];
    for (const subject of this.#subjects) reports.push(await this.#reportOf(subject));
    await this.#daemon.stop();
    return reports;
  }

  /** Blocks that the server dropped as repeats, over all its processes, as far as it was sampled. */
  get dropped(): number {
    return this.#sightings.dropped;
  }

  async #begin(variants: readonly ExternalVariant[], kafka: TestKafka | undefined): Promise<void> {
    const otlp = { otlpGrpc: await freeAddress(), otlpHttp: await freeAddress() };
    this.#listeners = { ...(await freeListeners()), ...otlp };
    for (const variant of variants) this.#subjects.push(await this.#create(variant, kafka));
    this.#sightings = new ExternalSightings(this.#subjects.map(({ pipeline_id }) => pipeline_id));
    await this.#startSluice();
    for (const { pipeline_id } of this.#subjects)
      await this.#daemon.until(() => healthOf(this.#daemon, pipeline_id), "to have it");
    this.#writer = new OtherWriter(this.#server, this.#subjects);
    for (const subject of this.#subjects) subject.begin();
  }

  #create(variant: ExternalVariant, kafka: TestKafka | undefined): Promise<Subject> {
    const random = new Random(this.#random.below(2 ** 31));
    const surroundings = { server: this.#server, place: this.#place, listeners: this.#listeners, random };
    if (variant.source === "webhook") return WebhookSubject.create(variant, surroundings);
    if (variant.source === "otlp") return OtlpSubject.create(variant, surroundings);
    if (kafka === undefined) throw new Error(`expected a Kafka for ${nameOf(variant)}, found none`);
    return KafkaTopicSubject.create(variant, surroundings, kafka);
  }

  async #startSluice(): Promise<void> {
    const needs = this.#subjects.map((subject) => subject.needs);
    const flags = needs.find(({ args }) => args.length > 0)?.args ?? ["--dir", this.#place.pipelines];
    const env: Record<string, string> = {
      SLUICE_SECRET_CLICKHOUSE: this.#server.password,
      ...this.#trap.env,
      ...this.#notes.env,
    };
    this.#daemon = await this.#place.start({
      args: [...flags, "--log-format", "json"],
      listeners: this.#listeners,
      env: Object.assign(env, ...needs.map((need) => need.env)) as Record<string, string>,
      onLine: this.#notes.listener(),
    });
  }

  /** Resolves when all pipelines write new rows, and so have taken up what was under way before. */
  async #writing(): Promise<void> {
    const writes = async ({ pipeline_id }: Subject): Promise<void> => {
      let before: number | undefined;
      await until(this.#daemon, `to write rows of ${pipeline_id}`, async () => {
        const { rows_written } = (await healthOf(this.#daemon, pipeline_id)).counters;
        return rows_written > (before ??= rows_written);
      });
    };
    await Promise.all(this.#subjects.map(writes));
  }

  async #settled(subject: Subject): Promise<void> {
    const { pipeline_id } = subject;
    const isSettled = async (): Promise<boolean> => {
      const { stream, pending_batches } = await healthOf(this.#daemon, pipeline_id);
      return stream!.messages + pending_batches === 0;
    };
    try {
      await until(this.#daemon, `to read all of ${pipeline_id}`, () => subject.isRead(), settleLimit);
      await until(this.#daemon, `to settle the events of ${pipeline_id}`, isSettled, settleLimit);
    } catch (cause) {
      const health = await healthOf(this.#daemon, pipeline_id).catch(String);
      const lines = this.#daemon.log.filter((line) => line.includes(pipeline_id)).slice(-40);
      const texts = [`${pipeline_id} did not settle: ${JSON.stringify(health)}`, "its last lines:", ...lines];
      throw new Error(texts.join("\n"), { cause });
    }
  }

  /** Resolves when the server was killed at the step that its trap waits for. */
  async #serverEnded(pipeline_id: string): Promise<void> {
    await until(this.#daemon, `to insert rows of ${pipeline_id}`, () => this.#server.hasEnded);
    await this.#server.trap.collect();
  }

  async #reportOf(subject: Subject): Promise<ExternalReport> {
    const { pipeline_id, table, id, variant } = subject;
    const rows = await this.#server.query<Record<keyof FoundRows, string>>(
      `SELECT ${id} AS id, token, toString(count()) AS times FROM ${table} GROUP BY id, token`,
    );
    const letters = await new Control(this.#daemon).letters(pipeline_id);
    const uncertain = this.#notes.uncertain.filter((said) => said.pipeline_id === pipeline_id);
    const notes = this.#notes;
    return {
      variant,
      ...audit({
        rows: rows.map((row) => ({ ...row, times: Number(row.times) })),
        letters: tally(letters.map((letter) => (JSON.parse(letter) as { id: string }).id)),
        expected: subject.expected(),
        others: this.#writer?.expected(subject) ?? new Map(),
        prepared: await notes.prepared(pipeline_id),
        uncertain,
      }),
      underWay: this.#sightings.underWay(pipeline_id),
      logged: (what) => notes.count(pipeline_id, what),
      loggedLast: (what) => notes.count(pipeline_id, what, "last"),
      counted: this.#sightings.counters.of(pipeline_id),
      countedLast: { ...(await healthOf(this.#daemon, pipeline_id)).counters },
      uncertain,
    };
  }
}
