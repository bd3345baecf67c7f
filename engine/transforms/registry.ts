import type { TransformConfig } from "../../schemas/pipeline.ts";
import type { Transform, TransformTools } from "../core/transform.ts";
import { createDedup } from "./dedup/dedup.ts";
import { createFilter } from "./filter/filter.ts";
import { createStateless } from "./stateless/stateless.ts";

type Type = TransformConfig["type"];
type Create<T extends Type> = (entry: Extract<TransformConfig, { type: T }>, tools: TransformTools) => Transform;

/** One line for each transform that a file may name. */
export const transforms: Readonly<{ [T in Type]: Create<T> }> = {
  filter: createFilter,
  dedup: createDedup,
  stateless: createStateless,
};

/** The transform of an entry. Throws ExpressionError where the entry does not fit the fields. */
export function createTransform(entry: TransformConfig, tools: TransformTools): Transform {
  // The entry has the type of its line.
  const create = transforms[entry.type] as Create<Type>;
  return create(entry, tools);
}
