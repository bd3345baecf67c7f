import { type Setting, settingsOf } from "../invocation/settings-table.ts";

/** The hidden command that prints the ids of the pipelines. */
export const idsCommand = "__pipeline-ids";

/** A command, as far as it is completed. */
export interface CompletedCommand {
  /** Two words for a command of a group. */
  name: string;
  /** Arguments in commander's notation. */
  args: string;
  description: string;
}

/** What a value may be: one of these words, a path, the id of a pipeline, or anything. */
export type Value = readonly string[] | "path" | "pipeline";

/** What a script of completion knows: all of it is of this program, and nothing comes from outside. */
export interface Words {
  groups: readonly string[];
  /** What follows nothing (``), a group, or a command: subcommands and options. */
  after: ReadonlyMap<string, readonly string[]>;
  /** Of an option as `get --output`, of an argument as `get 1`; `*` for all arguments from there on, as `validate *`. */
  values: ReadonlyMap<string, Value>;
  /** Options that are followed by a value, whatever the command. */
  valued: readonly string[];
  /** Of commands and groups. */
  descriptions: ReadonlyMap<string, string>;
}

/** Options of every command, and of `sluice` itself. */
const [ofAll, ofRoot] = [["--help"], ["--help", "--version", "--config"]];

/** The arguments that are completed, by their placeholder. */
const ofArguments: Readonly<Record<string, Value>> = {
  ID: "pipeline",
  PATH: "path",
  FILE: "path",
  DIR: "path",
  SHELL: ["bash", "zsh", "fish"],
};

export function wordsOf(commands: readonly CompletedCommand[], groups: Readonly<Record<string, string>>): Words {
  const after = new Map<string, string[]>([["", [...topOf(commands), "help", ...ofRoot]]]);
  const values = new Map<string, Value>([["--config", "path"]]);
  const descriptions = new Map(Object.entries(groups));
  const valued = new Set(["--config"]);
  for (const group of Object.keys(groups)) after.set(group, [...childrenOf(group, commands), ...ofAll]);
  for (const { name, args, description } of commands) {
    const settings = settingsOf(name);
    after.set(name, [...settings.map(({ flag }) => flag), ...ofAll]);
    descriptions.set(name, description);
    for (const setting of settings) {
      if (setting.type === "boolean") continue;
      valued.add(setting.flag);
      const value = valueOf(setting);
      if (value !== undefined) values.set(`${name} ${setting.flag}`, value);
    }
    for (const [place, value] of argumentsOf(args)) values.set(`${name} ${place}`, value);
  }
  after.set("help", [...topOf(commands), "exit-codes"]);
  values.set("help *", [...topOf(commands), "exit-codes"]);
  descriptions.set("help", "show the help of a command, or the exit codes");
  return { groups: Object.keys(groups), after, values, valued: [...valued].toSorted(), descriptions };
}

function topOf(commands: readonly CompletedCommand[]): string[] {
  return [...new Set(commands.map(({ name }) => name.split(" ", 1)[0]!))];
}

function childrenOf(group: string, commands: readonly CompletedCommand[]): string[] {
  return commands.flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));
}

function valueOf({ enum: values, argument = "" }: Setting): Value | undefined {
  return values ?? (/PATH|FILE|DIR/.test(argument) ? "path" : undefined);
}

/** `<ID> [PATH...]` is `1` for a pipeline and `*` for paths. */
function argumentsOf(args: string): [string, Value][] {
  const all = [...args.matchAll(/[<[](\w+)(\.{3})?[>\]]/g)];
  return all.flatMap(([, name = "", dots], index): [string, Value][] => {
    const value = ofArguments[name];
    return value === undefined ? [] : [[dots === undefined ? String(index + 1) : "*", value]];
  });
}
