import type { FieldType } from "../../../../schemas/pipeline.ts";
import { bare, type ColumnType, isNullable } from "./column-type.ts";

/**
 * Whether a column without a DEFAULT stores something for a field that is null or absent: NULL, or the zero of the
 * field's type, or of the column's for an array or a map. The pair must have passed `canFeed`.
 */
export function storesNull(field: FieldType, column: ColumnType): boolean {
  if (isNullable(column)) return true;
  const type = bare(column);
  if (field === "array" || field === "map") return hasZero(type);
  if (type.kind === "Enum" && type.members !== undefined)
    return field === "string" ? type.members.has("") : hasZero(type);
  return field !== "string" || ["String", "FixedString", "Enum", "Dynamic"].includes(type.kind);
}

/** Whether the column's type has a zero: an Enum has one where a member has the number 0, a Tuple where its elements have. */
function hasZero(type: ColumnType): boolean {
  if (isNullable(type)) return true;
  const inner = bare(type);
  if (inner.kind === "Tuple") return inner.elements.every(hasZero);
  return inner.kind !== "Enum" || inner.members === undefined || [...inner.members.values()].includes(0);
}
