import type { FieldType } from "../../schemas/pipeline.ts";

/** For each type of a field a column that takes all of its values. */
export const columnOfField: Readonly<Record<FieldType, string>> = {
  string: "String",
  bool: "Bool",
  int: "Int64",
  uint: "UInt64",
  float: "Float64",
  array: "String",
  map: "String",
};
