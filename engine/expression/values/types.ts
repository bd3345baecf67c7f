import type { Kind } from "./values.ts";

/**
 * The type of a value, as far as it is known before the run. `integral` is a field declared as an integer: a float at
 * run time, since every number of a record is one, but valid as a position.
 */
export interface Type {
  readonly kind: Kind | "unknown" | "integral";
  /** The type of the items of an array, or of the values of a map without `fields`. */
  readonly item?: Type;
  /** For a map whose keys are all known. */
  readonly fields?: ReadonlyMap<string, Type>;
  /** Whether it may be nil instead; undefined: where the kind is not known. */
  readonly orNil?: boolean;
}

export const unknown: Type = { kind: "unknown" };
export const nil: Type = { kind: "nil" };
export const bool: Type = { kind: "bool" };
export const integer: Type = { kind: "int" };
export const float: Type = { kind: "float" };
export const text: Type = { kind: "string" };
export const map: Type = { kind: "map" };
export const time: Type = { kind: "time" };
export const duration: Type = { kind: "duration" };
export const zone: Type = { kind: "timezone" };
export const month: Type = { kind: "month" };
export const weekday: Type = { kind: "weekday" };

export function arrayOf(item: Type): Type {
  return { kind: "array", item };
}

/** Whether a value may be nil. */
export function mayBeNil({ kind, orNil }: Type): boolean {
  return orNil ?? (kind === "unknown" || kind === "nil");
}

export function isUnknown(type: Type): boolean {
  return type.kind === "unknown";
}

export function isNumber(type: Type): boolean {
  return type.kind === "float" || isWhole(type);
}

/** Whether it is a number without a fraction. */
export function isWhole({ kind }: Type): boolean {
  return kind === "int" || kind === "integral";
}

/** A number with a name. */
export function isNamed({ kind }: Type): boolean {
  return kind === "month" || kind === "weekday";
}

/** The items of an array, the values of a map. */
export function itemOf(type: Type): Type {
  return type.item ?? unknown;
}

/** How a type is named in messages. */
export function named({ kind }: Type): string {
  return kind === "integral" ? "float" : kind;
}
