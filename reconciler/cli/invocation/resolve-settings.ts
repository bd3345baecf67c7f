import { validatorOf } from "#validators";
import schema from "../../../schemas/sluice-config.schema.json" with { type: "json" };
import { parseDuration, parseQuantity } from "../../../schemas/index.ts";
import { nearest } from "../../language/problem.ts";
import { CliError } from "./cli-error.ts";
import { type Found, parseListener, parseMoment, Settings } from "./settings.ts";
import { printable } from "./terminal.ts";
import type { FileEntry } from "./settings-file.ts";
import {
  expectation,
  ofRepository,
  type Setting,
  type SettingName,
  settings,
  settingsOf,
  type SettingValue,
} from "./settings-table.ts";

/** Names the settings file. */
export const configVariable = "SLUICE_CONFIG";

/** Where settings come from, the strongest first. */
export interface SettingOrigins {
  /** As the command line gives them: texts, true or false for switches, and a list where a flag may be given again. */
  flags: Partial<Record<SettingName, string | boolean | readonly string[]>>;
  /** Variables of the environment. An empty one is not set. */
  env: Readonly<Record<string, string | undefined>>;
  file: readonly FileEntry[];
}

/** A setting as one origin has it. */
type Given = Omit<Found, "rank">;

/** The settings of one origin, by name. */
type Layer = Map<string, Given>;

/** The parsers of amounts by format: to nanoseconds, and to billionths of a byte. */
const amounts: Readonly<Record<string, (text: string) => bigint | undefined>> = {
  duration: parseDuration,
  size: parseQuantity,
};

const formats = {
  duration: (text: string) => parseDuration(text) !== undefined,
  size: (text: string) => parseQuantity(text) !== undefined,
  listener: (text: string) => parseListener(text) !== undefined,
  moment: (text: string) => parseMoment(text, 0) !== undefined,
};

/** Whether a value fits its setting. */
function fits(name: string, value: unknown): boolean {
  const isValid = validatorOf("sluice-config", formats)({ [name]: value });
  return isValid && isWithinBounds(schema.properties[name as SettingName] as Bounds, value);
}

interface Bounds {
  format?: string;
  "x-from"?: string;
  "x-to"?: string;
}

/** A valid amount is compared with its bounds, which are of the same format. */
function isWithinBounds({ format = "", "x-from": from, "x-to": to }: Bounds, value: unknown): boolean {
  const read = amounts[format];
  if (read === undefined) return true;
  const amount = read(value as string)!;
  return (from === undefined || amount >= read(from)!) && (to === undefined || amount <= read(to)!);
}

/**
 * Resolves the settings that `command` takes. The whole file is checked, whatever the command. Throws CliError that
 * names every problem, one a line.
 */
export function resolveSettings(command: string, { flags, env, file }: SettingOrigins): Settings {
  const taken = settingsOf(command);
  const layers: Layer[] = [
    fromFlags(taken, flags),
    fromEnv(taken, env),
    new Map(file.map((entry) => [entry.key, fromFile(entry)])),
    new Map(taken.flatMap((setting) => fromDefault(setting))),
  ];
  const problems = [...problemsOfFile(file), ...layers.slice(0, 2).flatMap(problemsOf)];
  if (problems.length > 0) throw new CliError(problems.join("\n"));
  const found = (): Map<SettingName, Found[]> => new Map(taken.map(({ name }) => [name, foundIn(layers, name)]));
  const named = found();
  for (const [at, layer] of layers.entries()) {
    for (const name of layer.keys()) for (const weaker of layers.slice(at + 1)) dropReplaced(name, weaker);
  }
  return new Settings(found(), named);
}

/** Where a setting was found, the strongest origin first. */
function foundIn(layers: readonly Layer[], name: SettingName): Found[] {
  return layers.flatMap((layer, rank) => {
    const given = layer.get(name);
    return given === undefined ? [] : [{ ...given, rank }];
  });
}

/**
 * What a setting replaces where it comes from a weaker origin: `--repo` beside a file with `dir` means the repository.
 * Within one origin they exclude each other, which the command says.
 */
const replaced: Readonly<Partial<Record<string, readonly SettingName[]>>> = {
  repo: ["dir", "dir_settle"],
  dir: ["repo", ...ofRepository],
  branch: ["tag", "commit"],
  tag: ["branch", "commit"],
  commit: ["branch", "tag"],
  git_token: ["git_username", "git_password"],
  git_password: ["git_token"],
};

function dropReplaced(name: string, weaker: Layer): void {
  for (const other of replaced[name] ?? []) weaker.delete(other);
}

function fromFlags(taken: Setting[], flags: SettingOrigins["flags"]): Layer {
  return new Map(
    taken.flatMap((setting) => {
      const value = flags[setting.name];
      return value === undefined ? [] : [[setting.name, { value: coerce(setting, value), origin: setting.flag }]];
    }),
  );
}

