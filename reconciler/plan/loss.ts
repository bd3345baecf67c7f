/** What a change loses for good: its inverse does not restore it. The figures are those at planning. */
export type Loss<Code extends LossCode = LossCode> = {
  [One in Code]: { code: One; facts: LossFacts[One] };
}[Code];

export type LossCode = keyof LossFacts;

export interface LossFacts {
  /** Events that were accepted and not written. */
  AcceptedEvents: { held: number | "unknown"; pending_batches: number };
  DeadLetters: { count: number };
  /** The keys of dedup. `keys`, their number, is absent where it is not known. */
  DedupKeys: { keys?: number };
  /** The events that its join buffers. `events`, their number, is absent where it is not known. */
  JoinEvents: { events?: number };
  /** Rows that its join has made and that are not written. `rows` is absent where their number is not known. */
  JoinRows: { rows?: number };
  /** A generated token. `pipeline_id` where another one is generated, which `sluice token rotate` prints. */
  AccessToken: { pipeline_id?: string };
  /** The old values of secret references whose value has changed. */
  SecretValues: { secrets: string[] };
  /** The committed offsets of its consumer group before the offsets of this run are taken over. */
  GroupPlace: { run: string };
  /** The pipeline had failed; an inverse leaves it Stopped. */
  Failure: Record<string, never>;
  /** Its deletion had begun; an inverse lets it take events. */
  BegunEnd: Record<string, never>;
}
