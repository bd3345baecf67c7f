/**
 * Where log lines go. The text is a constant sentence, the data is in the fields. WARN: nothing is lost. ERROR: an
 * operator must act. A pino logger implements it; only the command line creates one.
 */
export interface Log {
  debug(fields: Record<string, unknown>, sentence: string): void;
  info(fields: Record<string, unknown>, sentence: string): void;
  warn(fields: Record<string, unknown>, sentence: string): void;
  error(fields: Record<string, unknown>, sentence: string): void;
}

/** Where nobody looks: a command that says all in its result. */
export const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
