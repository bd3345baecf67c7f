import { hasAccessToken, isPushed } from "../../../engine/language.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { doesSomething } from "../change.ts";
import type { Action, Change } from "../change.ts";
import type { Cost } from "../cost.ts";
import { unwrittenOf } from "../decide/ending.ts";
import { eventCosts, nonZero } from "./event-costs.ts";

/**
 * What a change means for events, rows and senders, and then how it is carried out; `desired` is absent where no valid
 * file has the pipeline.
 */
export function costsOf(change: Change, present?: ActualPipeline, desired?: DesiredPipeline): Cost[] {
  const { kind, pipeline_id } = change;
  if (!doesSomething(change)) return [];
  if (kind === "create") return tokenMade(desired);
  if (present === undefined) return [];
  if (kind === "delete") return endOf(pipeline_id, present);
  if (desired === undefined) return [];
  if (kind === "recreate") {
    return [{ code: "DeadLettersDropped", facts: nonZero({ count: present.dead_letters }) }, ...joinDropped(present)];
  }
  return [
    ...sendersMoved(change, present),
    ...eventCosts(change, present, desired),
    ...endingsOf(change, present),
    ...pauseOf(change, present),
  ];
}

function sendersMoved({ pipeline_id: to, moved_from: from, calls }: Action, { config }: ActualPipeline): Cost[] {
  const isMoved = from !== undefined && calls.includes("move") && isPushed(config);
  return isMoved ? [{ code: "SendersMove", facts: { from, to } }] : [];
}

function tokenMade(desired: DesiredPipeline | undefined): Cost[] {
  if (desired === undefined || !hasAccessToken(desired.config)) return [];
  const { pipeline_id, options } = desired;
  return options.access_token === undefined ? [{ code: "TokenMade", facts: { pipeline_id } }] : [];
}

function endOf(pipeline_id: string, present: ActualPipeline): Cost[] {
  const { config, status, dead_letters: count } = present;
  const isDropped = status === "Terminated";
  return [
    ...joinDropped(present),
    ...(isPushed(config) && !isDropped ? [sendersRefused] : []),
    ...(isDropped ? [] : [{ code: "DeadLettersFirst" as const, facts: { pipeline_id, ...nonZero({ count }) } }]),
  ];
}

const sendersRefused: Cost = { code: "SendersRefused", facts: {} };

/** A Terminated pipeline has dropped it already. */
function joinDropped({ config, status, join }: ActualPipeline, rows?: number): Cost[] {
  if (config.join === undefined || status === "Terminated") return [];
  return [{ code: "JoinDropped", facts: nonZero({ events: join?.events, rows }) }];
}

/** How the change is carried out on a pipeline that runs. */
function pauseOf({ calls }: Action, present: ActualPipeline): Cost[] {
  const { config, status } = present;
  if (status !== "Running") return [];
  if (!calls.includes("stop")) return calls.includes("terminate") ? [] : [{ code: "AppliedLive", facts: {} }];
  if (!calls.includes("resume")) return [];
  const writes = unwrittenOf(present);
  const isWriting = writes.held !== 0 || writes.pending_batches > 0 || writes.rows !== undefined;
  return [{ code: "Drains", facts: { waits: isPushed(config) ? "stream" : "topic", ...(isWriting && { writes }) } }];
}

/** What it means that it does not run any more. */
function endingsOf({ calls }: Action, present: ActualPipeline): Cost[] {
  const { config, status, held, lag, join } = present;
  const dropped = calls.includes("terminate") ? joinDropped(present, join?.rows) : [];
  if (status !== "Running" || calls.includes("resume")) return dropped;
  if (calls.includes("terminate") && isPushed(config))
    return [{ code: "EventsDropped", facts: nonZero({ held }) }, sendersRefused];
  const isStopped = calls.includes("stop") || calls.includes("terminate");
  return isStopped && !isPushed(config) ? [...dropped, { code: "ReadingStops", facts: nonZero({ lag }) }] : dropped;
}
