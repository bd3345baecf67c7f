import type { Parameter } from "./catalog.ts";
import type { Type } from "./types.ts";
import type { Kind } from "./values.ts";

interface Rule {
  /** Kinds that are taken at run time; undefined takes all. */
  readonly kinds: ReadonlySet<Kind> | undefined;
  /** Whether a field declared as an integer passes the check: it is a float that holds an integer. */
  readonly integral: boolean;
  /** In messages. */
  readonly expected: string;
  /** Looked at by the check alone. */
  readonly checkOnly?: true;
}

const rules: Readonly<Record<Parameter, Rule>> = {
  any: { kinds: undefined, integral: true, expected: "a value" },
  string: { kinds: new Set<Kind>(["string"]), integral: false, expected: "a text" },
  number: { kinds: new Set<Kind>(["int", "float"]), integral: true, expected: "a number" },
  int: { kinds: new Set<Kind>(["int"]), integral: false, expected: "an integer" },
  position: { kinds: new Set<Kind>(["int", "float"]), integral: true, expected: "an integer" },
  array: { kinds: new Set<Kind>(["array"]), integral: false, expected: "an array" },
  map: { kinds: new Set<Kind>(["map"]), integral: false, expected: "a map" },
  sized: { kinds: new Set<Kind>(["string", "array", "map"]), integral: false, expected: "a text, an array or a map" },
  convertible: { kinds: new Set<Kind>(["string", "int", "float"]), integral: true, expected: "a number or a text" },
  container: {
    kinds: new Set<Kind>(["nil", "array", "map", "string"]),
    integral: false,
    expected: "an array or a map",
  },
  items: { kinds: new Set<Kind>(["nil", "array"]), integral: false, expected: "an array", checkOnly: true },
  numbers: {
    kinds: new Set<Kind>(["nil", "array", "int", "float"]),
    integral: true,
    expected: "a number or an array of numbers",
    checkOnly: true,
  },
  zone: { kinds: new Set<Kind>(["timezone"]), integral: false, expected: "a time zone" },
};

/** Whether a value has to be looked at when the function is called. */
export function isGuarded(parameter: Parameter): boolean {
  return rules[parameter].kinds !== undefined && rules[parameter].checkOnly !== true;
}

/** Whether a value of this kind is taken. */
export function takes(parameter: Parameter, kind: Kind): boolean {
  return rules[parameter].kinds?.has(kind) ?? true;
}

/** Whether a value of this type may be taken: what is not known is decided at run time. */
export function mayTake(parameter: Parameter, type: Type): boolean {
  if (type.kind === "unknown") return true;
  return type.kind === "integral" ? rules[parameter].integral : takes(parameter, type.kind);
}

export function expected(parameter: Parameter): string {
  return rules[parameter].expected;
}
