import type { ProfileSettings } from "../../integration/sink/profile-proxy.ts";

/** A setting as the server describes it. */
export interface SettingInfo {
  name: string;
  /** For this session. */
  value: string;
  default: string;
  type: string;
  alias_for: string;
  is_obsolete: number;
}

/** One profile that the sweep tries: one setting with one value, and others without which it would do nothing. */
export interface Trial {
  name: string;
  value: string;
  profile: ProfileSettings;
}

/** Values that mean something, for settings whose type does not tell. */
const meaningful: Readonly<Record<string, readonly string[]>> = {
  additional_result_filter: ["id > 5", "0"],
  additional_table_filters: ["{'s.main': 'id > 5'}", "{'system.tables': '0'}"],
  compatibility: ["22.2", "24.1"],
  dialect: ["prql", "kusto"],
  exclude_materialize_skip_indexes_on_insert: ["a", "b,c"],
  insert_deduplication_token: ["always", "the same"],
  insert_quorum: ["2", "auto"],
  join_algorithm: ["full_sorting_merge", "partial_merge", "grace_hash"],
  log_queries_min_type: ["EXCEPTION_WHILE_PROCESSING", "QUERY_FINISH"],
  session_timezone: ["Asia/Tokyo", "America/New_York"],
  temporary_files_codec: ["NONE", "ZSTD"],
};

/** An overflow is met only with a limit. */
const limits: Readonly<Record<string, ProfileSettings>> = {
  distinct_overflow_mode: { max_rows_in_distinct: "1" },
  group_by_overflow_mode: { max_rows_to_group_by: "1" },
  join_overflow_mode: { max_rows_in_join: "1" },
  read_overflow_mode: { max_rows_to_read: "1" },
  read_overflow_mode_leaf: { max_rows_to_read_leaf: "1" },
  result_overflow_mode: { max_result_rows: "1" },
  set_overflow_mode: { max_rows_in_set: "1" },
  sort_overflow_mode: { max_rows_to_sort: "1" },
  timeout_overflow_mode: { max_execution_time: "0.001" },
  timeout_overflow_mode_leaf: { max_execution_time_leaf: "0.001" },
  transfer_overflow_mode: { max_rows_to_transfer: "1" },
};

const numbers = /^(?:NonZero)?U?Int(?:32|64)(?:Auto)?$|^Float(?:Auto)?$|^Double$|^MaxThreads$|^(?:Milli)?[sS]econds$/;

/** The trials of a setting: two values or more that are not its default. `named`: the values that the server names for it. */
export function trialsOf(info: SettingInfo, named: readonly string[]): Trial[] {
  return valuesOf(info, named).map((value) => ({
    name: info.name,
    value,
    profile: { ...limits[info.name], [info.name]: value },
  }));
}

function valuesOf(info: SettingInfo, named: readonly string[]): readonly string[] {
  const { name, type } = info;
  if (meaningful[name] !== undefined) return meaningful[name];
  if (type === "Bool") return [isOn(info.default) ? "0" : "1"];
  if (type === "BoolAuto") return ["0", "1"];
  if (numbers.test(type)) return numbersBeside(info);
  if (named.length > 0) return named.filter((value) => value !== info.default);
  return type === "Char" ? [";", "'"] : ["x", "1"].filter((value) => value !== info.default);
}

/** A small and a large one. */
function numbersBeside({ name, type, default: found }: SettingInfo): string[] {
  const isShare = /probability|ratio|_rate$/.test(name);
  const small = isShare ? ["0.5", "1"] : ["1", "2", "0"];
  const large = isShare ? ["1", "0.9"] : type === "MaxThreads" ? ["16"] : ["1000000000", "2000000000"];
  const other = (values: readonly string[]): string[] =>
    values.filter((one) => Number(one) !== Number(found)).slice(0, 1);
  return [...new Set([...other(small), ...other(large)])];
}

function isOn(value: string): boolean {
  return value !== "0" && value !== "false" && value !== "";
}

/** The values that an error names, as `Must be one of ['a', 'b']`. */
export function valuesNamedBy(error: string): string[] {
  const list = /Must be one of \[([^\]]*)\]/.exec(error)?.[1] ?? "";
  return [...list.matchAll(/'([^']*)'/g)].map(([, value]) => value!);
}
