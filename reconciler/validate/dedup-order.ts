import { dedupFields, type EngineOptions, type Path, type PipelineConfig } from "../../schemas/index.ts";
import { type Place, problem, type Problem } from "../language/problem.ts";

/** A pipeline, and where its fields are written. */
interface Placed {
  config: PipelineConfig;
  options: Pick<EngineOptions, "create_table">;
  place: (path: Path) => Place;
}

/** A table that Sluice creates has no order: the rows of one key are found by a scan of all rows alone. */
export function createdOrder({ config, options, place }: Placed): Problem[] {
  const columns = keyColumns(config);
  if (!options.create_table || columns.length === 0) return [];
  const path = ["x-sluice", "create_table"];
  const names = columns.join(", ");
  return [
    problem("CREATED_ORDER", place(path), {
      path,
      expected: `a table whose ORDER BY has ${names}, by which dedup tells events apart`,
      found: "one that Sluice creates, with ORDER BY tuple()",
      suggestion: `if rows are looked up or merged by ${names}, create the table yourself, with an ORDER BY that has ${names}`,
    }),
  ];
}

/** Engines that keep one row of all that have the same values in ORDER BY. */
const keepsOneRow = /(?:Replacing|Coalescing)MergeTree$/;

/** Two events with different dedup keys must not become rows of which the table keeps one. */
export function foundOrder(
  { config, place }: Placed,
  { engine, order_by }: { engine: string; order_by: readonly string[] },
): Problem[] {
  const lacking = keyColumns(config).filter((name) => !order_by.includes(name));
  if (!keepsOneRow.test(engine) || lacking.length === 0) return [];
  const path = ["sink", "table"];
  const { table, connection_params } = config.sink;
  const [names, order] = [lacking.join(", "), order_by.length === 0 ? "tuple()" : `(${order_by.join(", ")})`];
  return [
    problem("ORDER_BY", place(path), {
      path,
      expected: `a table whose ORDER BY has ${names}, by which dedup tells events apart`,
      found: `${connection_params.database}.${table}, a ${engine} with ORDER BY ${order}, which keeps one row of each value of that`,
      suggestion: `name a table whose ORDER BY has ${names} too, or one with the engine MergeTree`,
    }),
  ];
}

/** The columns of the dedup keys whose fields are all written. A join makes other fields of them. */
function keyColumns({ transforms, join, sink: { mapping } }: PipelineConfig): string[] {
  if (join !== undefined) return [];
  const columnOf = (field: string): string | undefined => mapping.find(({ name }) => name === field)?.column_name;
  const columns = transforms.flatMap((transform) => {
    if (transform.type !== "dedup") return [];
    const found = dedupFields(transform.config.key).map(columnOf);
    return found.includes(undefined) ? [] : found.filter((name) => name !== undefined);
  });
  return [...new Set(columns)];
}
