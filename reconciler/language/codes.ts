/** How bad a problem is: an error refuses the document, a warning and an info let it pass. */
export type Severity = "error" | "warning" | "info";

interface Meaning {
  severity: Severity;
  /** What the file did, in one sentence. */
  meaning: string;
}

const error = (meaning: string) => ({ severity: "error", meaning }) as const;
const warning = (meaning: string) => ({ severity: "warning", meaning }) as const;
const info = (meaning: string) => ({ severity: "info", meaning }) as const;

/**
 * Every code of a problem. Codes are stable: people silence, search and link them. `docs/reference/problem-codes.md` is
 * made from this.
 */
export const codes = {
  // The file as text.
  FILE_TOO_LARGE: error("A file is larger than 1 MiB."),
  ENCODING: error("A file is not UTF-8 text."),
  NUL_BYTE: error("A file holds a NUL byte."),
  EMPTY_FILE: error("A file holds no document."),
  YAML_TAB: error("YAML is indented with a tab."),
  YAML_SYNTAX: error("A file is not valid YAML 1.2."),
  YAML_ALIAS: error("An alias names no anchor above it, or one that it stands in."),
  YAML_TAG: error("A value has a tag of its own, or is not what its tag says."),
  JSON_SYNTAX: error("A file is not valid JSON."),
  NESTING: error("Lists and mappings stand too deep inside each other."),
  TOO_MANY_VALUES: error("A document, its aliases written out, has too many values, or a file too many documents."),
  DUPLICATE_KEY: error("A mapping has a key twice."),
  // What kind of document it is.
  NOT_A_PIPELINE: error("A document is not a pipeline; such files belong outside of the watched folder."),
  VERSION: error('The version is not "v3".'),
  V2_NOT_RUN: error("A document of version v2 cannot be converted to v3, and only v3 runs."),
  FILTERS_NOT_REVIEWED: error("A filter that comes from v2, where it dropped what v3 keeps, was not looked at yet."),
  // The schema.
  REQUIRED: error("A field that the format demands is missing."),
  UNKNOWN_KEY: error("A key is not one that the format knows at this place."),
  TYPE: error("A value is of another kind than the format demands, such as a number for a text."),
  VALUE: error("A value is none of those that the format allows."),
  PIPELINE_ID: error("The pipeline_id breaks its rules: 5 to 40 of a-z, 0-9 and single dashes."),
  DURATION: error("A text is not a duration, or the duration is out of bounds."),
  QUANTITY: error("A text is not an amount of memory, storage or cpu."),
  PORT: error("A port is not a number from 1 to 65535 in quotes."),
  COLUMN_TYPE: error("A column type is none that can be written."),
  EXPRESSION: error("An expression does not compile against the fields that it sees."),
  // What one field says of another.
  DUPLICATE_PIPELINE_ID: error("Two documents have one pipeline_id; neither is applied."),
  DEPENDS_ON: error("Pipelines wait for each other in a circle."),
  SOURCE_COUNT: error("There are more sources of a kind than a pipeline can have."),
  SOURCE_MIX: error("Sources of different kinds, or Kafka sources that do not go together, are in one pipeline."),
  SOURCE_ID: error("A source_id is there twice, or is one that Sluice uses itself."),
  SOURCE_REFERENCE: error("A source_id names no source, or one for which the setting is not allowed."),
  CONNECTION: error("A connection lacks what its mechanism needs, or a certificate or key is unreadable."),
  HOST: error("The host of the sink is not a host name: a URL, for example, or a name with a port."),
  FORMAT: error("The schema of an Avro or Protobuf source is not whole."),
  FIELD_REFERENCE: error("A name is not a field of the events at this place."),
  DUPLICATE_NAME: error("A name that must be there once is there twice."),
  TRANSFORM_COUNT: error("There are more transforms of a kind than a pipeline or a source can have."),
  JOIN: error("A join has not two different Kafka sources, or stands beside a transform that it excludes."),
  MAPPING_EMPTY: error("The sink writes no column."),
  COLUMN_MISMATCH: error("A field cannot feed a column of this type."),
  ALIAS_CONFLICT: error("Two spellings of one setting say different things."),
  STORAGE: error("Storage is given to a source without dedup, which alone needs it."),
  NOT_SUPPORTED: error("The format allows it, and Sluice refuses it for a reason that its message gives."),
  NOT_SUPPORTED_YET: error("The format allows it, and this version of Sluice does not run it yet."),
  // What runs, but perhaps not as meant.
  DEPENDS_ON_MISSING: warning("A pipeline waits for one that no file describes."),
  PLAIN_TEXT_SECRET: warning("A secret stands in the file as plain text instead of a reference."),
  BROKER: warning("The address of a Kafka broker is not of the form host:port."),
  SASL: warning("Protocol and mechanism of a Kafka connection do not go together."),
  TLS: warning("TLS is half configured, or checks less than it seems to."),
  PORT_GUESSED: warning("The HTTP port of ClickHouse is derived from the native one, because http_port is missing."),
  CREATE_TABLE: warning("A table that is to be created has a column whose type is not spelled out."),
  TABLE_NAME: warning("The name of the table seems to hold its database."),
  SHARED_TABLE: warning("Two pipelines write to one table."),
  TRANSFORM_ORDER: warning("Transforms are not written in the order in which they run: filter, dedup, stateless."),
  FILTER_CONSTANT: warning("A filter keeps every event, or none."),
  DEDUP_KEY: warning("A dedup key is of a type that hardly tells events apart."),
  UNUSED: warning("A setting does nothing beside the others, such as a password without authentication."),
  BATCH: warning("Batch size, delay and the limits of the stream do not go together."),
  QUANTITY_UNIT: warning("A size has the unit of a fraction of a byte, or is 0."),
  REQUESTS: warning("A component asks for more than its limit."),
  TAGS: warning("There are very many tags, or a tag is very long."),
  REPLICAS: warning("A number of replicas acts as another one, or is very large."),
  // What was made of a document of version v2.
  V2_CONVERTED: warning("A document of version v2 runs converted to v3."),
  V2_FILTER: warning("A filter of v2 has another meaning in v3, or was negated."),
  V2_FIELD_ADDED: warning("A field that an expression reads was declared with a type that is a guess."),
  V2_PASSWORD: warning("A password was decoded from base64, or is none that could be."),
  V2_SOURCES: warning("A document of version v2 has no topic that could become a source."),
  V2_DROPPED: warning("Something of a document of version v2 has no place in v3."),
  // What is worth knowing.
  TOO_MANY_PROBLEMS: info("A document has more problems than are shown."),
  NO_EFFECT: info("The format allows it, and it has no effect in one process or with this kind of source or sink."),
  CPU_NOT_ENFORCED: info("Amounts of cpu are kept and shown, not enforced. Said once for a document."),
} as const satisfies Record<string, Meaning>;

export type Code = keyof typeof codes;
