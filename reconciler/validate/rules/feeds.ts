import { basicType, otlpField, otlpFields, type FieldType, type SchemaField } from "../../../schemas/index.ts";
import { printable } from "../../language/problem.ts";
import type { View } from "../../language/view.ts";

/**
 * The fields of events at a step of the pipeline; undefined if they are not all known, so that no rule reports them.
 */
export interface Feed {
  /** Its name in messages, such as `source "orders"`. */
  name: string;
  fields: ReadonlyMap<string, FieldType | undefined> | undefined;
  /** For an OTLP signal: attributes can be named like fields. */
  signal?: Signal;
}

type Signal = keyof typeof otlpFields;

/** Whether events of the feed have a field of that name. */
export function hasField({ fields, signal }: Feed, name: string): boolean {
  return (fields?.has(name) ?? false) || (signal !== undefined && otlpField(signal, name) !== undefined);
}

/** The type of that field, where it is known. */
export function fieldType({ fields, signal }: Feed, name: string): FieldType | undefined {
  return fields?.get(name) ?? (signal === undefined ? undefined : otlpField(signal, name)?.type);
}

/** The fields of the source called `source_id`: declared in the file, or fixed by the OTLP signal. */
export function sourceFeed(document: View, source_id: string | undefined): Feed {
  const source = document.sources().find((one) => one.get("source_id").text === source_id);
  return source === undefined ? { name: "a source", fields: undefined } : feedOf(source);
}

function feedOf(source: View): Feed {
  const name = `source "${printable(source.get("source_id").text ?? "")}"`;
  const signal = source.get("type").text ?? "";
  if (isSignal(signal)) return { name, signal, fields: new Map(otlpFields[signal].map((one) => [one.name, one.type])) };
  return { name, fields: fieldsOf(declaredFields(source), "name", "type") };
}

/** The list of the fields that a source declares, by either spelling. */
export function declaredFields(source: View): View {
  const own = source.get("schema_fields");
  return own.exists ? own : source.get("schema", "fields");
}

function isSignal(type: string): type is Signal {
  return Object.hasOwn(otlpFields, type);
}

/** What feeds the sink: the join, else for each source its stateless transform, else the source itself. */
export function sinkFeeds(document: View): Feed[] {
  if (joins(document)) return [joinFeed(document)];
  const [stateless] = document.transforms("stateless");
  return document.sources().map((source) => {
    const isTransformed = stateless?.get("source_id").text === source.get("source_id").text;
    return stateless !== undefined && isTransformed ? outputFeed(stateless) : feedOf(source);
  });
}

/** The fields that the sources of the sink declare as `required: false`, with their types; those that reach it as they are. */
export function optionalFields(document: View): Map<string, FieldType> {
  if (joins(document)) return new Map();
  const [stateless] = document.transforms("stateless");
  const sources = document
    .sources()
    .filter((source) => stateless?.get("source_id").text !== source.get("source_id").text);
  const fields = sources.flatMap((source) => declaredFields(source).items());
  return new Map(
    fields.flatMap((field): [string, FieldType][] => {
      const [name, type] = [field.get("name").text, typeNamed(field.get("type").text)];
      return field.get("required").value === false && name !== undefined && type !== undefined ? [[name, type]] : [];
    }),
  );
}

function outputFeed(stateless: View): Feed {
  const outputs = stateless.get("config", "transforms");
  return { name: "the stateless transform", fields: fieldsOf(outputs, "output_name", "output_type") };
}

export function joins(document: View): boolean {
  return document.get("join", "enabled").value === true;
}

/** The fields with their types, if the type of each is known. */
export function typedFields({ fields }: Feed): SchemaField[] | undefined {
  const known: SchemaField[] = [];
  for (const [name, type] of fields ?? []) if (type !== undefined) known.push({ name, type });
  return fields !== undefined && known.length === fields.size ? known : undefined;
}

function joinFeed(document: View): Feed {
  const fields = new Map<string, FieldType | undefined>();
  for (const output of document.get("join", "output_fields").items()) {
    const name = output.get("name").text ?? "";
    const input = sourceFeed(document, output.get("source_id").text);
    fields.set(output.get("output_name").text ?? name, fieldType(input, name));
  }
  return { name: "the join", fields: fields.size === 0 ? undefined : fields };
}

/** Fields by the list that declares them: rules need the same list for each name of a field. */
const known = new WeakMap<object, { fields: Feed["fields"] }>();

function fieldsOf(list: View, nameKey: string, typeKey: string): Feed["fields"] {
  if (!Array.isArray(list.value)) return undefined;
  const seen = known.get(list.value);
  if (seen !== undefined) return seen.fields;
  const fields = readFields(list.items(), nameKey, typeKey);
  known.set(list.value, { fields });
  return fields;
}

/** Characters that the schema allows the name of a declared field: each dot of one is a level of the types. */
const longestName = 1000;

/** Undefined as soon as one name cannot be read: the schema then reports a problem, and no rule should guess. */
function readFields(entries: readonly View[], nameKey: string, typeKey: string): Feed["fields"] {
  const fields = new Map<string, FieldType | undefined>();
  for (const entry of entries) {
    const name = entry.get(nameKey).text;
    if (name === undefined || name.length > longestName) return undefined;
    fields.set(name, typeNamed(entry.get(typeKey).text));
  }
  return fields.size === 0 ? undefined : fields;
}

function typeNamed(name: string | undefined): FieldType | undefined {
  try {
    return name === undefined ? undefined : basicType(name);
  } catch {
    return undefined;
  }
}
