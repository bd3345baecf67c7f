/** How bad a problem is: a document with an error is refused, one with warnings or infos is applied. */
export type Severity = "error" | "warning" | "info";

/** What a problem means for its document. */
export const consequences: Readonly<Record<Severity, string>> = {
  error: "A document with an error is refused; a running pipeline keeps its last good document.",
  warning: "A document with warnings is applied: it runs, but perhaps not as intended.",
  info: "Infos need no correction.",
};

interface Meaning {
  severity: Severity;
  /** The problem, in one sentence. */
  meaning: string;
}

const error = (meaning: string) => ({ severity: "error", meaning }) as const;
const warning = (meaning: string) => ({ severity: "warning", meaning }) as const;
const info = (meaning: string) => ({ severity: "info", meaning }) as const;

/**
 * Every code of a problem. Codes are stable: people suppress, search and link them. `docs/reference/problem-codes.md`
 * is generated from this.
 */
export const codes = {
  // The file as text.
  FILE_TOO_LARGE: error("A file is larger than 1 MiB."),
  ENCODING: error("A file is not UTF-8 text."),
  NUL_BYTE: error("A file holds a NUL byte."),
  EMPTY_FILE: error("A file holds no document."),
  YAML_TAB: error("YAML is indented with a tab."),
  YAML_SYNTAX: error("A file is not valid YAML 1.2."),
  YAML_ALIAS: error("An alias refers to no anchor above it, or to the one that contains it."),
  YAML_TAG: error("A value has a custom tag, or does not match its tag."),
  YAML_1_1: warning(
    "A document says that it is YAML 1.1, or has a number that begins with 0, which YAML 1.1 reads in base 8. It is read as YAML 1.2.",
  ),
  JSON_SYNTAX: error("A file is not valid JSON."),
  NESTING: error("Lists and mappings are nested too deeply."),
  TOO_MANY_VALUES: error(
    "A document or a file, its aliases written out, has too many values, or there are too many documents.",
  ),
  FILE_COST: error("A file needs more time or memory to be read and checked than one file may use."),
  CONFLICT: error("A file holds a conflict of a merge, as Git marks it."),
  FAULT: error("Sluice itself failed on a file. Other files are read all the same, and what runs goes on."),
  DUPLICATE_KEY: error("A mapping has a key twice."),
  IGNORE_COST: error("The patterns of a `.sluiceignore` take too long. No file below its folder is read."),
  NOT_READ: error(
    "A file that looks like a pipeline is not read, such as a symbolic link out of the folder, or a folder cannot be read.",
  ),
  HIDDEN_FILE: error(
    "A hidden file or one named as a test, which is not read, has a pipeline that no other file has any more.",
  ),
  // What kind of document it is.
  NOT_A_PIPELINE: error(
    "A document is not a pipeline. It is only a note where its file was not named, and never held a pipeline.",
  ),
  VERSION: error('The version is not "v3".'),
  V2_NOT_RUN: error("A document of version v2 cannot be converted to v3, and only v3 runs."),
  FILTERS_NOT_REVIEWED: error(
    "A filter converted from v2, which drops the events that v3 keeps, was not reviewed yet.",
  ),
  // The schema.
  REQUIRED: error("A required field is missing."),
  UNKNOWN_KEY: error("The format has no such key at this place."),
  TYPE: error("A value has the wrong type, such as a number instead of a text."),
  VALUE: error("The format does not allow this value."),
  PIPELINE_ID: error("The pipeline_id breaks its rules: 5 to 40 of a-z, 0-9 and single dashes."),
  DURATION: error("A text is not a duration, or the duration is out of bounds."),
  QUANTITY: error("A text is not an amount of memory, storage or cpu."),
  PORT: error("A port is not a number from 1 to 65535 in quotes."),
  COLUMN_TYPE: error("Sluice cannot write a column of this type."),
  EXPRESSION: error("An expression does not compile against the fields that it sees."),
  EXPRESSION_COST: error(
    "The expressions of a file, or one of their patterns, need more work to compile than allowed.",
  ),
  MISPLACED_REFERENCE: error("A field that is no secret refers to one: `${env:NAME}` or `${file:/path}`."),
  VARIABLE: error("A variable, `${var:NAME}`, is not set, or stands where none may."),
  // Fields that contradict each other.
  DUPLICATE_PIPELINE_ID: error("Two documents have one pipeline_id; neither is applied."),
  SHARED_GROUP: error(
    "Two Kafka pipelines of one cluster have one consumer group, by its name or by a hash of the pipeline_id; neither is applied.",
  ),
  DEPENDS_ON: error("Pipelines depend on each other in a cycle."),
  MOVED_FROM: error(
    "A moved_from names the pipeline itself, one that a document describes, or one that another moved_from names.",
  ),
  SOURCE_COUNT: error("There are more sources of a kind than a pipeline can have."),
  SOURCE_MIX: error("Sources of different kinds, or Kafka sources that exclude each other, are in one pipeline."),
  SOURCE_ID: error("A source_id is used twice, or is one that Sluice uses itself."),
  SOURCE_REFERENCE: error("A source_id refers to no source, or to one that cannot have the setting."),
  CONNECTION: error("A connection lacks what its mechanism needs, or a certificate or key is unreadable."),
  HOST: error("The host of the sink is not a host name: a URL, for example, or a name with a port."),
  SYSTEM_DATABASE: error("The database of the sink is one of ClickHouse's own: system or information_schema."),
  FORMAT: error("The schema of an Avro or Protobuf source is incomplete."),
  FIELD_REFERENCE: error("A name is not a field of the events at this place."),
  DUPLICATE_NAME: error("A name that must be unique is used twice."),
  TRANSFORM_COUNT: error("There are more transforms of a kind than a pipeline or a source can have."),
  JOIN: error(
    "A join does not have two sources that it may join, joins by a list or a mapping, or is combined with a transform that it excludes.",
  ),
  MAPPING_EMPTY: error("The sink writes no column."),
  COLUMN_MISMATCH: error("A field cannot feed a column of this type."),
  ALIAS_CONFLICT: error("Two spellings of one setting have different values."),
  STORAGE: error("Storage is set for a source without dedup; only dedup needs it."),
  BROKER: error("The address of a Kafka broker is not of the form host:port or [IPv6]:port."),
  NOT_READY: error(
    "With `sluice validate --resolve`: a secret, a login, a table or a topic of a pipeline is not there, or not as it needs it.",
  ),
  NOT_SUPPORTED: error("The format allows this, but Sluice refuses it; the message says why."),
  NOT_SUPPORTED_YET: error("The format allows this, but this version of Sluice does not support it yet."),
  // The pipeline runs, but perhaps not as intended.
  DEPENDS_ON_MISSING: warning("A depends_on names a pipeline that no file describes."),
  PLAIN_TEXT_SECRET: warning("The file holds a secret as plain text instead of a reference."),
  SECRET_USED: warning(
    "With `sluice validate --base`: a pipeline gets a secret of the machine where Sluice runs that it does not get at the base.",
  ),
  SECRET_REFUSED: warning(
    "A field refers to a secret that the operator does not allow: by `--reference`, else by default. Only `sluice validate` says so.",
  ),
  UNREACHABLE: warning("With `sluice validate --resolve`: a server of a pipeline did not answer."),
  REFERENCE: warning("A text holds `${NAME}`, which is no reference: variables begin with `var:`."),
  NO_PASSWORD: warning("The user of the sink has no password."),
  SASL: warning("Protocol and mechanism of a Kafka connection do not match."),
  TLS: warning("TLS is configured incompletely, or without a check of the certificate."),
  PORT_GUESSED: warning("The HTTP port of ClickHouse is derived from the native one, because http_port is missing."),
  CREATE_TABLE: warning("A table that is to be created has a column with an incomplete type."),
  NULL_REFUSED: warning(
    "A column of a table that is to be created can store nothing for a field that may be null: each event without it becomes a dead letter.",
  ),
  ORDER_BY: warning(
    "With `sluice validate --resolve`: a table that keeps one row of each value of its ORDER BY lacks a column of the dedup key in it.",
  ),
  AT_LEAST_ONCE: warning(
    "With `sluice validate --resolve`: the table, or one that a view of it writes to, does not drop a repeated insert.",
  ),
  PROFILE_SETTINGS: warning(
    "With `sluice validate --resolve`: the settings profile of the sink's user has a setting that may change rows; the message says how.",
  ),
  NULL_BECOMES_ZERO: warning(
    "With `sluice validate --resolve`: a column that is not Nullable and has no DEFAULT stores a zero value for a field that is null or absent.",
  ),
  TABLE_NAME: warning("The name of the table seems to include its database."),
  SHARED_TABLE: warning("Two pipelines write to one table."),
  SHARED_TABLE_MAPPING: warning(
    "Two pipelines write to one table, and their mappings differ: in the type of a column, or in the columns that they write.",
  ),
  ORPHANED_TEST: warning(
    "A file of tests, `NAME.test.yaml`, has no pipeline file `NAME.yaml` beside it, so nothing runs it. Only `sluice validate` says so.",
  ),
  FILE_MOVED: warning("With `sluice validate --base`: a pipeline is in another file than at the base, and runs on."),
  ID_CHANGED: warning(
    "With `sluice validate --base`: a file has another pipeline_id than at the base, which a running Sluice refuses.",
  ),
  TRANSFORM_ORDER: warning("Transforms are not written in the order in which they run: filter, dedup, stateless."),
  FILTER_CONSTANT: warning("A filter keeps every event, or none."),
  EXPRESSION_BRANCH: warning(
    "A part of an expression fails for the events on which it runs: they become dead letters.",
  ),
  EXPRESSION_FIELD: warning(
    "An expression reads a nested field that is not declared, and whose name is like that of one beside it. It is nil for events without it.",
  ),
  JOIN_REPLAY: warning(
    "A join reads both of its topics from their past, and joins by the time of arrival: events meet as they are read.",
  ),
  JOIN_WITHOUT_END: warning("Left events of a join without a match stay buffered without an end."),
  DEDUP_KEY: warning("A dedup key has a type that identifies events poorly."),
  UNUSED: warning("A setting has no effect together with the others, such as a password without authentication."),
  BATCH: warning("Batch size, delay and the limits of the stream do not match."),
  QUANTITY_UNIT: warning("A size has the unit of a fraction of a byte, or is 0."),
  REQUESTS: warning("A component requests more than its limit."),
  TAGS: warning("There are very many tags, or a tag is very long."),
  REPLICAS: warning("A number of replicas has the effect of another number, or is very large."),
  // The conversion of a document of version v2.
  V2_CONVERTED: warning("A document of version v2 runs converted to v3."),
  V2_FILTER: warning("A filter of v2 has another meaning in v3, or was negated."),
  V2_FIELD_ADDED: warning("A field that an expression reads was declared with a guessed type."),
  V2_PASSWORD: warning("A password was decoded from base64, or is not base64."),
  V2_SOURCES: warning("A document of version v2 has no topic that could become a source."),
  V2_DROPPED: warning("A part of a document of version v2 does not exist in v3."),
  // What is worth knowing.
  TOO_MANY_PROBLEMS: info("A document, a file, or all files together have more problems than are shown."),
  NO_EFFECT: info("The format allows this, but it has no effect in one process or with this kind of source or sink."),
  CREATED_ORDER: info(
    "A table that Sluice creates has no ORDER BY with the columns of the dedup key. Only `sluice validate` says so.",
  ),
  CPU_NOT_ENFORCED: info("Amounts of cpu are kept and shown, not enforced. Reported once for a document."),
} as const satisfies Record<string, Meaning>;

export type Code = keyof typeof codes;
