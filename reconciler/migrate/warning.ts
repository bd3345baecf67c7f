import type { Path } from "../../schemas/index.ts";
import type { Code } from "../language/codes.ts";
import { type Finding, type Place, type Problem, problem } from "../language/problem.ts";
import type { Field } from "./field.ts";

/** A remark about a field of the v2 document, without its place in the file. */
export interface Remark {
  code: Code;
  finding: Finding & { path: Path };
}

/** Receives the remarks of a conversion. */
export type Warn = (code: Code, field: Field, finding: Omit<Finding, "path">) => void;

/**
 * What the author of a v2 document must add to the v3 one, or check in it. `path` names a field of the v2 document;
 * where `severity` is `error`, one of the v3 document, which is not valid without it.
 */
export type Warning = Omit<Problem, keyof Place>;

/** The place of a problem without a file. */
export const nowhere: Place = { file: "", line: 1, column: 1 };

export function withoutPlace({ file: _file, line: _line, column: _column, ...said }: Problem): Warning {
  return said;
}

/** One reason why a v2 document cannot be converted. */
export type Obstacle = Omit<Finding, "path"> & { path: Path };

/**
 * A v2 document that cannot be converted (docs/pipelines.md, Files of version v2). `undecodable`: it is not of the
 * types of version v2, as the message says field by field; `join`: it is, but its join has no left and right side.
 */
export class MigrationError extends Error {
  readonly reason: "undecodable" | "join";
  /** In the order of the document; the message joins them. */
  readonly obstacles: readonly Obstacle[];

  constructor(reason: MigrationError["reason"], obstacles: readonly Obstacle[]) {
    super(obstacles.map((one) => problem("V2_NOT_RUN", nowhere, one).message).join("; "));
    this.name = new.target.name;
    this.reason = reason;
    this.obstacles = obstacles;
  }
}