function fromEnv(taken: Setting[], env: SettingOrigins["env"]): Layer {
  return new Map(
    taken.flatMap((setting) => {
      const value = env[setting.variable];
      return value === undefined || value === ""
        ? []
        : [[setting.name, { value: coerce(setting, value), origin: setting.variable }]];
    }),
  );
}

const prefix = "SLUICE_";

/** What the Action and examples read, and what Kubernetes sets for a service that is called sluice. */
const ofOthers = /^(?:PACKAGE|COMMENT_TOKEN|TOKEN|(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_\w+)?)$/;

/** Variables that look like that of a setting, which then keeps another value. */
export function misspeltVariables(env: SettingOrigins["env"]): string[] {
  const variables = [configVariable, ...settings.map(({ variable }) => variable)];
  const known = new Set(variables.map((name) => name.slice(prefix.length)));
  return Object.keys(env).flatMap((variable) => {
    const name = variable.slice(prefix.length);
    // Secrets are named as people like.
    if (!variable.startsWith(prefix) || name.startsWith("SECRET_") || known.has(name)) return [];
    const meant = nearest(name, known);
    const what = `${variable} is the variable of no setting`;
    if (meant !== undefined) return [`${what}, and is not read: did you mean ${prefix}${meant}?`];
    return ofOthers.test(name) ? [] : [`${what}, and is read only where a pipeline refers to it`];
  });
}

function fromFile({ key, value, keyAt }: FileEntry): Given {
  return { value: value as SettingValue, origin: `${key} (${keyAt})` };
}

function fromDefault(setting: Setting): [string, Given][] {
  if (setting.default === undefined) return [];
  return [[setting.name, { value: setting.default, origin: `the default of ${setting.flag}`, isDefault: true }]];
}

/** A text as the type of its setting; unchanged if it is not of that type, so that the schema refuses it. */
function coerce({ type, isSeveral }: Setting, given: string | boolean | readonly string[]): SettingValue {
  if (type === "object" && typeof given !== "boolean") return mapping([given].flat());
  if (isSeveral && typeof given !== "boolean") return listed([given].flat());
  const value = given as string | boolean;
  if (type === "integer" && typeof value === "string" && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === "boolean" && (value === "true" || value === "1")) return true;
  if (type === "boolean" && (value === "false" || value === "0")) return false;
  return value;
}

/** The one text, or the list of several. */
function listed(given: readonly string[]): SettingValue {
  const lines = linesOf(given);
  return lines.length === 1 ? lines[0]! : lines;
}

/** In the environment, a setting that is given several times has a line each. */
function linesOf(given: readonly string[]): string[] {
  return given.flatMap((text) => text.split("\n")).filter((line) => line !== "");
}

/** Texts such as `NAME=VALUE` by name; the last of a name counts. Another text has the name "" for the schema to refuse. */
function mapping(given: readonly string[]): SettingValue {
  const pairs = linesOf(given).map((text) => /^([^=]+)=(.*)$/s.exec(text) ?? [text, "", text]);
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}

function problemsOf(given: Layer): string[] {
  return [...given].flatMap(([name, { value, origin }]) => {
    const setting = settings.find((candidate) => candidate.name === name);
    return setting && !fits(name, value) ? [`${origin}: ${mismatch(setting, value)}`] : [];
  });
}

function problemsOfFile(file: readonly FileEntry[]): string[] {
  return file.flatMap(({ key, value, keyAt, valueAt }) => {
    if (fits(key, value)) return [];
    const setting = settings.find(({ name }) => name === key);
    if (setting) return [`${valueAt}: ${key}: ${mismatch(setting, value)}`];
    const known = settings.map(({ name }) => name).join(", ");
    return [`${keyAt}: unknown setting "${key}": expected one of ${known}`];
  });
}

function mismatch(setting: Setting, value: unknown): string {
  const wrong =
    setting.type === "object" && typeof value === "object" && value !== null ? misfits(setting, value) : value;
  return `expected ${expectation(setting)}, found ${printable(JSON.stringify(wrong)).slice(0, longest)}`;
}

/** Characters of a value in a message. */
const longest = 200;

/** The first entry of a mapping that does not fit, or the mapping itself. */
function misfits({ name }: Setting, value: object): unknown {
  const wrong = Object.entries(value).find(([key, entry]) => !fits(name, { [key]: entry }));
  return wrong === undefined ? value : Object.fromEntries([wrong]);
}

/** What is wrong with the value of one variable; undefined where nothing is. */
export function problemOfVariable(name: string, value: unknown): string | undefined {
  const setting = settings.find((one) => one.name === "vars")!;
  const entry = { [name]: value };
  return fits("vars", entry) ? undefined : mismatch(setting, entry);
}
