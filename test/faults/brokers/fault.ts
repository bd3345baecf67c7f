import type { BrokerScene } from "./scene.ts";
import type { PipelineAudit, PipelinePlan } from "./watched-pipeline.ts";

/** A kind of fault: what is done under load, and how often. */
export interface BrokerFault {
  name: string;
  /** How often, of the 200 faults of the long form. */
  times: number;
  plans: readonly PipelinePlan[];
  /** Flags of Sluice beside the usual ones. */
  flags?: readonly string[];
  /** Whether the faults meet one and the same pipeline, as those that leave nothing behind may; else each has its own. */
  isRepeated?: boolean;
  /** How long it may take until all is read, in milliseconds. */
  patience?: number;
  befall: (scene: BrokerScene) => Promise<void>;
  /** What Sluice has to have counted, and has not: a sentence each. */
  account?: (audit: PipelineAudit) => string[];
}

/** Replicated so that the loss of one broker loses nothing. */
export const safe: PipelinePlan = {
  topic: { partitions: 4, replicas: 3, config: { "min.insync.replicas": "2" } },
  perSecond: 50,
  acks: "all",
};
