import type { SchemaField } from "../../../schemas/pipeline.ts";
import { arrayOf, bool, float, map, text, unknown } from "../values/types.ts";
import type { Type } from "../values/types.ts";

const types: Readonly<Record<Exclude<SchemaField["type"], "int" | "uint">, Type>> = {
  string: text,
  bool,
  float,
  array: arrayOf(unknown),
  map,
};

/**
 * The type of the record: a map of the declared fields, with dotted names as nested maps. If both `user` and `user.id`
 * are declared, `user.id` counts. `integers` is what a field declared as an integer is.
 */
export function environment(fields: readonly SchemaField[], integers: Type = { kind: "integral" }): Type {
  const root: Branch = new Map();
  for (const { name, type: declared, required } of fields) {
    const type = declared === "int" || declared === "uint" ? integers : types[declared];
    declare(root, name.split("."), required === false ? { ...type, orNil: true } : type);
  }
  return typed(root);
}

type Branch = Map<string, Branch | Type>;

function declare(branch: Branch, [name, ...below]: readonly string[], type: Type): void {
  if (name === undefined) return;
  const here = branch.get(name);
  if (below.length === 0) {
    if (!(here instanceof Map)) branch.set(name, type);
    return;
  }
  const child: Branch = here instanceof Map ? here : new Map();
  branch.set(name, child);
  declare(child, below, type);
}

function typed(branch: Branch): Type {
  const entries = [...branch].map(([name, value]) => [name, value instanceof Map ? typed(value) : value] as const);
  return { kind: "map", fields: new Map(entries) };
}

/** A record with the zero value of every declared field. */
export function zeroRecord(fields: readonly SchemaField[]): Record<string, unknown> {
  return zero(environment(fields)) as Record<string, unknown>;
}

function zero({ kind, fields }: Type): unknown {
  switch (kind) {
    case "string":
      return "";
    case "bool":
      return false;
    case "array":
      return [];
    case "map":
      return Object.fromEntries([...(fields ?? [])].map(([name, type]) => [name, zero(type)]));
    default:
      return 0;
  }
}
