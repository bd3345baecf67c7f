import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../engine/index.ts";
import { Workplace } from "../support/daemon.ts";
import type { TableAudit } from "./counted-table.ts";
import { CounterSums } from "./counter-sums.ts";
import type { KafkaReport } from "./kafka-report.ts";
import { JoinRecording } from "./join-recording.ts";
import { allSteps, joinSteps, type KafkaSight, type KafkaStep } from "./kafka-steps.ts";
import { KafkaLoad } from "./kafka-load.ts";
import type { KafkaServers } from "./kafka-servers.ts";
import { batchRows, KafkaSubject, manyWindows, type Started, type SubjectOptions } from "./kafka-subject.ts";
import { died, until } from "./patience.ts";
import { Trap } from "./trap.ts";

type Counts = Record<"replayed" | "repeated" | "dropped" | "waited", number>;

/** Steps of a commit of offsets: there is at most one in a second, so only the first one comes for sure. */
const ofOffsetCommits: ReadonlySet<KafkaStep> = new Set(["offset commit unanswered", "later batch committed"]);
const nothing: KafkaSight = { replayed: 0, repeated: 0, dropped: 0, behind: 0 };
/** The end of what was produced, if it is not reached within this time, in milliseconds, never is. */
const settleLimit = 100_000;

/**
 * `sluice run` with a pipeline that reads a topic, which is killed again and again. After each kill it is started on the
 * same data, and has to come to an end with all that was produced. The brokers and the ClickHouse live on.
 */
export class KafkaDelivery {
  readonly #options: SubjectOptions;
  readonly #subject: KafkaSubject;
  readonly #place: Workplace;
  readonly #trap: Trap;
  readonly #started: Started;
  readonly #counters = new CounterSums();
  #daemon!: Daemon;
  #recording: JoinRecording | undefined;

  private constructor(options: SubjectOptions, subject: KafkaSubject, place: Workplace, trap: Trap, started: Started) {
    this.#options = options;
    this.#subject = subject;
    this.#place = place;
    this.#trap = trap;
    this.#started = { ...started, env: { ...started.env, ...trap.env } };
  }

  /** `options.random` decides the events, and when it is killed. */
  static async start(options: SubjectOptions & KafkaServers): Promise<KafkaDelivery> {
    const subject = await KafkaSubject.create(options);
    const place = await Workplace.make();
    const trap = await Trap.make(place.path);
    const started = await subject.prepare(place, new URL(options.server.url).port);
    const delivery = new KafkaDelivery(options, subject, place, trap, started);
    if (options.variant.joins === "many") {
      const log = join(place.dataDir, "pipelines", subject.pipeline_id, "join");
      delivery.#recording = await JoinRecording.begin(log, join(place.path, "recording"));
    }
    try {
      await delivery.#restart();
      return delivery;
    } catch (error) {
      await delivery.clean();
      throw error;
    }
  }

  async clean(): Promise<void> {
    this.#recording?.end();
    await this.#place.clean();
    await this.#subject.remove();
  }

