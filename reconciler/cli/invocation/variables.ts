import { isDeepStrictEqual } from "node:util";
import type { Variables } from "../../language/variables.ts";
import { CliError } from "./cli-error.ts";
import { problemOfVariable } from "./resolve-settings.ts";
import { textOf, type Settings } from "./settings.ts";
import { readSettingsFile, readVariablesFile } from "./settings-file.ts";

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

async function readVariables(settings: Settings, contents: typeof readVariablesFile): Promise<Variables> {
  const weakestFirst = [
    ...settings.all("vars_file").map(({ rank, value }) => ({ rank, read: () => ofFile(textOf(value), contents) })),
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
