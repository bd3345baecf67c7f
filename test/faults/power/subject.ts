import type { Daemon } from "../../../examples/quickstart/daemon.ts";

/** How much is sent. */
export type Pace = "dense" | "slow";

/** What was sent to a pipeline and what is in its table, by events or, of OTLP, by requests. */
export interface Found {
  accepted: number;
  rows: number;
  /** How many were accepted and are not there; are there more often than they may be; are there and were never sent, or differ. */
  lost: number;
  doubled: number;
  strangers: number;
  /** Some of these, by name. */
  named: string[];
}

/** A pipeline and its load, which goes on while its machine loses its power and is started again. */
export interface PowerSubject {
  readonly name: string;
  readonly pipeline_id: string;
  readonly file: string;
  /** Begins to send. The daemon has the pipeline. */
  begin(): void;
  /** Sends nothing new; resolves when what is under way is answered. */
  stop(): Promise<void>;
  /** Ends at once, whatever is under way. */
  giveUp(): Promise<void>;
  /** Whether everything that was sent is a row, or dropped on purpose. */
  isSettled(daemon: Daemon): Promise<boolean>;
  find(daemon: Daemon): Promise<Found>;
}
