import type { Outcome } from "../apply/outcome.ts";
import { hasCalls } from "../plan/change.ts";
import { printPlan } from "../plan/render/index.ts";
import { resultOf } from "./turn.ts";
import type { Trigger, Turn, TurnResult } from "./turn.ts";

/** A turn in the history. */
export interface HistoryEntry {
  /** Absent where none could be fetched. */
  revision?: string;
  author?: string;
  subject?: string;
  trigger: Trigger;
  /** ISO 8601, UTC. */
  started: string;
  seconds: number;
  result: TurnResult;
  /** The plan for people. */
  plan?: string;
  outcomes: Outcome[];
  /** The error that ended the turn, or with which it used the last good revision. */
  error?: string;
}

const kept = 20;

/** The last turns that changed or found something new, newest first, and always the first turn. */
export class History {
  readonly #entries: HistoryEntry[] = [];

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  add(turn: Turn): void {
    const { revision, error, plan, outcomes = [] } = turn;
    const [last] = this.#entries;
    const tellsMore = last?.revision !== revision?.id || last?.error !== error?.message;
    const didSomething = plan !== undefined && outcomes.some(isNews) && hasCalls(plan);
    if (last !== undefined && !tellsMore && !didSomething) return;
    this.#entries.unshift(entryOf(turn));
    this.#entries.splice(kept);
  }

  /** Sets the outcome of a change that was under way at the end of its turn. */
  late(outcome: Outcome): void {
    this.#complete(outcome.pipeline_id, () => outcome);
  }

  /** Sets the outcome of the change under way of this pipeline to replaced. */
  replaced(pipeline_id: string, message: string): void {
    this.#complete(pipeline_id, (outcome) => ({ ...outcome, result: "replaced", message }));
  }

  /** A pipeline has at most one change under way. */
  #complete(pipeline_id: string, end: (outcome: Outcome) => Outcome): void {
    for (const { outcomes } of this.#entries) {
      const index = outcomes.findIndex((one) => one.pipeline_id === pipeline_id && one.result === "under way");
      const outcome = outcomes[index];
      if (outcome === undefined) continue;
      outcomes[index] = end(outcome);
      return;
    }
  }
}

/** Waiting for the next try is not new: it would push all other turns out. */
function isNews({ result }: Outcome): boolean {
  return result !== "waiting" && result !== "refused" && result !== "blocked" && result !== "suspended";
}

function entryOf(turn: Turn): HistoryEntry {
  const { revision, trigger, started, began, plan, outcomes = [], error = turn.fetchError } = turn;
  return {
    ...(revision !== undefined && { revision: revision.id }),
    ...(revision?.author !== undefined && { author: revision.author }),
    ...(revision?.subject !== undefined && { subject: revision.subject }),
    trigger,
    started: started.toISOString(),
    seconds: (performance.now() - began) / 1000,
    result: resultOf(turn),
    ...(plan !== undefined && { plan: printPlan(plan) }),
    outcomes: [...outcomes],
    ...(error !== undefined && { error: error.message }),
  };
}
