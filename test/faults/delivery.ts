import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { freeListeners, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { Random } from "../support/random.ts";
import { EventMix } from "./event-mix.ts";
import { findAll } from "./found.ts";
import { type Audit, Ledger } from "./ledger.ts";
import { died } from "./patience.ts";
import { Poster } from "./poster.ts";
import { type Seen, Sightings } from "./sightings.ts";
import { type Sight, type Step, steps } from "./steps.ts";
import { Trap } from "./trap.ts";
import { fileOf, type Variant } from "./variants.ts";

/** What came of one pipeline: the whole of what it was sent so far, and what the last kills caused. */
export interface KillReport extends Audit {
  /** What was done to it, in a few words. */
  kills: string;
  variant: Variant;
  seen: Seen;
  /** What must be seen at least. */
  expected: Sight;
}

/** What every start of the daemon has in common. */
interface Started {
  listeners: Daemon["listeners"];
  env: Record<string, string>;
}

interface Subject {
  variant: Variant;
  mix: EventMix;
  ledger: Ledger;
}

/** So much of padding fills a segment of a stream, of 64 MiB, in a few hundred events. */
const paddingToTrim = 240 * 1024;

/**
 * `sluice run` with one pipeline for each variant, under load, which is killed again and again. After each kill it is
 * started on the same data, and the load goes on.
 */
export class Delivery {
  readonly #place: Workplace;
  readonly #trap: Trap;
  readonly #random: Random;
  readonly #subjects: readonly Subject[];
  readonly #start: Started;
  readonly #sightings: Sightings;
  #daemon!: Daemon;

  private constructor(place: Workplace, trap: Trap, seed: number, variants: readonly Variant[], start: Started) {
    this.#place = place;
    this.#trap = trap;
    this.#random = new Random(seed);
    this.#subjects = variants.map((variant) => ({
      variant,
      mix: new EventMix(new Random(seed), { withBad: true, repeats: variant.repeats }),
      ledger: new Ledger(),
    }));
    this.#sightings = new Sightings(variants.map(({ pipeline_id }) => pipeline_id));
    this.#start = start;
  }

  /** The seed decides the events, and when it is killed. */
  static async start(seed: number, variants: readonly Variant[]): Promise<Delivery> {
    const place = await Workplace.make();
    try {
      const trap = await Trap.make(place.path);
      for (const variant of variants) await place.write(`${variant.pipeline_id}.yaml`, fileOf(variant));
      const start = { listeners: await freeListeners(), env: { ...tokenEnv, ...trap.env } };
      const delivery = new Delivery(place, trap, seed, variants, start);
      await delivery.#restart();
      return delivery;
    } catch (error) {
      await place.clean();
      throw error;
    }
  }

  async clean(): Promise<void> {
    await this.#place.clean();
  }

  /** Kills once at a step of a batch of a pipeline that is under load, and counts when all it was sent is settled. */
  async killAt(step: Step, { pipeline_id }: Variant, latest = 20): Promise<KillReport> {
    const subject = this.#subjects.find(({ variant }) => variant.pipeline_id === pipeline_id)!;
    const isTrim = step === "after trim";
    const nth = isTrim ? 1 : 1 + this.#random.below(latest);
    subject.mix.padding = isTrim ? paddingToTrim : 0;
    const before = this.#sightings.of(pipeline_id);
    const poster = this.#load(subject);
    try {
      await this.#reading(pipeline_id);
      await this.#sightings.sample(this.#daemon);
      await this.#trap.arm({ step, pipeline_id, nth });
      await died(this.#daemon, `to come to a batch ${step}`);
      await this.#trap.collect();
      await this.#restart();
      subject.mix.padding = 0;
      await this.#reading(pipeline_id);
    } finally {
      await poster.stop();
    }
    return this.#report(subject, `${step} (${nth})`, before, steps[step]);
  }

  /** Kills at random moments, also while it recovers from the kill before, with all pipelines under load. */
  async killAtRandom(kills: number, log: (line: string) => void = () => undefined): Promise<KillReport[]> {
    const before = this.#subjects.map(({ variant }) => this.#sightings.of(variant.pipeline_id));
    const posters = this.#subjects.map((subject) => this.#load(subject, 2));
    try {
      for (let kill = 1; kill <= kills; kill += 1) {
        const isRecovered = this.#random.below(3) > 0;
        if (isRecovered) for (const { variant } of this.#subjects) await this.#reading(variant.pipeline_id);
        const milliseconds = this.#random.below(1500);
        await sleep(milliseconds);
        if (isRecovered) await this.#sightings.sample(this.#daemon);
        await this.#daemon.stop("SIGKILL");
        await this.#restart();
        log(`kill ${kill} of ${kills}, ${milliseconds} ms after its ${isRecovered ? "recovery" : "start"}`);
      }
      for (const { variant } of this.#subjects) await this.#reading(variant.pipeline_id);
    } finally {
      await Promise.all(posters.map((poster) => poster.stop()));
    }
    const reports: KillReport[] = [];
    for (const [index, subject] of this.#subjects.entries()) {
      reports.push(await this.#report(subject, `${kills} random kills`, before[index]!, steps["before prepare"]));
    }
    return reports;
  }

  async #restart(): Promise<void> {
    this.#daemon = await this.#place.start(this.#start);
  }

  #load({ variant, mix, ledger }: Subject, connections = 4): Poster {
    const { pipeline_id } = variant;
    return new Poster({ url: this.#daemon.events, pipeline_id, token, mix, ledger, connections, rest: 4 });
  }

  /** Resolves when a pipeline reads new events, and so has taken up what an earlier process had prepared. */
  async #reading(pipeline_id: string): Promise<void> {
    const { events_read } = (await this.#daemon.until(() => this.#daemon.health(pipeline_id), "to answer")).counters;
    await this.#daemon.until(
      async () => ((await this.#daemon.health(pipeline_id)).counters.events_read > events_read ? true : undefined),
      `to read events of ${pipeline_id}`,
    );
  }

  async #report({ variant, ledger }: Subject, kills: string, before: Seen, expected: Sight): Promise<KillReport> {
    await this.#daemon.settled(variant.pipeline_id);
    await this.#sightings.sample(this.#daemon);
    const audit = ledger.audit(await findAll(this.#daemon, variant.pipeline_id), variant.dropsRepeats);
    const seen = this.#sightings.since(variant.pipeline_id, before);
    return { ...audit, kills, variant, seen, expected };
  }
}
