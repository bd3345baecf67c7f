/** How OTLP is received, for all pipelines together. */
export interface OtlpSettings {
  /** Requests that are decoded and stored at once; more are refused, to be sent again. */
  maxConcurrentRequests: number;
}

export const defaultOtlpSettings: OtlpSettings = { maxConcurrentRequests: 50 };
