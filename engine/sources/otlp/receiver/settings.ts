/** How OTLP is received, for all pipelines together. */
export interface OtlpSettings {
  /** The most requests that are decoded and stored at the same time; others are refused, to be retried. */
  maxConcurrentRequests: number;
}

export const defaultOtlpSettings: OtlpSettings = { maxConcurrentRequests: 50 };
