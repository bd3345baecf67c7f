/** What the caller should do: try again later, change the request, or stop and call a person. */
export type Policy = "retry" | "reject" | "halt";

/** Every error code of the engine, with its policy. Callers branch on the policy, people read the message. */
export const policies = {
  PIPELINE_NOT_FOUND: "reject",
  PIPELINE_EXISTS: "reject",
  PIPELINE_ALREADY_IN_STATE: "reject",
  PIPELINE_IN_TRANSITION: "retry",
  INVALID_STATUS_TRANSITION: "reject",
  PIPELINE_NOT_STOPPED_FOR_EDIT: "reject",
  IMMUTABLE_FIELD: "reject",
  NOT_SUPPORTED: "reject",
  SECRET_NOT_FOUND: "reject",
  SECRET_NOT_ALLOWED: "reject",
  TARGET_NOT_ALLOWED: "reject",
  ADDRESS_INVALID: "reject",
  DATA_DIR_HELD: "halt",
  DATA_DIR_NEWER: "halt",
  DATA_DIR_OLDER: "halt",
  REPROCESS_FAILED: "retry",
  REWIND_REFUSED: "reject",
  SAMPLE_FAILED: "retry",
  STREAM_FULL: "retry",
  RATE_LIMITED: "retry",
  DEAD_LETTERS_FULL: "retry",
  PUSH_TOO_LARGE: "reject",
  STREAM_CLOSED: "reject",
  DISK_FULL: "retry",
  STORAGE_UNAVAILABLE: "retry",
  STORAGE_FAILED: "halt",
  CLICKHOUSE_MISSING: "halt",
  QUERY_FAILED: "reject",
} as const satisfies Record<string, Policy>;

export type ErrorCode = keyof typeof policies;

/** The one error type that leaves the engine. */
export class EngineError extends Error {
  readonly code: ErrorCode;
  /** Facts for a caller, such as `current_status` and `valid_transitions`. No secrets. */
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "EngineError";
    this.code = code;
    this.details = options.details ?? {};
  }

  get policy(): Policy {
    return policies[this.code];
  }
}

/** A pipeline is between its deletion and its creation: nothing that is sent to it now is stored. */
export function recreatedMeanwhile(pipeline_id: string): EngineError {
  const text = `pipeline ${pipeline_id} is being recreated, and nothing is stored: send the request again later`;
  return new EngineError("STORAGE_UNAVAILABLE", text);
}

/** Thrown where a pipeline ends and leaves its work to the next start. Prepared batches stay in the journal. */
export class LeftForLater extends Error {}
