import type { SchemaField } from "../../schemas/pipeline.ts";

/** A field of an event with the column that it goes to. */
export interface Field {
  name: string;
  type: SchemaField["type"];
  column_type: string;
  /** Of event number `index`. */
  value: (index: number) => unknown;
}

/** An output of the stateless transform with the column that it goes to. */
export interface Output {
  name: string;
  expression: string;
  type: string;
  column_type: string;
}

/** Events of one kind, and what pipelines do with them. */
export interface Shape {
  name: string;
  /** How many a run reads. */
  events: number;
  /** The one named `id` tells events apart. */
  fields: readonly Field[];
  /** Keeps nine of ten events, by two fields: see `dropped`. */
  filter: string;
  outputs: readonly Output[];
}

/** Of twenty events, the one that a filter drops by its first field, and the one that it drops by its second. */
export const dropped = { every: 20, byFirst: 3, bySecond: 7 };

/** One event of ten repeats another one, in another partition, mostly one that came a good while before. */
const repeated = { every: 10, farBehind: 4_005, closeBehind: 5 };

export function isDropped(index: number): boolean {
  const turn = index % dropped.every;
  return turn === dropped.byFirst || turn === dropped.bySecond;
}

export function isRepeat(index: number): boolean {
  return index % repeated.every === repeated.every - 1;
}

/** The JSON text of event number `index`; a repeat has that of the event that it repeats. */
export function eventText({ fields }: Shape, index: number): string {
  const of = isRepeat(index) ? repeatedBy(index) : index;
  const event: Record<string, unknown> = {};
  for (const { name, value } of fields) event[name] = value(of);
  return JSON.stringify(event);
}

function repeatedBy(index: number): number {
  return index - (index < repeated.farBehind ? repeated.closeBehind : repeated.farBehind);
}
