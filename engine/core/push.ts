/** The signal of a push to an OTLP pipeline. */
export type Signal = "logs" | "traces" | "metrics";

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
}
