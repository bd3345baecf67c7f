import type { SchemaField } from "../../../schemas/pipeline.ts";
import { arrayOf, bool, float, map, text, unknown } from "../values/types.ts";
import type { Type } from "../values/types.ts";

const types: Readonly<Record<SchemaField["type"], Type>> = {
  string: text,
  bool,
  int: { kind: "integral" },
  uint: { kind: "integral" },
  float,
  array: arrayOf(unknown),
  map,
};

/**
 * The type of the record: a map of the declared fields, with dotted names as nested maps. If both `user` and `user.id`
 * are declared, `user.id` counts.
 */
export function environment(fields: readonly SchemaField[]): Type {
  const root: Branch = new Map();
  for (const { name, type, required } of fields) {
    declare(root, name.split("."), required === false ? { ...types[type], orNil: true } : types[type]);
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
