import { large } from "./kafka-large.ts";
import { isDropped, isRepeat, type Shape } from "./kafka-shape.ts";
import { small } from "./kafka-small.ts";

export const shapes: readonly Shape[] = [large, small];

export function shapeNamed(name: string): Shape {
  return shapes.find((shape) => shape.name === name)!;
}

type Step = "filter" | "dedup" | "stateless";

/** A pipeline that is measured, by what it does with events beside the check of their declared fields. */
export interface Case {
  name: string;
  steps: readonly Step[];
}

export const cases: readonly Case[] = [
  { name: "ingest only", steps: [] },
  { name: "filter", steps: ["filter"] },
  { name: "dedup", steps: ["dedup"] },
  { name: "stateless", steps: ["stateless"] },
  { name: "all three", steps: ["filter", "dedup", "stateless"] },
];

/** Rows that a case makes of the events of a shape. */
export function rowsOf({ steps }: Case, { events }: Shape): number {
  const [filters, dedups] = [steps.includes("filter"), steps.includes("dedup")];
  let rows = 0;
  for (let index = 0; index < events; index += 1) {
    if (!(filters && isDropped(index)) && !(dedups && isRepeat(index))) rows += 1;
  }
  return rows;
}

/** CPU-seconds per million events, at most: of a case, or of what one step adds to ingest alone. */
export function goalOf({ steps }: Case, shape: Shape): { most: number; isAdded: boolean } {
  if (steps.length === 0) return { most: shape === large ? 8 : 2.6, isAdded: false };
  return steps.length === 1 ? { most: 3, isAdded: true } : { most: 14, isAdded: false };
}
