import { setTimeout as sleep } from "node:timers/promises";
import type { Inventory } from "../actual/inventory.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Call } from "../plan/calls.ts";
import type { Change, Plan } from "../plan/change.ts";
import type { Telemetry } from "../status/telemetry.ts";
import { Backoff } from "./backoff.ts";
import { carryOut } from "./carry-out.ts";
import type { AppliedEngine } from "./carry-out.ts";
import type { Outcome } from "./outcome.ts";
import { Slots } from "./slots.ts";

/** Changes that are carried out at the same time. */
const atOnce = 16;

/** Resumes of a failed pipeline before a person is asked (specification, open question G7). */
const resumesAtMost = 5;

export interface ApplyOptions {
  engine: AppliedEngine;
  inventory: Inventory;
  telemetry: Telemetry;
  /** Told of a change that ended after its turn. */
  onLate: (outcome: Outcome) => void;
}

/** A plan on its way to the engine. */
export interface Order {
  plan: Plan;
  desired: ReadonlyMap<string, DesiredPipeline>;
  revision: string;
  /** Milliseconds that the turn waits for slow changes before it leaves them to themselves. */
  patience: number;
}

/**
 * Carries out plans. Each pipeline is on its own: one that fails or drains for minutes delays no other. What a crash
 * interrupts is planned anew from what the engine then is, so nothing here needs to be remembered but the back-off.
 */
export class Apply {
  readonly #options: ApplyOptions;
  readonly #jobs = new Map<string, Promise<Outcome>>();
  readonly #backoff = new Backoff();
  readonly #slots = new Slots(atOnce);

  constructor(options: ApplyOptions) {
    this.#options = options;
  }

  /** Pipelines on which a change is still at work. */
  get busy(): ReadonlySet<string> {
    return new Set(this.#jobs.keys());
  }

  /** Begins every change that makes calls, and gives what became of each when all have ended, or patience has. */
  async carryOut(order: Order, signal: AbortSignal): Promise<Outcome[]> {
    const { changes } = order.plan;
    this.#note(order);
    await this.#options.inventory.save();
    const begun = new Map<string, Promise<Outcome>>();
    for (const change of changes) {
      if (change.calls.length === 0) continue;
      begun.set(change.pipeline_id, this.#begin(change, order, begun, signal));
    }
    const outcomes = await this.#waitFor(begun, changes, order.patience, signal);
    await this.#options.inventory.save();
    return outcomes;
  }

  /**
   * Brings the inventory up to date before anything is done. Pipelines are owned before they are made, so that a crash
   * in between leaves none behind that nobody may prune.
   */
  #note({ plan, desired, revision }: Order): void {
    const { inventory } = this.#options;
    for (const { pipeline_id, kind, cause } of plan.changes) {
      const pipeline = desired.get(pipeline_id);
      if (cause === "InSync") this.#backoff.clear(pipeline_id);
      if (pipeline === undefined) continue;
      if (cause === "InSync") own(inventory, pipeline, revision);
      else if (kind === "create" || Object.hasOwn(inventory.state.pipelines, pipeline_id)) own(inventory, pipeline);
    }
    const known = new Set(plan.changes.map(({ pipeline_id }) => pipeline_id));
    for (const id of Object.keys(inventory.state.pipelines)) if (!known.has(id)) inventory.release(id);
  }

  #begin(
    change: Change,
    order: Order,
    begun: ReadonlyMap<string, Promise<Outcome>>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { pipeline_id } = change;
    const held = this.#heldBack(change, order);
    if (held !== undefined) return Promise.resolve(held);
    const before = change.after.flatMap((id) => begun.get(id) ?? []);
    const job = this.#job(change, order, before, signal).finally(() => this.#jobs.delete(pipeline_id));
    this.#jobs.set(pipeline_id, job);
    return job;
  }

