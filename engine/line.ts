import type { Sink } from "./core/sink.ts";
import type { Transform } from "./core/transform.ts";

/** The steps of one revision of a pipeline, in their order, and the sink behind them. */
export interface Line {
  revision: number;
  /** What drops and refuses events, in its order. */
  transforms: readonly Transform[];
  /** What makes others of those that are left. */
  stateless?: Transform;
  sink: Sink;
}
