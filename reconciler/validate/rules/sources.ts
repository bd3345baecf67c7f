import { isDeepStrictEqual } from "node:util";
import { consumerGroup, isObject } from "../../../engine/language.ts";
import { readRewind } from "../../../schemas/index.ts";
import { didYouMean, found, kindOf, printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { declaredFields, joins } from "./feeds.ts";
import { lineOf, mustDiffer } from "./references.ts";
import { kindOfSource, kinds, sourcesOf } from "./source-kinds.ts";

/** Rules of `sources[]` (docs/reference/pipeline.md): how many of which kind, and what each requires. */
export const sourceRules: readonly Rule[] = [
  oneKind,
  sourceNames,
  schemaFieldNames,
  originsDiffer,
  kafkaTogether,
  furtherSettings,
];

function* oneKind(document: View): Iterable<Problem> {
  const [first, ...others] = sourcesOf(document, () => true);
  const kind = first && kindOfSource(first);
  if (kind === undefined) return;
  for (const source of others) {
    const type = source.get("type");
    const other = kindOfSource(source);
    // One stream holds the events of both sides of a join, whatever pushes them.
    if (joins(document) && kind.isPushed && other !== kind && other?.isPushed === true) continue;
    if (other !== kind) {
      yield type.problem("SOURCE_MIX", {
        expected: `sources of one kind, here ${kind.name}`,
        found: found(type.value, type.path),
      });
    } else if (kind.origin === undefined) {
      yield source.problem("SOURCE_COUNT", { expected: `only one ${kind.name} source`, found: "another one" });
    }
  }
}

function* sourceNames(document: View): Iterable<Problem> {
  const ids = document.sources().map((source) => source.get("source_id"));
  yield* mustDiffer(ids, "SOURCE_ID", "a source_id that no other source has");
  const pipeline_id = document.get("pipeline_id").text;
  for (const id of ids) {
    if (id.text !== `${pipeline_id}-join` && id.text !== `${pipeline_id}-stateless`) continue;
    yield id.problem("SOURCE_ID", {
      expected: "a source_id that Sluice does not use itself",
      found: found(id.value, id.path),
    });
  }
}

function* schemaFieldNames(document: View): Iterable<Problem> {
  for (const source of document.sources()) {
    const names = declaredFields(source)
      .items()
      .map((field) => field.get("name"));
    yield* mustDiffer(names, "DUPLICATE_NAME", "each field once");
  }
}

/** Settings of a topic, and what no other source has. */
const ofTopics = [
  ["on_tombstone", "tombstones"],
  ["adopt_group", "positions in a consumer group"],
] as const;

/** Keys of `x-sluice.sources` name sources, and some settings are those of a topic. */
function* furtherSettings(document: View): Iterable<Problem> {
  const ids = document.sources().map((source) => source.get("source_id").text ?? "");
  for (const settings of document.get("x-sluice", "sources").members()) {
    const name = String(settings.path.at(-1));
    const source = document.sources().find((one) => one.get("source_id").text === name);
    if (source === undefined) {
      yield settings.problem("SOURCE_REFERENCE", {
        expected: `the source_id of a source (${printable(ids.slice(0, 8).join(", "))})`,
        found: `"${printable(name)}"`,
        suggestion: didYouMean(name, ids),
      });
    } else if (source.get("type").text !== "kafka") {
      for (const [key, what] of ofTopics) {
        const setting = settings.get(key);
        if (setting.exists)
          yield setting.problem("UNUSED", {
            expected: `a Kafka source, which alone has ${what}`,
            found: "another source",
          });
      }
    }
  }
}

/** Events of several sources are distinguished by their origin alone: a topic, or the signal of a request. */
function* originsDiffer(document: View): Iterable<Problem> {
  // Both sides of a join may read one of them.
  if (joins(document)) return;
  for (const { name, origin, isPushed } of kinds) {
    if (origin === undefined) continue;
    const origins = sourcesOf(document, (kind) => kind.name === name).map((source) => source.get(origin.key));
    const expected = `a ${origin.name} that no other source ${isPushed ? "receives" : "reads"}`;
    yield* mustDiffer(origins, "SOURCE_MIX", expected);
  }
}

/** One consumer group reads all topics; the sides of a join may have one each, in two clusters. */
function* kafkaTogether(document: View): Iterable<Problem> {
  const [first, ...others] = document.sources("kafka");
  if (first === undefined) return;
  const connection = first.get("connection_params");
  for (const other of others) {
    const [own, topic] = [other.get("connection_params"), other.get("topic")];
    if (!own.exists || isDeepStrictEqual(given(connection), given(own))) continue;
    if (!joins(document)) {
      yield own.problem("SOURCE_MIX", {
        expected: `the connection of the first source (line ${lineOf(connection)}), as one consumer group reads all topics`,
        found: "another one",
        suggestion: "give it a pipeline of its own, which may write to the same table",
      });
    } else if (!topic.isBlank && topic.text === first.get("topic").text) {
      yield topic.problem("SOURCE_MIX", {
        expected: `a topic with another name than that of the first source, which has another connection (line ${lineOf(connection)}): events are told apart by their topic`,
        found: found(topic.value, topic.path),
        suggestion: "give both sources the same connection_params, if it is one topic of one cluster",
      });
    }
  }
}

/** A connection without values that equal the default. */
function given(connection: View): Record<string, unknown> {
  const defaults: readonly unknown[] = ["", false, "NO_AUTH"];
  const members = connection.members().filter(({ value }) => !defaults.includes(value));
  return Object.fromEntries(members.map(({ path, value }) => [String(path.at(-1)), value]));
}

/** Directives about the position of a Kafka source. */
export const positionRules: readonly Rule[] = [withoutGroup, times, adoptsAnother, rewindsUnread, rewindsOther];

function* withoutGroup(document: View): Iterable<Problem> {
  if (sourcesOf(document, (kind) => kind.hasConsumerGroup).length > 0 || document.sources().length === 0) return;
  for (const key of ["start", "take_over", "consumer_group"]) {
    const directive = document.get("x-sluice", key);
    if (directive.exists)
      yield directive.problem("UNUSED", { expected: "a Kafka source, which alone has positions", found: "none" });
  }
}

/** A pipeline goes on at the offsets of its own group anyway. */
function* adoptsAnother(document: View): Iterable<Problem> {
  const id = document.get("pipeline_id").text ?? "";
  const group = document.get("x-sluice", "consumer_group").text ?? consumerGroup(id);
  for (const settings of document.get("x-sluice", "sources").members()) {
    const adopted = settings.get("adopt_group");
    if (adopted.text !== group) continue;
    yield adopted.problem("VALUE", {
      expected: "another consumer group than the pipeline's own, at whose offsets it goes on anyway",
      found: found(adopted.value, adopted.path),
    });
  }
}

/** The schema checks the form of a time; the 31st of February has that form. */
function* times(document: View): Iterable<Problem> {
  for (const key of ["start", "rewind"]) {
    const directive = document.get("x-sluice", key);
    const text = directive.text ?? "";
    const [, day] = /^(\d{4}-\d\d-\d\d)T/.exec(text) ?? [];
    if (day === undefined || (isDay(day) && !Number.isNaN(Date.parse(text)))) continue;
    yield directive.problem("VALUE", { expected: "a time that exists", found: found(directive.value, directive.path) });
  }
}

/** What is pushed is not kept, and nobody can tell which rows of a join would come again. */
function* rewindsUnread(document: View): Iterable<Problem> {
  const rewind = document.get("x-sluice", "rewind");
  if (!rewind.exists || document.sources().length === 0) return;
  const isRead = sourcesOf(document, (kind) => kind.hasConsumerGroup).length > 0;
  const hasJoin = document.get("join", "enabled").value === true;
  if (isRead && !hasJoin) return;
  yield rewind.problem("VALUE", {
    expected: "a pipeline that reads topics, without a join: of others nobody can tell what would come again",
    found: hasJoin ? "one with a join" : "one whose events are pushed to it",
  });
}

/** Each partition once, of a topic that it reads. */
function* rewindsOther(document: View): Iterable<Problem> {
  const rewind = document.get("x-sluice", "rewind");
  const to = readRewind(rewind.text ?? "");
  const topics = new Set(document.sources("kafka").map((source) => source.get("topic").text));
  // What a variable gives is not known here.
  if (to?.kind !== "offsets" || topics.has(undefined)) return;
  const places = new Set(to.offsets.map(({ topic, partition }) => `${topic}/${partition}`));
  const isKnown = to.offsets.every(({ topic }) => topics.has(topic));
  if (isKnown && places.size === to.offsets.length) return;
  yield rewind.problem("VALUE", {
    expected: isKnown ? "each partition once" : `offsets of topics that it reads (${[...topics].join(", ")})`,
    found: found(rewind.value, rewind.path),
  });
}

function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** Rules of `sources[]` with a `schema` (docs/reference/pipeline.md): what Avro and Protobuf need beside it. */
export const formatRules: readonly Rule[] = [avro, protobuf, registry, idleSchema];

/** Characters of an Avro schema at most; a Protobuf schema is limited by the JSON Schema. */
const longestAvro = 65_536;

function ofFormat(document: View, format: string): View[] {
  return document.sources("kafka").filter((source) => source.get("format").text === format);
}

function* avro(document: View): Iterable<Problem> {
  for (const source of ofFormat(document, "avro")) {
    const file = source.get("schema", "file");
    if (file.isBlank) continue;
    const text = file.text ?? "";
    if (text.length > longestAvro)
      yield file.problem("FORMAT", { expected: `at most ${longestAvro} characters`, found: `${text.length}` });
    else yield* mustBeRecord(file, text);
  }
}

function* mustBeRecord(file: View, text: string): Iterable<Problem> {
  const expected = "an Avro schema: JSON, and a record at the top";
  try {
    const root: unknown = JSON.parse(text);
    const type = isObject(root) ? root["type"] : undefined;
    if (type !== "record")
      yield file.problem("FORMAT", { expected, found: type === undefined ? kindOf(root) : "another type at the top" });
  } catch {
    yield file.problem("FORMAT", { expected, found: "a text that is not JSON" });
  }
}

function* protobuf(document: View): Iterable<Problem> {
  for (const source of ofFormat(document, "protobuf")) {
    const message = source.get("schema", "message_type");
    if (message.isBlank)
      yield message.problem("FORMAT", {
        expected: "the name of the root message, which protobuf needs",
        found: "nothing",
      });
    const file = source.get("schema", "file");
    const at = /^[ \t]*import\b/m.exec(file.text ?? "");
    if (at !== null)
      yield file.problemInside(at.index, "FORMAT", { expected: "a schema without imports", found: "an import" });
  }
}

function* registry(document: View): Iterable<Problem> {
  for (const source of [...ofFormat(document, "avro"), ...ofFormat(document, "protobuf")]) {
    const version = source.get("schema_version");
    if (!source.get("schema_registry").exists || version.exists) continue;
    const expected = "the id of the schema in the registry, which a source with schema_registry needs";
    yield version.problem("FORMAT", { expected, found: "nothing", suggestion: 'add schema_version, such as "1"' });
  }
}

function* idleSchema(document: View): Iterable<Problem> {
  for (const source of document.sources("kafka")) {
    const schema = source.get("schema");
    const format = source.get("format").text ?? "json";
    if (!schema.exists || format !== "json") continue;
    const [file, fields] = [schema.get("file"), schema.get("fields")];
    if (file.exists)
      yield file.problem("UNUSED", { expected: "nothing with format json", found: "a schema that is not used" });
    const isRepeated = isDeepStrictEqual(fields.value, source.get("schema_fields").value);
    if (fields.exists && source.get("schema_fields").exists && !isRepeated)
      yield fields.problem("UNUSED", { expected: "nothing beside schema_fields", found: "fields that are not used" });
  }
}
