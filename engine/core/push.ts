/** The signal of a push to an OTLP pipeline. */
export type Signal = "logs" | "traces" | "metrics";

/** How long a request of a sender waits for its turn, in milliseconds: senders give up after 5 or 10 s. */
export const defaultPushMaxWait = 2_000;

/** Who sent a push, and waits for its answer. */
export interface Caller {
  /**
   * Whether nobody reads the answer any more: the connection or the call has ended, or its deadline has passed. Work that
   * was not begun by then is not begun: the sender takes it for lost, and sends it again.
   */
  readonly isGone: boolean;
}

/** The events of one request: they become durable together or not at all, and the request is answered then. */
export interface Push {
  /** The events, each one JSON object in UTF-8, one after the other. */
  bytes: Buffer;
  /** Where each event ends in `bytes`, ascending; the next one starts there. */
  ends: readonly number[];
  /** When Sluice received it, in milliseconds since the epoch. */
  receivedAt: number;
  /** Of an OTLP pipeline, which may have a source for each signal; undefined for a webhook. */
  signal?: Signal;
  /** Undefined where somebody always waits. */
  caller?: Caller;
}
