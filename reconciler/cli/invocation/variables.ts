import { parse } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Variables } from "../../language/variables.ts";
import { CliError } from "./cli-error.ts";
import { problemOfVariable } from "./resolve-settings.ts";
import { textOf, type Settings } from "./settings.ts";
import { readSettingsFile, readVariablesFile } from "./settings-file.ts";
import type { SettingValue } from "./settings-table.ts";

/**
 * Reads the variables of the pipeline files from the settings, and the file of `--vars` by `read` again at each call; the result
 * is the same object while none has changed. A single value wins over the file of the same origin, and both over those
 * of a weaker one. Throws CliError with file:line:column.
 */
export function variableReader(settings: Settings, read = readVariablesFile): () => Promise<Variables> {
  let known: Variables = new Map();
  return async () => {
    const found = await readVariables(settings, read);
    if (!isDeepStrictEqual(found, known)) known = found;
    return known;
  };
}

/** The settings of one environment, and its name where there are several. */
export interface Environment {
  name?: string;
  settings: Settings;
}

/** The settings for each of several files of variables, which are an environment each; else those that are given. */
export function environmentsOf(settings: Settings): Environment[] {
  const [strongest, ...weaker] = settings.all("vars_file");
  if (strongest === undefined) return [{ settings }];
  const files = isList(strongest.value) ? [...new Set(strongest.value)] : [textOf(strongest.value)];
  // Values of another list would be those of other environments.
  const others = weaker.filter(({ value }) => !isList(value));
  const names = files.map((file) => parse(file).name);
  return files.map((file, at) => {
    const own = settings.with("vars_file", [{ ...strongest, value: file }, ...others]);
    if (files.length === 1) return { settings: own };
    return { name: names.filter((name) => name === names[at]).length > 1 ? file : names[at]!, settings: own };
  });
}

function isList(value: SettingValue): value is readonly string[] {
  return Array.isArray(value);
}

async function readVariables(settings: Settings, contents: typeof readVariablesFile): Promise<Variables> {
  const [only, ...others] = environmentsOf(settings);
  if (others.length > 0) {
    const found = `${settings.origin("vars_file")}: expected one file, found ${others.length + 1}`;
    throw new CliError(`${found}: only sluice validate and sluice plan take several, for an environment each`);
  }
  const files = only?.settings.all("vars_file") ?? [];
  const weakestFirst = [
    ...files.map(({ rank, value }) => ({ rank, read: () => ofFile(textOf(value), contents) })),
    ...settings.all("vars").map(({ rank, value }) => ({ rank, read: async () => Object.entries(value) })),
  ].toSorted((a, b) => b.rank - a.rank);
  const variables = new Map<string, string>();
  for (const { read } of weakestFirst) for (const [name, text] of await read()) variables.set(name, String(text));
  return variables;
}

async function ofFile(file: string, read: typeof readVariablesFile): Promise<[string, string][]> {
  const entries = await readSettingsFile(file, { optional: false, what: "variables", read });
  const problems = entries.flatMap(({ key, text, valueAt }) => {
    const problem = problemOfVariable(key, text ?? null);
    return problem === undefined ? [] : [`${valueAt}: ${key}: ${problem}`];
  });
  if (problems.length > 0) throw new CliError(problems.join("\n"));
  return entries.map(({ key, text = "" }) => [key, text]);
}
