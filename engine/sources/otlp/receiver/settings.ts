/** How OTLP is received, for all pipelines together. */
export interface OtlpSettings {
  /** The most requests that are decoded and stored at the same time; others are refused, to be retried. */
  maxConcurrentRequests: number;
  /** Whether the header `authorization` is that of a sender, `unknown` where it cannot be checked. Without it, all are. */
  isSender?: (authorization: string | undefined) => Promise<"yes" | "no" | "unknown">;
  /** When a request for a pipeline arrives, in milliseconds since the epoch. Without it, the clock of the machine. */
  arrivalOf?: (pipeline_id: string) => number;
}

export const defaultOtlpSettings: OtlpSettings = { maxConcurrentRequests: 50 };
