/** How bad a problem is: an error refuses the document, a warning and an info let it pass. */
export type Severity = "error" | "warning" | "info";

/** Every code of a problem, with its severity. Codes are stable: people silence, search and link them. */
export const codes = {
  // The file as text.
  FILE_TOO_LARGE: "error",
  ENCODING: "error",
  NUL_BYTE: "error",
  EMPTY_FILE: "error",
  YAML_TAB: "error",
  YAML_SYNTAX: "error",
  YAML_ALIAS: "error",
  YAML_TAG: "error",
  JSON_SYNTAX: "error",
  NESTING: "error",
  TOO_MANY_VALUES: "error",
  DUPLICATE_KEY: "error",
  // What kind of document it is.
  NOT_A_PIPELINE: "error",
  VERSION: "error",
  V2_NOT_RUN: "error",
  // The schema.
  REQUIRED: "error",
  UNKNOWN_KEY: "error",
  TYPE: "error",
  VALUE: "error",
  PIPELINE_ID: "error",
  DURATION: "error",
  QUANTITY: "error",
  PORT: "error",
  COLUMN_TYPE: "error",
  EXPRESSION: "error",
  // What one field says of another.
  DUPLICATE_PIPELINE_ID: "error",
  DEPENDS_ON: "error",
  SOURCE_COUNT: "error",
  SOURCE_MIX: "error",
  SOURCE_ID: "error",
  SOURCE_REFERENCE: "error",
  CONNECTION: "error",
  FIELD_REFERENCE: "error",
  DUPLICATE_NAME: "error",
  TRANSFORM_COUNT: "error",
  JOIN: "error",
  MAPPING_EMPTY: "error",
  COLUMN_MISMATCH: "error",
  ALIAS_CONFLICT: "error",
  STORAGE: "error",
  NOT_SUPPORTED_YET: "error",
  // What runs, but perhaps not as meant.
  DEPENDS_ON_MISSING: "warning",
  PLAIN_TEXT_SECRET: "warning",
  SASL: "warning",
  TRANSFORM_ORDER: "warning",
  TAGS: "warning",
  REPLICAS: "warning",
  TOO_MANY_PROBLEMS: "info",
  NO_EFFECT: "info",
  CPU_NOT_ENFORCED: "info",
} as const satisfies Record<string, Severity>;

export type Code = keyof typeof codes;
