import type { Mapping } from "../../schemas/pipeline.ts";

/** A pipeline that is measured, by how it is sent to and what it keeps of each record. */
export interface Case {
  transport: "gRPC" | "HTTP";
  /** Log records in each request. */
  records: number;
  /** What is unlike the usual; absent where nothing is. */
  but?: "gzip" | "no trace" | "an attribute's own column";
}

const usual: readonly [name: string, column_type: string][] = [
  ["timestamp", "DateTime64(9)"],
  ["severity_text", "LowCardinality(String)"],
  ["body", "String"],
  ["trace_id", "String"],
  ["attributes", "Map(LowCardinality(String), String)"],
  ["resource_attributes", "Map(LowCardinality(String), String)"],
];

export const cases: readonly Case[] = [
  { transport: "gRPC", records: 1_000 },
  { transport: "HTTP", records: 1_000 },
  { transport: "gRPC", records: 100 },
  { transport: "HTTP", records: 100 },
  { transport: "HTTP", records: 1_000, but: "gzip" },
  { transport: "HTTP", records: 1_000, but: "no trace" },
  { transport: "HTTP", records: 1_000, but: "an attribute's own column" },
];

export function nameOf({ transport, records, but }: Case): string {
  return [transport, records, ...(but === undefined ? [] : [but])].join(", ");
}

/** The columns of a case: those that most keep of a log. */
export function mappingOf({ but }: Case): Mapping[] {
  const whole = usual.map(([name, column_type]) => ({ name, column_name: name, column_type }));
  if (but !== "an attribute's own column") return whole;
  return [...whole, { name: "attributes.http.route", column_name: "route", column_type: "LowCardinality(String)" }];
}

/** CPU-seconds per million records, at most; undefined where none is set. */
export function goalOf({ records, but }: Case): number | undefined {
  return records === 1_000 && but === undefined ? 6.5 : undefined;
}