  #heldBack(change: Change, { desired }: Order): Outcome | undefined {
    const { pipeline_id, kind } = change;
    const content = contentOf(change, desired.get(pipeline_id));
    const count = this.#backoff.count(pipeline_id, content);
    if (kind === "resume" && count >= resumesAtMost) {
      const message = `it failed again after each of ${count} resumes: ${change.reason}. Mend the cause and push a change`;
      return { pipeline_id, kind, result: "refused", message };
    }
    const next = this.#backoff.next(pipeline_id, content);
    if (next <= Date.now()) return undefined;
    const message = "it failed before, and is tried again later";
    return { pipeline_id, kind, result: "waiting", message, next_attempt: new Date(next).toISOString() };
  }

  /** Never rejects. */
  async #job(change: Change, order: Order, before: Promise<Outcome>[], signal: AbortSignal): Promise<Outcome> {
    const { pipeline_id, kind } = change;
    const missing = (await Promise.all(before)).find(({ result }) => result !== "applied");
    if (missing !== undefined) {
      const message = `${missing.pipeline_id}, on which it depends, was not applied: ${missing.message ?? missing.result}`;
      return { pipeline_id, kind, result: "blocked", message };
    }
    const outcome = await this.#slots.use(() => this.#makeCalls(change, order, signal));
    this.#options.telemetry.changeEnded(change, outcome);
    return outcome;
  }

  async #makeCalls(change: Change, { desired, revision }: Order, signal: AbortSignal): Promise<Outcome> {
    const { engine, inventory } = this.#options;
    const { pipeline_id, kind } = change;
    const pipeline = desired.get(pipeline_id);
    const content = contentOf(change, pipeline);
    this.#backoff.attempt(pipeline_id, content, Date.now());
    for (const call of change.calls) {
      const start = performance.now();
      const took = () => (performance.now() - start) / 1000;
      try {
        signal.throwIfAborted();
        const { generatedToken = false } = await carryOut(engine, call, pipeline_id, pipeline);
        this.#options.telemetry.callEnded(call, "success", took());
        if (generatedToken) this.#options.telemetry.tokenGenerated(pipeline_id);
      } catch (error) {
        this.#options.telemetry.callEnded(call, "error", took());
        const next_attempt = new Date(this.#backoff.next(pipeline_id, content)).toISOString();
        const said = error instanceof Error ? error.message : String(error);
        const message = `${call}: ${said}${await this.#goOn(change, call, signal)}`;
        return { pipeline_id, kind, result: "failed", message, call, next_attempt };
      }
    }
    // A pipeline that was resumed may fail again at once: its back-off ends when it is found running.
    if (kind !== "resume") this.#backoff.clear(pipeline_id);
    if (kind === "delete") inventory.release(pipeline_id);
    else if (pipeline !== undefined) own(inventory, pipeline, revision);
    return { pipeline_id, kind, result: "applied" };
  }

  /** A pipeline that was stopped for an edit which then failed goes on with what it had. Says what has become of it. */
  async #goOn({ pipeline_id, calls }: Change, failed: Call, signal: AbortSignal): Promise<string> {
    if (failed !== "update" || calls[0] !== "stop" || !calls.includes("resume") || signal.aborted) return "";
    try {
      await this.#options.engine.resume(pipeline_id);
      return "; it runs on as before";
    } catch (error) {
      return `; and it could not be resumed as before: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async #waitFor(
    begun: ReadonlyMap<string, Promise<Outcome>>,
    changes: readonly Change[],
    patience: number,
    signal: AbortSignal,
  ): Promise<Outcome[]> {
    const ended = new Map<string, Outcome>();
    let turnHasEnded = false;
    const jobs = [...begun].map(async ([id, job]) => {
      const outcome = await job;
      if (turnHasEnded) this.#late(outcome);
      else ended.set(id, outcome);
    });
    const over = new AbortController();
    const end = (): void => over.abort();
    signal.addEventListener("abort", end, { once: true });
    const impatience = sleep(patience, undefined, { signal: over.signal }).catch(() => undefined);
    await Promise.race([Promise.all(jobs), impatience]);
    signal.removeEventListener("abort", end);
    over.abort();
    turnHasEnded = true;
    return changes
      .filter(({ pipeline_id }) => begun.has(pipeline_id))
      .map(({ pipeline_id, kind }) => ended.get(pipeline_id) ?? { pipeline_id, kind, result: "under way" });
  }

  #late(outcome: Outcome): void {
    this.#options.inventory.save().catch((error: unknown) => this.#options.telemetry.inventoryNotSaved(error));
    this.#options.onLate(outcome);
  }
}

function own(inventory: Inventory, { pipeline_id, file, directives }: DesiredPipeline, revision?: string): void {
  const { prune, suspend } = directives;
  const last = revision ?? inventory.state.pipelines[pipeline_id]?.revision;
  inventory.own(pipeline_id, { file, prune, suspend, ...(last !== undefined && { revision: last }) });
}

/** What a try is about. It stays in memory. */
function contentOf({ calls }: Change, desired: DesiredPipeline | undefined): string {
  return JSON.stringify([calls.at(-1), desired?.config, desired?.options, desired?.directives]);
}