  /** Kills once at a step of a batch while `events` are read, and counts when all of them are settled. */
  async killAt(step: KafkaStep, events: number): Promise<KafkaReport> {
    const { pipeline_id } = this.#subject;
    // Offsets of several batches may be committed together, and a batch of a join's sides may have all that was produced.
    const isRare = ofOffsetCommits.has(step) || step in joinSteps;
    const nth = isRare ? 1 : 1 + this.#options.random.below(Math.ceil(events / batchRows / 4));
    await until(this.#daemon, "to be in its group", () => this.#subject.isJoined());
    // A member commits offsets when it is given partitions too, which is no commit of a batch.
    const isReading = async (): Promise<boolean> =>
      (await this.#health()).source?.partitions === this.#subject.partitions;
    await until(this.#daemon, "to read all partitions", isReading);
    const before = await this.#counts();
    await this.#trap.arm({ step, pipeline_id, nth });
    await this.#subject.produce(events);
    // All of them may be final before their offsets are committed: later batches are those of what comes meanwhile.
    const load = ofOffsetCommits.has(step) ? new KafkaLoad(this.#subject, 500) : undefined;
    try {
      await died(this.#daemon, `to come to a batch ${step}`);
    } finally {
      await load?.stop();
    }
    const behind = await this.#subject.behind(await this.#trap.collect());
    await this.#restart();
    // Half of the batches of a join are of its rows, of which the group knows nothing.
    const isInGroup = this.#options.variant.joins === undefined;
    return this.#report(`${step} (${nth})`, before, behind, { ...allSteps[step], ...(!isInGroup && { behind: 0 }) });
  }

  /** Kills at random moments while `events` are produced and read, also while it recovers from the kill before. */
  async killAtRandom(
    kills: number,
    events: number,
    log: (line: string) => void = () => undefined,
  ): Promise<KafkaReport> {
    const { random, variant } = this.#options;
    const { table, mix } = this.#subject;
    const before = await this.#counts();
    // A guess, until all are produced: as many as there are may be written before the last kill.
    const share = (100 - variant.repeats) / 100 / (variant.joins === undefined ? 1 : 2);
    let end = mix.distinct + Math.floor(events * share);
    const produced = this.#subject.produce(events);
    produced.then(
      () => (end = mix.distinct),
      () => undefined,
    );
    for (let kill = 1; kill <= kills; kill += 1) {
      const rows = await table.rows();
      const isRecovered = kill === 1 || random.below(3) > 0;
      // Of what is left, each kill takes a share, so that the last ones still hit something.
      const more = isRecovered ? random.below(1 + Math.floor((2 * Math.max(0, end - rows)) / (kills - kill + 2))) : 0;
      const milliseconds = random.below(isRecovered ? 100 : 2_500);
      if (isRecovered) {
        // Of a join with windows there may be fewer.
        const isWritten = async (): Promise<boolean> => (await table.rows()) >= rows + more || (await this.#isAtRest());
        await until(this.#daemon, `to write ${more} more rows`, isWritten);
        await this.#counters.sample(this.#daemon, this.#subject.pipeline_id);
      }
      await sleep(milliseconds);
      await this.#daemon.stop("SIGKILL");
      const { count, unique } = await table.audit(mix.distinct);
      const when = isRecovered ? `${more} more rows` : "its start";
      log(`kill ${kill} of ${kills}, ${milliseconds} ms after ${when}: ${count} rows, ${unique} ids`);
      await this.#restart();
    }
    await produced;
    return this.#report(`${kills} random kills`, before, 0, nothing);
  }

  async #restart(): Promise<void> {
    this.#daemon = await this.#place.start(this.#started);
  }

  /** Whether all that was produced is read and written. */
  async #isAtRest(): Promise<boolean> {
    const { pending_batches, join: joined, source } = await this.#health();
    return pending_batches === 0 && joined?.waiting === 0 && source?.lag === 0 && (await this.#subject.isRead());
  }

  #health(): Promise<PipelineHealth> {
    return this.#daemon.get(`/api/v1/pipeline/${this.#subject.pipeline_id}/health`);
  }

  async #report(kills: string, before: Counts, behind: number, expected: KafkaSight): Promise<KafkaReport> {
    const { variant, members } = this.#options;
    await until(this.#daemon, "to read all that was produced", () => this.#subject.isRead(), settleLimit);
    if (variant.joins !== undefined) {
      const isWritten = async (): Promise<boolean> => (await this.#health()).join?.waiting === 0;
      await until(this.#daemon, "to write the rows of the join", isWritten, settleLimit);
    }
    await until(this.#daemon, "to settle", async () => (await this.#health()).pending_batches === 0);
    const now = await this.#counts();
    const since = (what: keyof Counts): number => now[what] - before[what];
    return {
      ...(await this.#audit()),
      kills,
      variant,
      members,
      deadLetters: (await this.#health()).dead_letters.total_messages,
      seen: {
        replayed: since("replayed"),
        repeated: since("repeated"),
        dropped: since("dropped"),
        waited: since("waited"),
        behind,
      },
      expected,
    };
  }

  /** Of a join of many, the rows are those of its recorded steps, and these are what its model allows. */
  async #audit(): Promise<TableAudit & Pick<KafkaReport, "distinct" | "unlikeModel">> {
    const { table, mix } = this.#subject;
    if (this.#recording === undefined) return { ...(await table.audit(mix.distinct)), distinct: mix.distinct };
    const { rows, problems, missing } = await this.#recording.read(manyWindows, mix.keys);
    const audit = await table.auditRows(
      rows.map(({ left: id, right: n }) => ({ id, n })),
      missing,
    );
    return { ...audit, distinct: rows.length, unlikeModel: problems };
  }

  /** What was seen so far, over all processes, as far as it was sampled. */
  async #counts(): Promise<Counts> {
    const { pipeline_id, table } = this.#subject;
    await this.#counters.sample(this.#daemon, pipeline_id);
    const { batches_replayed = 0, inserts_repeated = 0, drops_waited = 0 } = this.#counters.of(pipeline_id);
    return {
      replayed: batches_replayed,
      repeated: inserts_repeated,
      waited: drops_waited,
      dropped: await table.dropped(),
    };
  }
}
