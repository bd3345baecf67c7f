import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { KafkaLoad } from "../kafka-load.ts";
import { KafkaSubject } from "../kafka-subject.ts";
import { kafkaVariants } from "../kafka-variants.ts";
import type { Fate } from "../ledger.ts";
import type { Span } from "../spans.ts";
import {
  batchRows,
  insertsInFlight,
  type StartNeeds,
  type Subject,
  type Surroundings,
  tokenColumn,
} from "./subject.ts";
import type { ExternalVariant } from "./variants.ts";

const perSecond = 150;

/** It reads a topic to which events are written all the time. */
export class KafkaTopicSubject implements Subject {
  readonly id = "toString(id)";
  readonly needs: StartNeeds;
  readonly variant: ExternalVariant;
  readonly #subject: KafkaSubject;
  #load: KafkaLoad | undefined;

  private constructor(variant: ExternalVariant, subject: KafkaSubject, needs: StartNeeds) {
    this.variant = variant;
    this.#subject = subject;
    this.needs = needs;
  }

  static async create(
    variant: ExternalVariant,
    { server, place, random }: Surroundings,
    kafka: TestKafka,
  ): Promise<KafkaTopicSubject> {
    const mix = variant.dropsRepeats ? kafkaVariants.repeats : kafkaVariants.unique;
    const xSluice = { on_uncertain: variant.on_uncertain };
    const options = { kafka, server, variant: mix, members: 1, random, rows: batchRows, xSluice };
    const subject = await KafkaSubject.create(options);
    await server.client.command({ query: `ALTER TABLE ${subject.table.name} ADD COLUMN ${tokenColumn}` });
    const needs = await subject.prepare(place, String(server.port), { replicas: insertsInFlight });
    return new KafkaTopicSubject(variant, subject, needs);
  }

  get pipeline_id(): string {
    return this.#subject.pipeline_id;
  }

  get table(): string {
    return this.#subject.table.name;
  }

  begin(): void {
    this.#load = new KafkaLoad(this.#subject, perSecond);
  }

  async stop(): Promise<void> {
    await this.#load?.stop();
  }

  async giveUp(): Promise<void> {
    await this.stop();
    await this.#subject.remove();
  }

  isRead(): Promise<boolean> {
    return this.#subject.isRead();
  }

  expected(): Record<Fate, ReadonlyMap<string, Span>> {
    const ids = Array.from({ length: this.#subject.mix.distinct }, (_, id) => String(id));
    return { row: new Map(ids.map((id) => [id, { least: 1, most: 1 }])), letter: new Map() };
  }

  /** Its ids are negative. */
  rowOfAnother(n: number): { id: string; row: Record<string, unknown> } {
    return { id: String(-1 - n), row: { id: -1 - n, n: 0 } };
  }
}
