import { pino } from "pino";
import type { DestinationStream } from "pino";
import pretty from "pino-pretty";
import type { Log } from "../../engine/index.ts";

export interface LogOptions {
  format: "text" | "json";
  /** `debug`, `info`, `warn` or `error`. */
  level: string;
  /** Colours for people. */
  colour: boolean;
}

/** The process's log. Lines are written at once, so that the last words of a crash are there. */
export function createLog({ format, level, colour }: LogOptions, destination: DestinationStream): Log {
  const base = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (format === "json") {
    return pino({ ...base, formatters: { level: (label) => ({ level: label }) } }, destination);
  }
  const lines = pretty({ colorize: colour, translateTime: "SYS:HH:MM:ss.l", singleLine: true, destination });
  return pino(base, lines);
}

/** Standard error, written synchronously. */
export function standardError(): DestinationStream {
  return pino.destination({ fd: 2, sync: true });
}
