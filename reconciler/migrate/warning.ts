import type { Path } from "../../schemas/index.ts";
import type { Code } from "../validate/codes.ts";
import type { Finding, Place, Problem } from "../validate/problem.ts";
import type { Field } from "./field.ts";

/** What a conversion says about a field of the v2 document, before anybody asks where that is written. */
export interface Remark {
  code: Code;
  finding: Finding & { path: Path };
}

/** Takes the remarks of a conversion. */
export type Warn = (code: Code, field: Field, finding: Omit<Finding, "path">) => void;

/**
 * What the author of a v2 document must add to the v3 one, or check in it. `path` names a field of the v2 document;
 * where `severity` is `error`, one of the v3 document, which is not valid without it.
 */
export type Warning = Omit<Problem, keyof Place>;

/** Stands where a problem has no file. */
export const nowhere: Place = { file: "", line: 1, column: 1 };

export function withoutPlace({ file: _file, line: _line, column: _column, ...said }: Problem): Warning {
  return said;
}
