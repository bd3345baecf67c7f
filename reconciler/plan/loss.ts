/** Something that a change takes away for good: its inverse does not bring it back. The figures are those of the plan. */
export type Loss<Code extends LossCode = LossCode> = {
  [One in Code]: { code: One; facts: LossFacts[One] };
}[Code];

export type LossCode = keyof LossFacts;

export interface LossFacts {
  /** Events that were accepted and not written. */
  AcceptedEvents: { held: number; pending_batches: number };
  DeadLetters: { count: number };
  /** What dedup remembers. `keys` is absent where that is not known. */
  DedupKeys: { keys?: number };
  /** A generated token. `pipeline_id` where another one is generated, which `sluice token rotate` prints. */
  AccessToken: { pipeline_id?: string };
  /** Values that the pipeline runs with, of references whose value is another one by now. */
  SecretValues: { secrets: string[] };
  /** How far its consumer group was before this run's place in it is taken over. */
  GroupPlace: { run: string };
  /** It had failed; an inverse leaves it Stopped. */
  Failure: Record<string, never>;
  /** Its end had begun; an inverse lets it take events. */
  BegunEnd: Record<string, never>;
}
