import { basicType, type FieldType } from "../../../schemas/index.ts";
import { printable } from "../problem.ts";
import type { View } from "../view.ts";

/** The fields that events have somewhere on their way; undefined where something is not known, so that nothing is claimed. */
export interface Feed {
  /** How a message calls it, such as `source "orders"`. */
  name: string;
  fields: ReadonlyMap<string, FieldType | undefined> | undefined;
}

/** The declared fields of the source called `source_id`. OTLP fields are fixed by the signal and not listed in the file. */
export function sourceFeed(document: View, source_id: string | undefined): Feed {
  const source = document
    .get("sources")
    .items()
    .find((one) => one.get("source_id").text === source_id);
  return source === undefined ? { name: "a source", fields: undefined } : feedOf(source);
}

function feedOf(source: View): Feed {
  const declared = source.get("schema_fields").items();
  return {
    name: `source "${printable(source.get("source_id").text ?? "")}"`,
    fields: fieldsOf(declared, "name", "type"),
  };
}

/** What feeds the sink: the join, else for each source its stateless transform, else the source itself. */
export function sinkFeeds(document: View): Feed[] {
  if (joins(document)) return [joinFeed(document)];
  const transforms = document.get("transforms").items();
  const stateless = transforms.find((one) => one.get("type").text === "stateless");
  const sources = document.get("sources").items();
  return sources.map((source) => {
    const isTransformed = stateless?.get("source_id").text === source.get("source_id").text;
    return stateless !== undefined && isTransformed ? outputFeed(stateless) : feedOf(source);
  });
}

function outputFeed(stateless: View): Feed {
  const outputs = stateless.get("config", "transforms").items();
  return { name: "the stateless transform", fields: fieldsOf(outputs, "output_name", "output_type") };
}

export function joins(document: View): boolean {
  return document.get("join", "enabled").value === true;
}

function joinFeed(document: View): Feed {
  const fields = new Map<string, FieldType | undefined>();
  for (const output of document.get("join", "output_fields").items()) {
    const name = output.get("name").text ?? "";
    const { fields: inputs } = sourceFeed(document, output.get("source_id").text);
    fields.set(output.get("output_name").text ?? name, inputs?.get(name));
  }
  return { name: "the join", fields: fields.size === 0 ? undefined : fields };
}

/** Undefined as soon as one name cannot be read: then the schema has something to say, and no rule should guess. */
function fieldsOf(entries: readonly View[], nameKey: string, typeKey: string): Feed["fields"] {
  const fields = new Map<string, FieldType | undefined>();
  for (const entry of entries) {
    const name = entry.get(nameKey).text;
    if (name === undefined) return undefined;
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
