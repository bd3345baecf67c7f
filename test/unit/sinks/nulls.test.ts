import { expect, test } from "vitest";
import { canFeed } from "../../../engine/sinks/clickhouse/columns/feeding.ts";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import { storesNull } from "../../../engine/sinks/clickhouse/columns/nulls.ts";
import { RowEncoder } from "../../../engine/sinks/clickhouse/encode/row-encoder.ts";
import { Event } from "../../../engine/event/event.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { encoded } from "../../support/encoded.ts";

const fields: readonly FieldType[] = ["string", "bool", "int", "uint", "float", "array", "map"];
const columns = [
  "Bool | Int8 | UInt256 | Float64 | BFloat16 | Decimal(18, 2) | String | FixedString(2) | UUID | IPv4 | IPv6 | Enum8 | Enum8('a' = 1)",
  "Enum8('' = 1) | Enum8('a' = 0) | Date | Date32 | DateTime | DateTime64(3) | Time | Time64(3) | Array(UUID) | Map(String, UUID) | JSON",
  "Tuple(Int8, UUID) | Tuple(a Enum8('a' = 1)) | Tuple(a Nullable(Enum8('a' = 1))) | Tuple(Enum8('a' = 1), Int8) | Point | Geometry | Dynamic",
  "Variant(Int8, UUID) | Nullable(UUID) | LowCardinality(UUID) | LowCardinality(Nullable(UUID)) | Nullable(JSON) | JSON(a UUID)",
].flatMap((line) => line.split(" | "));

/** Whether the row of an event without the field is made. */
function isWritten(type: FieldType, column_type: string): boolean {
  const schema = [{ name: "f", type, required: false as const }];
  const encoder = new RowEncoder([{ name: "f", column_name: "c", column_type }], schema);
  return encoded(encoder, [new Event(1, 0, Buffer.from("{}"))]).rejected.length === 0;
}

test("a column stores something for null exactly where its row is made", () => {
  const pairs = columns.flatMap((text) => {
    const column = parseColumnType(text);
    if (isProblem(column)) throw new Error(column.problem);
    return fields
      .filter((field) => canFeed(field, column) === true)
      .map((field) => ({
        pair: `${field} ${text}`,
        stores: storesNull(field, column),
        isMade: isWritten(field, text),
      }));
  });
  expect(pairs.filter(({ stores, isMade }) => stores !== isMade)).toEqual([]);
  expect(pairs.filter(({ stores }) => !stores).length).toBeGreaterThan(15);
  expect(pairs.length).toBeGreaterThan(70);
});
