import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon, DaemonOptions } from "../../../examples/quickstart/daemon.ts";
import { freeListeners, tokenEnv } from "../../support/daemon.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { freeAddress } from "../../support/ports.ts";
import { Random } from "../../support/random.ts";
import { Control } from "../control.ts";
import { CounterSums } from "../counter-sums.ts";
import { type OwnClickHouse, quick } from "../kafka-subject.ts";
import { kafkaVariants } from "../kafka-variants.ts";
import { otlpVariants } from "../otlp-variants.ts";
import { until } from "../patience.ts";
import { variantOf } from "../variants.ts";
import { KafkaPowerSubject } from "./kafka-power-subject.ts";
import { Machine, type MachineOptions } from "./machine.ts";
import { OtlpSubject } from "./otlp-subject.ts";
import type { Found, Pace, PowerSubject } from "./subject.ts";
import { WebhookSubject } from "./webhook-subject.ts";

export interface RoundOptions extends MachineOptions {
  pace: Pace;
  /** How often the machine, or its disk, fails. */
  failures: number;
  seed: number;
  /** Pipelines that read from it are there only with it. */
  kafka?: TestKafka;
  log?: (line: string) => void;
}

/** What came of one pipeline on one machine. */
export interface PowerReport extends Found {
  round: Omit<RoundOptions, "kafka" | "log">;
  subject: string;
  /** Batches taken from the journal by a start, and those of which it was not known whether they were written. */
  replayed: number;
  uncertain: number;
  /** How processes ended that a failed disk ended, such as `code 1`. */
  endings: readonly string[];
}

/** Longer than it takes to write what is left of a load, in milliseconds. */
const settleLimit = 300_000;

/**
 * Sends to several pipelines of one machine, which fails again and again and is started each time; then counts. A third of
 * the failures come while it recovers from the one before.
 */
export async function failAgain(options: RoundOptions): Promise<PowerReport[]> {
  const machine = await Machine.make(options);
  const round = new Round(machine, options);
  try {
    return await round.run();
  } finally {
    await round.clean();
  }
}

class Round {
  readonly #machine: Machine;
  readonly #options: RoundOptions;
  readonly #random: Random;
  readonly #counters = new CounterSums();
  readonly #subjects: PowerSubject[] = [];
  #daemon!: Daemon;

  constructor(machine: Machine, options: RoundOptions) {
    this.#machine = machine;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  async run(): Promise<PowerReport[]> {
    const { failures, log = () => undefined } = this.#options;
    const start = await this.#prepare();
    this.#daemon = await this.#machine.start(start);
    for (const { pipeline_id } of this.#subjects) {
      await until(this.#daemon, `to have ${pipeline_id}`, async () => (await this.#daemon.health(pipeline_id)) && true);
    }
    for (const subject of this.#subjects) subject.begin();
    for (let nth = 1; nth <= failures; nth += 1) {
      const isRecovered = nth === 1 || this.#random.below(3) > 0;
      if (isRecovered) for (const { pipeline_id } of this.#subjects) await this.#writing(pipeline_id);
      const milliseconds = this.#random.below(1_000);
      await sleep(milliseconds);
      await this.#sample();
      await this.#machine.fail();
      this.#daemon = await this.#machine.start(start);
      log(`failure ${nth} of ${failures}, ${milliseconds} ms after its ${isRecovered ? "recovery" : "start"}`);
    }
    await Promise.all(this.#subjects.map((subject) => subject.stop()));
    for (const subject of this.#subjects) {
      const isSettled = (): Promise<boolean> => subject.isSettled(this.#daemon);
      await until(this.#daemon, `to settle ${subject.pipeline_id}`, isSettled, settleLimit);
    }
    await this.#sample();
    return Promise.all(this.#subjects.map((subject) => this.#report(subject)));
  }

  async clean(): Promise<void> {
    await Promise.allSettled(this.#subjects.map((subject) => subject.giveUp()));
    await this.#machine.clean();
  }

  /** Writes the pipeline files. Returns what each start has in common. */
  async #prepare(): Promise<Pick<DaemonOptions, "args" | "listeners" | "env">> {
    const { pace, kafka } = this.#options;
    const own = await freeListeners();
    const otlp = { otlpGrpc: await freeAddress(), otlpHttp: await freeAddress() };
    const random = (): Random => new Random(this.#random.below(2 ** 31));
    for (const name of ["plain", "stateless, 3 inserts in flight", "dedup, 10 % repeats"]) {
      this.#subjects.push(new WebhookSubject(variantOf(name), own.events, pace, random()));
    }
    for (const variant of otlpVariants) this.#subjects.push(new OtlpSubject(variant, otlp, pace, random()));
    if (kafka !== undefined) {
      const { unique, repeats, join } = kafkaVariants;
      for (const variant of [unique, repeats, join]) {
        this.#subjects.push(await KafkaPowerSubject.create(variant, kafka, this.#server(), pace, random()));
      }
    }
    const { place } = this.#machine;
    for (const { pipeline_id, file } of this.#subjects) await place.write(`${pipeline_id}.yaml`, file);
    return { args: ["--dir", place.pipelines, ...quick], listeners: { ...own, ...otlp }, env: tokenEnv };
  }

  /** Resolves when a pipeline writes rows, and so has taken up what an earlier process had prepared. */
  async #writing(pipeline_id: string): Promise<void> {
    const isWriting = async (): Promise<boolean> => (await this.#daemon.health(pipeline_id)).counters.rows_written > 0;
    await until(this.#daemon, `to write rows of ${pipeline_id}`, isWriting, settleLimit);
  }

  /** What the processes counted; one that is still starting tells nothing. */
  async #sample(): Promise<void> {
    for (const { pipeline_id } of this.#subjects) {
      await this.#counters.sample(this.#daemon, pipeline_id).catch(() => undefined);
    }
  }

  /** The embedded ClickHouse of the process that runs. */
  #server(): OwnClickHouse {
    return { kind: "own", query: <Row>(sql: string) => new Control(this.#daemon).rows<Row>(sql) };
  }

  async #report(subject: PowerSubject): Promise<PowerReport> {
    const { kafka: _kafka, log: _log, ...round } = this.#options;
    const { batches_replayed = 0, batches_uncertain = 0 } = this.#counters.of(subject.pipeline_id);
    const { endings } = this.#machine;
    const seen = { replayed: batches_replayed, uncertain: batches_uncertain, endings };
    return { round, subject: subject.name, ...(await subject.find(this.#daemon)), ...seen };
  }
}
