import { setTimeout as sleep } from "node:timers/promises";
import type { TestEngine } from "../../../support/engine.ts";
import type { TestKafka } from "../../../support/kafka/test-kafka.ts";
import type { DesiredPipeline } from "../../../../reconciler/desired/desired-state.ts";

/** When an event was sent: before the merge, into trouble, while the merge was carried out, or when it was done. */
export type Phase = "before" | "troubled" | "during" | "after";

/** Where events are sent: a webhook pipeline, or a topic. */
export interface Inlet {
  kind: "webhook" | "topic";
  /** A pipeline_id, or a topic. */
  name: string;
}

export interface SentEvent {
  /** No two events of a pull request have one, nor one that is twice another. */
  id: number;
  level: "error" | "x";
  inlet: Inlet;
  phase: Phase;
  /** Sent again after the merge. */
  isRepeated?: true;
}

export interface Refusal {
  pipeline_id: string;
  phase: Phase;
  status: number;
}

/** Each phase has ids of its own, odd ones, so that none is twice another. */
export const firstIds: Readonly<Record<Phase, number>> = {
  before: 10_001,
  troubled: 50_001,
  during: 100_001,
  after: 1_000_001,
};
const ofInlet = 2_000;
const ofPhase = 6;
const whileMerging = 300;
const unauthorized = 401;

/** Sends events to the inlets of one pull request and keeps which were accepted. */
export class Flow {
  readonly sent: SentEvent[] = [];
  readonly refused: Refusal[] = [];
  /** Pipelines that took no event with the token that they had before. */
  readonly newTokens = new Set<string>();
  readonly #engine: TestEngine;
  readonly #kafka: TestKafka;
  readonly #inlets: readonly Inlet[];
  readonly #secrets: Readonly<Record<string, string>>;
  readonly #tokens = new Map<string, string>();
  readonly #partners: ReadonlyMap<string, string>;

  /** `partners`: by the left topic of a join, its right topic, which gets each of its events too. */
  constructor(
    engine: TestEngine,
    kafka: TestKafka,
    inlets: readonly Inlet[],
    secrets: Readonly<Record<string, string>>,
    partners: ReadonlyMap<string, string>,
  ) {
    this.#partners = partners;
    this.#engine = engine;
    this.#kafka = kafka;
    this.#inlets = inlets;
    this.#secrets = secrets;
  }

  /** Makes or reads the tokens of these pipelines. */
  async admit(pipelines: readonly DesiredPipeline[]): Promise<void> {
    for (const { pipeline_id, options } of pipelines) {
      if (!this.#isWebhook(pipeline_id)) continue;
      const own = options.access_token?.replace(/^\$\{|\}$/g, "");
      if (own !== undefined) this.#tokens.set(pipeline_id, this.#secrets[own] ?? "");
      else if (!this.#tokens.has(pipeline_id)) await this.#newToken(pipeline_id);
    }
  }

  /** Some events to each inlet. */
  async send(phase: Phase): Promise<void> {
    for (const inlet of this.#inlets) {
      await this.#all(
        inlet,
        Array.from({ length: ofPhase }, (_, at) => this.#event(inlet, phase, at)),
      );
    }
  }

  /** What was accepted before, once more. */
  async repeat(): Promise<void> {
    const earlier = this.sent.filter(({ phase, isRepeated }) => phase === "before" && isRepeated === undefined);
    for (const inlet of this.#inlets) {
      const again = earlier.filter((one) => one.inlet === inlet).map((one) => ({ ...one, isRepeated: true as const }));
      await this.#all(inlet, again);
    }
  }

  /** Sends one event after the other until the merge is done. */
  async sendUntil(merged: Promise<unknown>): Promise<void> {
    const done = new AbortController();
    const end = merged.finally(() => done.abort());
    const sending = this.#inlets.map(async (inlet) => {
      for (let at = 0; !done.signal.aborted && at < whileMerging; at += inlet.kind === "topic" ? 10 : 1) {
        const length = inlet.kind === "topic" ? 10 : 1;
        const events = Array.from({ length }, (_, next) => this.#event(inlet, "during", at + next));
        await this.#all(inlet, events);
        await sleep(inlet.kind === "topic" ? 200 : 10);
      }
    });
    await Promise.all([end, ...sending]);
  }

  #event(inlet: Inlet, phase: Phase, at: number): SentEvent {
    const id = firstIds[phase] + this.#inlets.indexOf(inlet) * ofInlet + 2 * at;
    return { id, level: at % 2 === 0 ? "error" : "x", inlet, phase };
  }

  async #all(inlet: Inlet, events: readonly SentEvent[]): Promise<void> {
    if (inlet.kind === "topic") {
      await this.#kafka.produce(inlet.name, events.map(textOf));
      this.sent.push(...events);
      const partner = this.#inlets.find(
        ({ kind, name }) => kind === "topic" && name === this.#partners.get(inlet.name),
      );
      if (partner !== undefined) {
        await this.#all(
          partner,
          events.map((event) => ({ ...event, inlet: partner })),
        );
      }
      return;
    }
    for (const event of events) await this.#post(inlet.name, event);
  }

  async #post(pipeline_id: string, event: SentEvent): Promise<void> {
    const phase = event.isRepeated === true ? "after" : event.phase;
    const token = this.#tokens.get(pipeline_id);
    if (token === undefined) return;
    let { status } = await this.#engine.post(pipeline_id, token, textOf(event));
    if (status === unauthorized && phase === "after" && this.#isWebhook(pipeline_id)) {
      this.newTokens.add(pipeline_id);
      await this.#newToken(pipeline_id);
      ({ status } = await this.#engine.post(pipeline_id, this.#tokens.get(pipeline_id)!, textOf(event)));
    }
    if (status === 202) this.sent.push(event);
    else this.refused.push({ pipeline_id, phase, status });
  }

  async #newToken(pipeline_id: string): Promise<void> {
    this.#tokens.set(pipeline_id, await this.#engine.engine.tokens.rotate(pipeline_id, { now: true }));
  }

  /** Whether it is there and takes events by HTTP. */
  #isWebhook(pipeline_id: string): boolean {
    const found = this.#engine.engine.list().find((one) => one.pipeline_id === pipeline_id);
    return found?.config.sources.some(({ type }) => type === "webhook") === true;
  }
}

function textOf({ id, level }: SentEvent): string {
  return JSON.stringify({ id, level });
}
