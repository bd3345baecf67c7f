import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { CliError } from "./cli-error.ts";
import { type FileEntry, readSettingsFile } from "./settings-file.ts";
import { settingsOf } from "./settings-table.ts";
import type { Terminal } from "./terminal.ts";
import { isWithin, workTreeOf } from "./work-tree-of.ts";

/** The settings file of the working directory, which is read where none is named. */
export const defaultConfig = "sluice.yaml";

/** Commands that run on a checkout of others, as in CI. */
const ofCheckouts: ReadonlySet<string> = new Set(["validate", "plan", "test"]);
/** What they take: whoever opens a pull request says neither what of it blocks, nor which server gets which secret. */
const taken: ReadonlySet<string> = new Set(["vars", "vars_file"]);

/**
 * The entries of `sluice.yaml` in the working directory; none where there is no such file. One in a Git work tree is not
 * read: whoever may push to that repository could give the operator's command other secrets, listeners and folders.
 */
export async function readDefaultConfig(command: string, terminal: Terminal): Promise<FileEntry[]> {
  const tree = await workTreeOf(".");
  if (tree === undefined) return readSettingsFile(defaultConfig, { optional: true });
  if (ofCheckouts.has(command)) {
    if (!(await leadsInto(tree, defaultConfig)))
      throw new CliError(`${defaultConfig}: expected a file in the Git work tree ${tree}, found a link out of it`);
    const entries = await inside(tree, await readSettingsFile(defaultConfig, { optional: true }));
    return entries.filter(({ key }) => taken.has(key));
  }
  if (await concerns(command)) {
    const why = `is not read: it is in the Git work tree ${tree}, and may come from anyone who may push to it`;
    terminal.err(`sluice: ${defaultConfig} ${why}. If you trust it, name it: --config ${defaultConfig}`);
  }
  return [];
}

/** Whether there is a file with a setting that the command takes, or one that cannot be understood. */
async function concerns(command: string): Promise<boolean> {
  const known = new Set<string>(settingsOf(command).map(({ name }) => name));
  const entries = await readSettingsFile(defaultConfig, { optional: true }).catch(() => undefined);
  return known.size > 0 && (entries === undefined || entries.some(({ key }) => known.has(key)));
}

/** Throws CliError where the file names another one outside of the work tree, whose values would be shown. */
async function inside(tree: string, entries: FileEntry[]): Promise<FileEntry[]> {
  for (const { key, value, valueAt } of entries) {
    for (const file of key === "vars_file" ? [value].flat() : []) {
      if (typeof file !== "string" || (await leadsInto(tree, file))) continue;
      throw new CliError(
        `${valueAt}: vars_file: expected a file in the Git work tree ${tree}: name another one with --vars`,
      );
    }
  }
  return entries;
}

/** Whether a path is within a tree, behind all links; one that is not there, by its name. */
async function leadsInto(tree: string, path: string): Promise<boolean> {
  return isWithin(tree, await realpath(path).catch(() => resolve(path)));
}
