import { serverError } from "./errors.ts";

/** A setting as the profile of the user holds it. */
export interface HeldSetting {
  value: string;
  min: string | null;
  max: string | null;
  /** 1 where a statement may not change it. */
  readonly: number;
}

/** The settings that a sink asks for or brings, as ClickHouse 26.7 has them by default. */
const defaults: Record<string, string> = {
  allow_suspicious_low_cardinality_types: "0",
  async_insert: "1",
  date_time_input_format: "best_effort",
  deduplicate_blocks_in_dependent_materialized_views: "1",
  deduplicate_insert: "enable",
  enable_nullable_tuple_type: "0",
  input_format_allow_errors_num: "0",
  input_format_allow_errors_ratio: "0",
  input_format_json_named_tuples_as_objects: "1",
  input_format_json_read_bools_as_numbers: "1",
  input_format_null_as_default: "1",
  input_format_defaults_for_omitted_fields: "1",
  input_format_skip_unknown_fields: "1",
  input_format_try_infer_dates: "1",
  input_format_try_infer_datetimes: "1",
  insert_deduplicate: "1",
  insert_deduplication_token: "",
  limit: "0",
  materialized_views_ignore_errors: "0",
  max_insert_block_size: "1048449",
  max_insert_block_size_bytes: "0",
  max_partitions_per_insert_block: "100",
  min_insert_block_size_bytes: "268402944",
  min_insert_block_size_rows: "1048449",
  offset: "0",
  read_overflow_mode: "throw",
  readonly: "0",
  result_overflow_mode: "throw",
  timeout_overflow_mode: "throw",
  use_strict_insert_block_limits: "0",
  wait_for_async_insert: "1",
};

/** What stands in an address and is no setting. */
const parameters = new Set(["query", "query_id", "session_id", "session_timeout", "session_check", "database"]);

/** The settings profile of the one user. */
export class Profile {
  readonly #held = new Map<string, HeldSetting>();

  /** `changes`: what the profile holds otherwise; `lacks`: settings that this version of the server does not know. */
  constructor(changes: Record<string, Partial<HeldSetting>> = {}, lacks: readonly string[] = []) {
    for (const [name, value] of Object.entries(defaults)) {
      if (!lacks.includes(name)) this.#held.set(name, { value, min: null, max: null, readonly: 0, ...changes[name] });
    }
  }

  /** The rows of `system.settings`. */
  get rows(): Record<string, unknown>[] {
    return [...this.#held].map(([name, held]) => ({ name, ...held, changed: held.value === defaults[name] ? 0 : 1 }));
  }

  get(name: string): string {
    return this.#held.get(name)?.value ?? "";
  }

  /** The settings that a request brings. Throws the server's error where it may not bring one. */
  ofRequest(query: URLSearchParams): Map<string, string> {
    const settings = new Map<string, string>();
    for (const [name, value] of query) {
      if (parameters.has(name)) continue;
      this.check(name, value);
      settings.set(name, value);
    }
    return settings;
  }

  /** Throws the server's error where a statement may not set it so. */
  check(name: string, value: string): void {
    const held = this.#held.get(name);
    if (held === undefined) throw serverError(115, `Unknown setting '${name}'.`);
    if (held.value === value) return;
    if (held.readonly !== 0) throw serverError(452, `Setting ${name} should not be changed.`);
    if (held.max !== null && Number(value) > Number(held.max)) {
      throw serverError(452, `Setting ${name} shouldn't be greater than ${held.max}.`);
    }
    if (held.min !== null && Number(value) < Number(held.min)) {
      throw serverError(452, `Setting ${name} shouldn't be less than ${held.min}.`);
    }
  }
}
