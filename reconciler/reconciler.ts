import { setTimeout as sleep } from "node:timers/promises";
import type { Registry } from "prom-client";
import type { Log } from "../engine/index.ts";
import { Inventory } from "./actual/inventory.ts";
import { snapshot } from "./actual/snapshot.ts";
import { Apply } from "./apply/apply.ts";
import type { AppliedEngine } from "./apply/carry-out.ts";
import type { Outcome } from "./apply/outcome.ts";
import type { DesiredState } from "./desired/desired-state.ts";
import { Loader } from "./desired/load.ts";
import type { Revision, RevisionSource } from "./git/revision.ts";
import { plan } from "./plan/plan.ts";
import { Status } from "./status/status.ts";
import type { ReconcileSnapshot } from "./status/status.ts";
import { createTelemetry } from "./status/telemetry.ts";
import type { Telemetry } from "./status/telemetry.ts";
import type { Trigger, Turn } from "./status/turn.ts";

export type { ReconcileSnapshot } from "./status/status.ts";

export interface ReconcilerOptions {
  source: RevisionSource;
  engine: AppliedEngine;
  /** Where the inventory is kept. The folder exists and is this process's own. */
  dataDir: string;
  log: Log;
  registry: Registry;
  /** Milliseconds between two looks at the source. */
  interval: number;
  /** Milliseconds that a turn waits for slow changes, default 10,000; they go on beside the next turns. */
  patience?: number;
}

/** The share of the interval by which a pause is shorter or longer, so that many processes do not ask at once. */
const jitter = 0.05;

/** Milliseconds. */
const defaultPatience = 10_000;
const transitionWait = 5_000;

/**
 * Makes the engine match the source, again and again: fetch a revision, load its files, look at the engine, plan, apply.
 * A step that fails ends the turn, and what runs goes on as it was.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #inventory: Inventory;
  readonly #telemetry: Telemetry;
  readonly #apply: Apply;
  readonly #status: Status;
  readonly #loader = new Loader();
  #loaded: { revision: Revision; desired: DesiredState } | undefined;
  #pending: Trigger | undefined;
  #wake: (() => void) | undefined;

  /** Reads the inventory. Throws where it is damaged. */
  constructor(options: ReconcilerOptions) {
    const { source, engine, log, registry, dataDir } = options;
    this.#options = options;
    this.#inventory = Inventory.read(dataDir);
    this.#telemetry = createTelemetry(log, registry);
    const onLate = (outcome: Outcome): void => this.#late(outcome);
    this.#apply = new Apply({ engine, inventory: this.#inventory, telemetry: this.#telemetry, onLate });
    this.#status = new Status({ source, engine, inventory: this.#inventory, busy: () => this.#apply.busy });
    this.#telemetry.exposeState(() => this.snapshot());
  }

  /** Takes turns until `signal` aborts: one at once, then one after each interval, and one whenever it is woken. */
  async run(signal: AbortSignal): Promise<void> {
    const { source } = this.#options;
    signal.addEventListener("abort", () => this.#wake?.(), { once: true });
    try {
      await source.watch?.(() => this.trigger("change"));
      let trigger: Trigger = "start";
      while (!signal.aborted) trigger = await this.#pause(await this.turn(trigger, signal), signal);
    } finally {
      await source.close();
    }
  }

  /** Asks for a turn soon. Any number of calls before it begins are one. */
  trigger(trigger: Trigger = "manual"): void {
    this.#pending ??= trigger;
    this.#wake?.();
  }

  snapshot(): ReconcileSnapshot {
    return this.#status.snapshot();
  }

  /** One turn. Never throws: what goes wrong is in its result. Not to be called while another one is under way. */
  async turn(trigger: Trigger, signal: AbortSignal): Promise<Turn> {
    const turn: Turn = { trigger, started: new Date() };
    this.#telemetry.turnBegan();
    try {
      await this.#fetch(turn, signal);
      await this.#load(turn, signal);
      this.#plan(turn);
      await this.#carryOut(turn, signal);
    } catch (error) {
      turn.error = error instanceof Error ? error : new Error(String(error));
    } finally {
      if (!signal.aborted) await this.#record(turn);
    }
    return turn;
  }

  async #fetch(turn: Turn, signal: AbortSignal): Promise<void> {
    turn.revision = await this.#options.source.fetch(signal, (...request) =>
      this.#telemetry.gitRequestEnded(...request),
    );
  }

  /** Reading the same files again would say the same. */
  async #load(turn: Turn, signal: AbortSignal): Promise<void> {
    const { revision } = turn;
    if (revision === undefined) return;
    if (this.#loaded?.revision !== revision)
      this.#loaded = { revision, desired: await this.#loader.load(revision.files, signal) };
    turn.desired = this.#loaded.desired;
    this.#telemetry.revisionLoaded(turn);
  }

  #plan(turn: Turn): void {
    const { revision, desired } = turn;
    if (revision === undefined || desired === undefined) return;
    const actual = snapshot(this.#options.engine, this.#inventory, this.#apply.busy);
    turn.plan = plan(actual, { ...desired, skipped: revision.skipped });
    this.#telemetry.planMade(turn.plan);
  }

  async #carryOut(turn: Turn, signal: AbortSignal): Promise<void> {
    const { plan: made, desired, revision } = turn;
    if (made === undefined || desired === undefined || revision === undefined) return;
    const order = {
      plan: made,
      desired: new Map(desired.pipelines.map((one) => [one.pipeline_id, one])),
      revision: revision.id,
      patience: this.#options.patience ?? defaultPatience,
    };
    turn.outcomes = await this.#apply.carryOut(order, signal);
  }

  /** The one place where a turn becomes status, metrics and log. */
  async #record(turn: Turn): Promise<void> {
    this.#status.record(turn);
    this.#telemetry.turnEnded(turn);
    await this.#save();
  }

  #late(outcome: Outcome): void {
    this.#status.late(outcome);
    void this.#save();
    this.trigger("retry");
  }

  async #save(): Promise<void> {
    try {
      await this.#inventory.save();
    } catch (error) {
      this.#telemetry.inventoryNotSaved(error);
    }
  }

  /** Waits for what comes first: a call of `trigger`, the next try of what failed, or the interval. */
  async #pause(turn: Turn, signal: AbortSignal): Promise<Trigger> {
    const poll = this.#options.interval * (1 + (Math.random() - 0.5) * 2 * jitter);
    const retry = untilRetry(turn);
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (this.#pending === undefined && !signal.aborted) {
      await sleep(Math.min(poll, retry), undefined, { signal: woken.signal }).catch(() => undefined);
    }
    this.#wake = undefined;
    const trigger = this.#pending ?? (retry < poll ? "retry" : "poll");
    this.#pending = undefined;
    return trigger;
  }
}

/** Milliseconds until something that failed, or waits for the engine, is worth another look. */
function untilRetry({ plan: made, outcomes = [] }: Turn): number {
  const times = outcomes.flatMap(({ next_attempt }) => (next_attempt === undefined ? [] : [Date.parse(next_attempt)]));
  const waits = made?.changes.some(({ cause }) => cause === "InTransition") ? [transitionWait] : [];
  return Math.max(0, Math.min(...times.map((time) => time - Date.now()), ...waits));
}
