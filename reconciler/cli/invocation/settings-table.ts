import schema from "../../../schemas/sluice-config.schema.json" with { type: "json" };

/** The key of a setting in `sluice.yaml`. */
export type SettingName = keyof typeof schema.properties;

/** A mapping of names to texts is that of a setting which may be given several times; so is a list. */
export type SettingValue = string | number | boolean | Readonly<Record<string, string>> | readonly string[];

/** One setting of the schema. Flags, environment variables, the file and the help text derive from it. */
export interface Setting {
  name: SettingName;
  type: "string" | "integer" | "boolean" | "object";
  /** It may be given several times, and is a list then. */
  isSeveral: boolean;
  description: string;
  default?: string | number | boolean;
  enum?: string[];
  /** The expected value in words, where it does not follow from type and enum. */
  expected?: string;
  /** `--data-dir`, for instance; two commands may use one flag for different settings. */
  flag: string;
  /** The variable of the environment, such as `SLUICE_DATA_DIR`. */
  variable: string;
  /** Placeholder for the value in the help text; absent for a switch. */
  argument?: string;
  /** The commands that take it, such as `dlq list`. */
  commands: string[];
}

interface Property extends Pick<Setting, "description" | "default" | "enum"> {
  type: Setting["type"] | ["string", "array"];
  "x-argument"?: string;
  "x-expected"?: string;
  "x-flag"?: string;
  "x-commands": string[];
}

export const settings: readonly Setting[] = Object.entries(schema.properties).map(([name, property]) =>
  readProperty(name as SettingName, property as Property),
);

function readProperty(name: SettingName, property: Property): Setting {
  const { "x-argument": argument, "x-expected": expected, "x-flag": flag, "x-commands": commands, ...rest } = property;
  const { type } = rest;
  return {
    ...rest,
    name,
    type: Array.isArray(type) ? "string" : type,
    isSeveral: Array.isArray(type) || type === "object",
    flag: flag ?? `--${name.replaceAll("_", "-")}`,
    variable: `SLUICE_${name.toUpperCase()}`,
    commands,
    ...(argument !== undefined && { argument }),
    ...(expected !== undefined && { expected }),
  };
}

export function settingsOf(command: string): Setting[] {
  return settings.filter((setting) => setting.commands.includes(command));
}

/** The valid values, as a text to follow "expected". */
export function expectation(setting: Setting): string {
  if (setting.expected !== undefined) return setting.expected;
  if (setting.enum) return `one of ${setting.enum.join(", ")}`;
  return setting.type === "boolean" ? "true or false" : "a text that is not empty";
}

/** Settings that apply to a Git repository alone. */
export const ofRepository: readonly SettingName[] = [
  "branch",
  "tag",
  "commit",
  "git_username",
  "git_password",
  "git_token",
  "git_ssh_key",
  "git_known_hosts",
  "git_ca_file",
  "git_max_size",
  "verify_gpg",
  "verify_ssh",
  "approve",
];
