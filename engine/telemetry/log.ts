/**
 * Where log lines go. The text is a constant sentence, the data is in the fields. WARN: nothing is lost. ERROR:
 * an operator must act. A pino logger fits; only the command line makes one.
 */
export interface Log {
  debug(fields: Record<string, unknown>, sentence: string): void;
  info(fields: Record<string, unknown>, sentence: string): void;
  warn(fields: Record<string, unknown>, sentence: string): void;
  error(fields: Record<string, unknown>, sentence: string): void;
}
