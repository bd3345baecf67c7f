import { yamlDocument } from "../../language/yaml-document.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Progress } from "./progress.ts";
import type { Settings } from "./settings.ts";
import type { SettingName } from "./settings-table.ts";
import { printableLines, type Terminal } from "./terminal.ts";

export type { ExitCode } from "./exit-codes.ts";

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
  /** Takes what the command does, where that may take longer than a second. */
  progress: Progress;
}

/** Prints `value` as the setting `output` asks: as one document for programs, or as `text` for people. */
export function show(
  { settings, terminal }: Pick<Invocation, "settings" | "terminal">,
  value: unknown,
  text: () => string,
): ExitCode {
  const output = settings.text("output");
  terminal.out(printableLines(output === "text" ? text() : documentOf(value, output)));
  return 0;
}

/** A value as JSON, or as YAML, without a line end. */
export function documentOf(value: unknown, output: string): string {
  return output === "yaml" ? yamlDocument(value).replace(/\n$/, "") : JSON.stringify(value, undefined, 2);
}

/** The format of a command that has more of them than `--output`: that one counts where `--format` is not given. */
export function formatOf(settings: Settings, name: SettingName): string {
  const output = settings.text("output");
  return settings.isGiven(name) || output === "text" ? settings.text(name) : output;
}
