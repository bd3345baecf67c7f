import { pipelineFile, token, tokenEnv } from "../../support/daemon.ts";
import { changedIn } from "../../support/pipeline-file.ts";
import { EventMix } from "../event-mix.ts";
import { type Fate, Ledger } from "../ledger.ts";
import { Poster } from "../poster.ts";
import type { Span } from "../spans.ts";
import { batchRows, connectionTo, createTable, insertsInFlight, type Subject, type Surroundings } from "./subject.ts";
import { type ExternalVariant, nameOf } from "./variants.ts";

/** Events with an id that was posted before, in percent, where dedup drops them. */
const repeats = 10;
const dedup = "transforms: [{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }]";

/** Events are posted to it over several connections. */
export class WebhookSubject implements Subject {
  readonly id = "id";
  readonly needs = { args: [], env: tokenEnv };
  readonly variant: ExternalVariant;
  readonly pipeline_id: string;
  readonly table: string;
  readonly #ledger = new Ledger();
  readonly #mix: EventMix;
  readonly #events: string;
  #poster: Poster | undefined;

  private constructor(variant: ExternalVariant, { random, listeners }: Surroundings) {
    this.variant = variant;
    this.pipeline_id = nameOf(variant);
    this.table = this.pipeline_id.replaceAll("-", "_");
    this.#mix = new EventMix(random, { withBad: true, repeats: variant.dropsRepeats ? repeats : 0 });
    this.#events = `http://${listeners.events}`;
  }

  static async create(variant: ExternalVariant, surroundings: Surroundings): Promise<WebhookSubject> {
    const subject = new WebhookSubject(variant, surroundings);
    const { server, place } = surroundings;
    await createTable(server, subject.table, "id String, n Int32");
    await place.write(`${subject.pipeline_id}.yaml`, subject.#file(connectionTo(server)));
    return subject;
  }

  begin(): void {
    const { pipeline_id } = this;
    const load = { mix: this.#mix, ledger: this.#ledger, connections: 4, rest: 5 };
    this.#poster = new Poster({ url: this.#events, pipeline_id, token, ...load });
  }

  async stop(): Promise<void> {
    await this.#poster?.stop();
  }

  async giveUp(): Promise<void> {
    await this.stop();
  }

  async isRead(): Promise<boolean> {
    return true;
  }

  expected(): Record<Fate, ReadonlyMap<string, Span>> {
    const { dropsRepeats } = this.variant;
    return {
      row: this.#ledger.expected("row", dropsRepeats),
      letter: this.#ledger.expected("letter", dropsRepeats),
    };
  }

  rowOfAnother(n: number): { id: string; row: Record<string, unknown> } {
    return { id: `another-${n}`, row: { id: `another-${n}`, n: 0 } };
  }

  #file(connection: string): string {
    const { dropsRepeats, on_uncertain } = this.variant;
    const sink = `  max_batch_size: ${batchRows}\n  max_delay_time: 50ms`;
    const xSluice = `  on_uncertain: ${on_uncertain}`;
    const text = pipelineFile(this.pipeline_id, { sink, xSluice, ...(dropsRepeats && { rest: dedup }) });
    const file = changedIn(
      text,
      "{ host: embedded, database: default }",
      connection,
      "create_table: true",
      "create_table: false",
    );
    return `${file}resources: { sink: { replicas: ${insertsInFlight} } }\n`;
  }
}
