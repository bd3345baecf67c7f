import { decode } from "./decode.ts";
import type { Field } from "./field.ts";
import { joinOf, joinOutputs, sidesOf } from "./join.ts";
import { copied, leaf, mapping, text, type MapPart, type Part } from "./part.ts";
import { resourcesOf } from "./resources.ts";
import { isReviewed, markedForReview, transformsOf } from "./transforms.ts";
import { fieldKey, type SchemaEntry, schemaList, topicsOf } from "./schema-list.ts";
import { sinkOf } from "./sink.ts";
import { sourcesOf } from "./sources.ts";
import { undeclaredFields } from "./undeclared.ts";
import type { Remark, Warn } from "./warning.ts";

export interface MigrateOptions {
  /**
   * Negates the filter, so that the pipeline keeps its behaviour. Default false: the text stays, and its meaning is
   * inverted.
   */
  keepBehaviour?: boolean;
}

/** A v2 document in v3. */
export interface Conversion {
  root: MapPart;
  /** The same, marked for review if it has a filter that was not reviewed yet. */
  marked: MapPart;
  /** Remarks for the author, in no order. */
  remarks: Remark[];
}

/**
 * Converts a v2 document (docs/pipelines.md, Files of version v2). Does not check that the result is a valid v3
 * document. Changes nothing in `document`. Throws MigrationError, and nothing else.
 */
export function convert(document: unknown, { keepBehaviour = false }: MigrateOptions = {}): Conversion {
  const remarks: Remark[] = [];
  const warn: Warn = (code, { path }, finding) => void remarks.push({ code, finding: { ...finding, path } });
  const root = decode(document);
  const sides = sidesOf(root);
  const topics = topicsOf(root);
  const entries = schemaList(root, topics);
  const undeclared = undeclaredFields(root, topics, entries, warn);
  const outputs = sides && joinOutputs(entries, columnFinder(root), warn);
  const members = {
    version: leaf("v3", root.get("version")),
    pipeline_id: text(root.get("pipeline_id")),
    name: text(root.get("name")),
    sources: sourcesOf(root, { topics, entries, undeclared }, warn),
    transforms: transformsOf(root, topics, keepBehaviour, warn),
    join: sides && outputs && joinOf(root, sides, outputs),
    sink: sinkOf(root, entries, outputs, warn),
    metadata: metadataOf(root.get("metadata")),
    resources: resourcesOf(root, topics, sides, warn),
    "x-sluice": copied(root.get("x-sluice")),
  };
  const converted = mapping(members, root);
  const filter = root.get("filter");
  const waits = filter.get("enabled").isOn && !keepBehaviour && !isReviewed(root);
  return { root: converted, marked: waits ? markedForReview(converted, filter) : converted, remarks };
}

/** The column of a field: its own, else that of the oldest mapping. */
function columnFinder(root: Field): (entry: SchemaEntry) => Field {
  const tables = root.get("sink", "mapping").items().length > 0 ? [] : root.get("sink", "table_mapping").items();
  const columns = new Map<string, Field>();
  for (const one of tables) {
    const key = fieldKey(one.get("source_id").text, one.get("field_name").text);
    if (!columns.has(key)) columns.set(key, one.get("column_name"));
  }
  return ({ source_id, name, column_name }) => {
    return column_name.text === "" ? (columns.get(fieldKey(source_id, name.text)) ?? column_name) : column_name;
  };
}

function metadataOf(metadata: Field): Part | undefined {
  if (!metadata.exists) return undefined;
  return mapping({ tags: copied(metadata.get("tags")) }, metadata);
}
