import type { Call } from "../plan/calls.ts";
import type { Change } from "../plan/change.ts";
import type { Outcome } from "./outcome.ts";

/** What happens while changes are applied. The implementation, which logs and counts, is the telemetry of the status. */
export interface ApplyTelemetry {
  callEnded(call: Call, result: "success" | "error", seconds: number): void;
  changeEnded(change: Change, outcome: Outcome): void;
  /** A pipeline drifted so often that its drift is no longer corrected. */
  fightBegan(change: Change): void;
  /** A webhook token was generated for a new pipeline. */
  tokenGenerated(pipeline_id: string): void;
  inventoryNotSaved(error: unknown): void;
  journalNotSaved(error: unknown): void;
  historyNotSaved(error: unknown): void;
}
