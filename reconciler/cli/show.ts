import type { ExitCode, Invocation } from "./invocation.ts";
import { printableLines } from "./terminal.ts";

/** Prints `value` as the setting `output` asks: as JSON for machines, or as `text` says it for people. */
export function show({ settings, terminal }: Invocation, value: unknown, text: () => string): ExitCode {
  const printed = settings.text("output") === "json" ? JSON.stringify(value, undefined, 2) : text();
  terminal.out(printableLines(printed));
  return 0;
}
