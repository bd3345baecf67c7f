import { changedIn } from "../../support/pipeline-file.ts";
import type { Fate } from "../ledger.ts";
import { OtlpLoad } from "../otlp-load.ts";
import { idAttribute, otlpFileOf } from "../otlp-variants.ts";
import type { Span } from "../spans.ts";
import { batchRows, connectionTo, createTable, insertsInFlight, type Subject, type Surroundings } from "./subject.ts";
import { type ExternalVariant, nameOf } from "./variants.ts";

const exporters = 2;
const mostRecords = 20;

/** Exporters send log records to it, over gRPC and HTTP. */
export class OtlpSubject implements Subject {
  readonly id = `attributes['${idAttribute}']`;
  readonly needs = { args: [], env: {} };
  readonly variant: ExternalVariant;
  readonly pipeline_id: string;
  readonly table: string;
  readonly #surroundings: Surroundings;
  #load: OtlpLoad | undefined;

  private constructor(variant: ExternalVariant, surroundings: Surroundings) {
    this.variant = variant;
    this.pipeline_id = nameOf(variant);
    this.table = this.pipeline_id.replaceAll("-", "_");
    this.#surroundings = surroundings;
  }

  static async create(variant: ExternalVariant, surroundings: Surroundings): Promise<OtlpSubject> {
    const subject = new OtlpSubject(variant, surroundings);
    const { server, place } = surroundings;
    await createTable(server, subject.table, "attributes Map(LowCardinality(String), String)");
    await place.write(`${subject.pipeline_id}.yaml`, subject.#file(connectionTo(server)));
    return subject;
  }

  begin(): void {
    const { listeners: otlp, random } = this.#surroundings;
    const { pipeline_id } = this;
    const variant = { pipeline_id, dropsRepeats: this.variant.dropsRepeats };
    this.#load = new OtlpLoad({ variant, otlp, random, exporters, mostRecords });
  }

  async stop(): Promise<void> {
    await this.#load?.stop();
  }

  async giveUp(): Promise<void> {
    await this.#load?.giveUp();
  }

  async isRead(): Promise<boolean> {
    return true;
  }

  expected(): Record<Fate, ReadonlyMap<string, Span>> {
    return { row: this.#load?.ledger.expected() ?? new Map(), letter: new Map() };
  }

  rowOfAnother(n: number): { id: string; row: Record<string, unknown> } {
    return { id: `another-${n}`, row: { attributes: { [idAttribute]: `another-${n}` } } };
  }

  #file(connection: string): string {
    const { pipeline_id, variant } = this;
    const text = otlpFileOf({ name: pipeline_id, pipeline_id, dropsRepeats: variant.dropsRepeats });
    const file = changedIn(
      text,
      "{ host: embedded, database: default }",
      connection,
      "max_batch_size: 500",
      `max_batch_size: ${batchRows}`,
      "{ create_table: true }",
      `{ on_uncertain: ${variant.on_uncertain} }`,
    );
    return `${file}resources: { sink: { replicas: ${insertsInFlight} } }\n`;
  }
}
