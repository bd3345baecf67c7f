import { kafkaKeys } from "./decode.ts";
import type { Field } from "./field.ts";
import { copied, leaf, list, mapping, text, withoutComments as silent, type Part } from "./part.ts";
import type { SchemaEntry, Topic } from "./schema-list.ts";
import type { UndeclaredField } from "./undeclared.ts";
import type { Warn } from "./warning.ts";

/** The parts of the document that sources need. */
export interface SourceParts {
  topics: readonly Topic[];
  entries: readonly SchemaEntry[];
  undeclared: readonly UndeclaredField[];
}

/** Keys that v3 does not allow for push sources; other types keep all keys. */
const forbidden = ["topic", "connection_params", "schema_registry"];
const pushed: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^otlp\./, [...forbidden, "schema_fields"]],
  [/^webhook$/, [...forbidden, "consumer_group_initial_offset", "schema_version"]],
];

/** One source for each topic, in their order; none, and a warning, where there is no topic. */
export function sourcesOf(root: Field, parts: SourceParts, warn: Warn): Part {
  const source = root.get("source");
  if (parts.topics.length === 0) withoutTopics(source, warn);
  const sources = parts.topics.map((topic) => sourceOf(source, topic, parts));
  return list(sources, source, [source.get("topics")]);
}

function withoutTopics(source: Field, warn: Warn): void {
  const [type, id] = [source.get("type").text || "kafka", source.get("id").text || "input"];
  const dedup = source.get("deduplication", "enabled").isOn ? ", and a dedup transform for it" : "";
  warn("V2_SOURCES", source.get("topics").exists ? source.get("topics") : source, {
    expected: "topics, each of which becomes a source",
    found: "none: sources is empty",
    suggestion: `add a source to the v3 document, such as { type: ${type}, source_id: ${id} }${dedup}`,
  });
}

function sourceOf(source: Field, { field, source_id, id }: Topic, { entries, undeclared }: SourceParts): Part {
  const members = {
    type: text(source.get("type")),
    source_id: id.path.at(-1) === "id" ? leaf(source_id, id) : silent(leaf(source_id, id)),
    topic: text(field.get("name")),
    consumer_group_initial_offset: text(field.get("consumer_group_initial_offset")),
    schema_version: text(field.get("schema_version")),
    schema_registry: registryOf(field.get("schema_registry")),
    connection_params: connectionOf(source.get("connection_params")),
    schema_fields: fieldsOf(
      entries.filter((one) => one.source_id === source_id),
      undeclared.filter((one) => one.source_id === source_id),
      field,
    ),
  };
  const [, without = []] = pushed.find(([type]) => type.test(source.get("type").text.trim().toLowerCase())) ?? [];
  const allowed = Object.entries(members).filter(([key]) => !without.includes(key));
  return mapping(Object.fromEntries(allowed), field);
}

function registryOf(registry: Field): Part | undefined {
  if (registry.get("url").text === "") return undefined;
  const members = ["url", "api_key", "api_secret"].map((key) => [key, text(registry.get(key))] as const);
  return mapping(Object.fromEntries(members), registry);
}

/** Without empty texts, which mean the same as missing keys. */
function connectionOf(connection: Field): Part | undefined {
  if (!connection.exists) return undefined;
  const given = kafkaKeys.filter((key) => connection.get(key).value !== "");
  return mapping(Object.fromEntries(given.map((key) => [key, copied(connection.get(key))])), connection);
}

function fieldsOf(
  declared: readonly SchemaEntry[],
  undeclared: readonly UndeclaredField[],
  topic: Field,
): Part | undefined {
  const parts = [
    ...each(declared).map(({ name, type, field }) => mapping({ name: text(name), type: text(type) }, field)),
    ...undeclared.map(({ name, type, field }) =>
      silent(mapping({ name: silent(leaf(name, field)), type: silent(leaf(type, field)) }, field)),
    ),
  ];
  const within = declared[0]?.within ?? [];
  return parts.length === 0 ? undefined : list(parts, within.at(-1) ?? topic, within.slice(0, -1));
}

/** Each field once, even if it feeds several columns. */
function each(entries: readonly SchemaEntry[]): SchemaEntry[] {
  const byMeaning = new Map<string, SchemaEntry>();
  for (const entry of entries) {
    const meaning = JSON.stringify([entry.name.text, entry.type.text]);
    if (!byMeaning.has(meaning)) byMeaning.set(meaning, entry);
  }
  return [...byMeaning.values()];
}
