import { columnTypeText } from "./column-type.ts";
import type { ArrayType, ColumnType, TupleType } from "./column-type.ts";

const number: ColumnType = { kind: "Float", bits: 64 };
const point: TupleType = { kind: "Tuple", elements: [number, number], alias: "Point" };

function arrayOf(of: ColumnType, alias: string): ArrayType {
  return { kind: "Array", of, alias };
}

const line = arrayOf(point, "LineString");
const ring = arrayOf(point, "Ring");
const polygon = arrayOf(ring, "Polygon");
const shapes: readonly ColumnType[] = [
  line,
  arrayOf(line, "MultiLineString"),
  arrayOf(polygon, "MultiPolygon"),
  point,
  polygon,
  ring,
];

/** The types of shapes on a plane, by their names: ClickHouse stores them as tuples and arrays. */
export const geometries: ReadonlyMap<string, ColumnType> = new Map<string, ColumnType>([
  ...shapes.map((shape) => [columnTypeText(shape), shape] as const),
  ["Geometry", { kind: "Variant", types: shapes, alias: "Geometry" }],
]);
