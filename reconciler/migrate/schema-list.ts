import type { Field } from "./field.ts";

/** One field of the events of a source. */
export interface SchemaEntry {
  source_id: string;
  name: Field;
  type: Field;
  column_name: Field;
  column_type: Field;
  field: Field;
  /** The lists that contain it, the innermost last. */
  within: readonly Field[];
}

/**
 * The one list that serves wire schema, join and mapping: `schema.fields`, and for a topic without fields there, the
 * topic's own `schema_fields`, else its `schema.fields`.
 */
export function schemaList(root: Field, topics: readonly Topic[]): SchemaEntry[] {
  const schema = root.get("schema");
  const listed = entriesOf([schema, schema.get("fields")], (field) => field.get("source_id").text);
  const known = new Set(listed.map(({ source_id }) => source_id));
  const older = topics
    .filter(({ source_id }) => !known.has(source_id))
    .flatMap(({ source_id, field }) => entriesOf(ownLists(field), () => source_id));
  return [...listed, ...older];
}

function ownLists(topic: Field): Field[] {
  const [fields, schema] = [topic.get("schema_fields"), topic.get("schema")];
  return fields.items().length > 0 ? [fields] : [schema, schema.get("fields")];
}

function entriesOf(within: readonly Field[], idOf: (field: Field) => string): SchemaEntry[] {
  const fields = within.at(-1)?.items() ?? [];
  return fields.map((field) => {
    const [name, type] = [field.get("name"), field.get("type")];
    const [column_name, column_type] = [field.get("column_name"), field.get("column_type")];
    return { source_id: idOf(field), name, type, column_name, column_type, field, within };
  });
}

/** The key of a field: its source and its name. */
export function fieldKey(source_id: string, name: string): string {
  return JSON.stringify([source_id, name]);
}

/** A topic of a v2 source, which becomes a source of its own. */
export interface Topic {
  /** Its `id`, or its `name` where that is empty. */
  source_id: string;
  /** The place of the source_id. */
  id: Field;
  field: Field;
}

export function topicsOf(root: Field): Topic[] {
  return root
    .get("source", "topics")
    .items()
    .map((field) => {
      const id = field.get(field.get("id").text === "" ? "name" : "id");
      return { source_id: id.text, id, field };
    });
}

/** The source that a transform works on: the one that it names, else the first. */
export function sourceOf(named: Field | undefined, topics: readonly Topic[], otherwise: Field): [string, Field] {
  if (named !== undefined && named.text !== "") return [named.text, named];
  const [first] = topics;
  return [first?.source_id ?? "", first?.id ?? otherwise];
}
