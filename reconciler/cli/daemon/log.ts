import { pino } from "pino";
import type { DestinationStream } from "pino";
import { prettyFactory } from "pino-pretty";
import type { Log } from "../../../engine/index.ts";
import { printable } from "../invocation/terminal.ts";

export interface LogOptions {
  format: "text" | "json";
  /** `debug`, `info`, `warn` or `error`. */
  level: string;
  /** Colours for people. */
  colour: boolean;
}

/** The log of the process. Lines are written at once if `destination` is synchronous. */
export function createLog({ format, level, colour }: LogOptions, destination: DestinationStream): Log {
  const base = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (format === "json") {
    return pino({ ...base, formatters: { level: (label) => ({ level: label }) } }, destination);
  }
  const forPeople = prettyFactory({
    colorize: colour,
    translateTime: "SYS:HH:MM:ss.l",
    // Without the fields of the process; ours follow the sentence.
    ignore: "pid,hostname,name",
    hideObject: true,
    messageFormat: sentenceWithFields,
  });
  return pino(base, { write: (line) => destination.write(forPeople(line)) });
}

/** Standard error, written synchronously, so that the last lines before a crash are not lost. */
export function standardError(): DestinationStream {
  return pino.destination({ fd: 2, sync: true });
}

/** The sentence, then `key=value` for each field; a text of several lines follows below, indented. */
function sentenceWithFields({ level: _level, time: _time, msg, ...fields }: Record<string, unknown>): string {
  const entries = Object.entries(fields);
  const short = entries.filter(([, value]) => !isLong(value)).map(([key, value]) => `${key}=${shortText(value)}`);
  const long = entries.filter(([, value]) => isLong(value)).map(([, value]) => indented(String(value)));
  return [[String(msg), ...short].join("  "), ...long].join("\n");
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && value.includes("\n");
}

function shortText(value: unknown): string {
  const text = typeof value === "string" && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
  return printable(text ?? "undefined");
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `    ${printable(line)}`)
    .join("\n");
}
