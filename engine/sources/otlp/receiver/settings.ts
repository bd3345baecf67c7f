/** How OTLP is received, for all pipelines together. */
export interface OtlpSettings {
  /** How long a request waits for its turn to be decoded, in milliseconds; then it is refused, to be retried. */
  maxWait: number;
  /** Whether the header `authorization` is that of a sender, `unknown` where it cannot be checked. Without it, all are. */
  isSender?: (authorization: string | undefined) => Promise<"yes" | "no" | "unknown">;
  /** When a request for a pipeline arrives, in milliseconds since the epoch. Without it, the clock of the machine. */
  arrivalOf?: (pipeline_id: string) => number;
}
