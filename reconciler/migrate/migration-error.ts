import type { Path } from "../../schemas/index.ts";
import { problem, type Finding } from "../validate/problem.ts";
import { nowhere } from "./warning.ts";

/** One thing that keeps a v2 document from being converted. */
export type Obstacle = Omit<Finding, "path"> & { path: Path };

/**
 * A v2 document that cannot be converted (specification, v2 and migration, section 3). `undecodable`: it is not of the
 * types of version v2, as the message says field by field; `join`: it is, but its join has no left and right side.
 */
export class MigrationError extends Error {
  readonly reason: "undecodable" | "join";
  /** In the order of the document; the message is their sentences. */
  readonly obstacles: readonly Obstacle[];

  constructor(reason: MigrationError["reason"], obstacles: readonly Obstacle[]) {
    super(obstacles.map((one) => problem("V2_NOT_RUN", nowhere, one).message).join("; "));
    this.name = new.target.name;
    this.reason = reason;
    this.obstacles = obstacles;
  }
}
