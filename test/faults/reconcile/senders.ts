import { setTimeout as sleep } from "node:timers/promises";
import type { TestEngine } from "../../support/engine.ts";

/** Milliseconds between two events of one sender. */
const rest = 100;

/** Sends events to pipelines without end, and notes which were accepted: what a fault does to running pipelines shows here. */
export class Senders {
  readonly #engine: TestEngine;
  readonly #token: string;
  readonly #running = new Map<string, Promise<void>>();
  readonly #accepted = new Map<string, number[]>();
  #refused: string[] = [];
  #isStopping = false;

  constructor(engine: TestEngine, token: string, pipeline_ids: readonly string[]) {
    this.#engine = engine;
    this.#token = token;
    for (const id of pipeline_ids) this.#running.set(id, this.#send(id));
  }

  /** Ids of the events that a pipeline accepted. */
  accepted(pipeline_id: string): readonly number[] {
    return this.#accepted.get(pipeline_id) ?? [];
  }

  get count(): number {
    return [...this.#accepted.values()].reduce((sum, ids) => sum + ids.length, 0);
  }

  /** What was refused since the last call, such as `kept-1: 503`. */
  takeRefused(): string[] {
    const refused = this.#refused;
    this.#refused = [];
    return refused;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#running.values());
  }

  async #send(pipeline_id: string): Promise<void> {
    const accepted: number[] = [];
    this.#accepted.set(pipeline_id, accepted);
    for (let id = 1; !this.#isStopping; id += 1) {
      const { status } = await this.#engine.post(pipeline_id, this.#token, { id, level: "error" });
      if (status === 202) accepted.push(id);
      else this.#refused.push(`${pipeline_id}: ${status}`);
      await sleep(rest);
    }
  }
}
