import { SimulatedClickHouse } from "../clickhouse/clickhouse.ts";
import type { HeldSetting } from "../clickhouse/settings.ts";
import type { TableOptions } from "../clickhouse/table-options.ts";
import type { Draw, SimulatedNetwork } from "../network.ts";

/** What the table of a pipeline is, and the server that has it, for the whole of a story. */
export interface TargetShape {
  engine: "MergeTree" | "ReplicatedMergeTree";
  /** Entries of its deduplication log. */
  entries: number;
  isPartitioned: boolean;
  /** A materialized view hangs on it. */
  hasView: boolean;
  /** The settings profile of the user, by the name that `profiles` has for it. */
  profile: ProfileName;
  /** `async_insert = 1` is a setting of the table until a person takes it away. */
  isAsync: boolean;
}

/** Profiles that would double, cut, collect or drop inserts, and servers that do not know the newer settings. */
const profiles = {
  usual: {},
  "no deduplication": { profile: { deduplicate_insert: { value: "disable" }, insert_deduplicate: { value: "0" } } },
  "breaks off": { profile: { timeout_overflow_mode: { value: "break" } } },
  "small blocks": {
    profile: {
      use_strict_insert_block_limits: { value: "1" },
      max_insert_block_size_bytes: { value: "100" },
      max_insert_block_size: { value: "1" },
      min_insert_block_size_rows: { value: "1" },
    },
  },
  old: { lacks: ["deduplicate_insert", "use_strict_insert_block_limits", "max_insert_block_size_bytes"] },
} as const satisfies Record<string, { profile?: Record<string, Partial<HeldSetting>>; lacks?: readonly string[] }>;

export type ProfileName = keyof typeof profiles;

export const profileNames = Object.keys(profiles) as ProfileName[];

/** How much later the other replica shows a part at the most, in milliseconds. */
const slowestReplica = 5_000;
/** How long a statement, or a part of an insert, takes a server at the most, in milliseconds. */
const slowestWork = 150;

export const constraint = {
  name: "good",
  expression: "fate != 'constraint'",
  holds: (row: Record<string, unknown>) => row["fate"] !== "constraint",
};

/** The rows that a view fails at while it is broken. */
export const brokenView = { code: 395, fails: (row: Record<string, unknown>) => Number(row["id"]) % 2 === 0 };

const columns = [
  { name: "id", type: "UInt64" },
  { name: "key", type: "String" },
  { name: "fate", type: "String" },
  { name: "part", type: "UInt8" },
  { name: "at", type: "Int64" },
  { name: "partner", type: "UInt64" },
];

/** The ClickHouse at an address, with the table of a pipeline. */
export function clickHouseOf(shape: TargetShape, at: { network: SimulatedNetwork; draw: Draw; address: string }) {
  return new SimulatedClickHouse({
    ...at,
    work: [1, slowestWork],
    ...(shape.engine === "ReplicatedMergeTree" && { replicas: 2, lag: [0, slowestReplica] as const }),
    ...profiles[shape.profile],
    table: tableOf(shape),
  });
}

function tableOf({ engine, entries, isPartitioned, hasView, isAsync }: TargetShape): TableOptions {
  const kept = { database: "default", engine, window: entries, columns };
  return {
    ...kept,
    name: "events",
    ...(isPartitioned && { partitionBy: { expression: "part", of: (row) => Number(row["part"]) } }),
    constraints: [constraint],
    ...(hasView && { views: [{ name: "copies", to: { ...kept, name: "copied" } }] }),
    isAsync,
  };
}
