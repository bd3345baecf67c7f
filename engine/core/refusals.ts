/**
 * Why a request of a sender is refused, and nothing of it is stored, with who can do something about it: the operator of
 * Sluice, the sender, or nobody has to, as it passes by itself. A closed set: these are labels of a metric.
 */
export const refusals = {
  /** The disk has less free than the reserve. */
  disk_full: "operator",
  /** The disk fails, or the stream cannot be opened. */
  storage: "operator",
  stream_full: "operator",
  rate_limited: "operator",
  /** It had no turn in time, or there is no room for its bytes. */
  busy: "operator",
  /** The tokens of the operator cannot be read. */
  token_unreadable: "operator",
  /** The pipeline is terminated, or about to be deleted. */
  over: "operator",
  /** A defect. */
  failed: "operator",
  /** The pipeline is between its deletion and its creation. */
  recreating: "nobody",
  /** The sender has gone before its request had its turn. */
  gone: "nobody",
  broken_off: "nobody",
  /** No token, or a wrong one; for a webhook also that there is no such pipeline. */
  no_token: "sender",
  no_header: "sender",
  unknown_pipeline: "sender",
  other_signal: "sender",
  /** Another path, another method, or another host. */
  no_route: "sender",
  malformed: "sender",
  other_type: "sender",
  other_encoding: "sender",
  too_large: "sender",
  /** Its events need more room than a stream, or the memory for one request, can ever have. */
  never_fits: "sender",
  slow: "sender",
} as const satisfies Record<string, "operator" | "sender" | "nobody">;

export type RefusalReason = keyof typeof refusals;

/** Why a request of a sender is refused, and what it is answered. */
export interface RequestRefusal {
  reason: RefusalReason;
  message: string;
}

/** The label of requests that name no pipeline that there is. */
export const unknownPipeline = "unknown";

export function isForOperator(reason: RefusalReason): boolean {
  return refusals[reason] === "operator";
}

/** Requests of senders that were refused for a reason which the operator can do something about. */
export interface RefusedSenders {
  reason: RefusalReason;
  /** How many since `since`, without a pause of five minutes. */
  count: number;
  /** ISO 8601, UTC. */
  since: string;
  /** What the last one was answered. */
  text: string;
}
