import type { Settings } from "./settings.ts";
import { printableLines, type Terminal } from "./terminal.ts";

/** The context of every command. */
export interface Context {
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  /**
   * For a command that runs until it is stopped: from this call on, a stop signal aborts the returned signal and does
   * not kill the process.
   */
  untilStopped(): AbortSignal;
}

export interface Invocation extends Context {
  settings: Settings;
  /** The file that settings were read from; absent where there is none. */
  settingsFile?: string;
}

/** 0: nothing to report; 1: an error, or something invalid; 2: there are changes, or not all is ready; 3: out of time. */
export type ExitCode = 0 | 1 | 2 | 3;

/** Prints `value` as the setting `output` asks: as JSON for machines, or as `text` for people. */
export function show({ settings, terminal }: Invocation, value: unknown, text: () => string): ExitCode {
  const printed = settings.text("output") === "json" ? JSON.stringify(value, undefined, 2) : text();
  terminal.out(printableLines(printed));
  return 0;
}
