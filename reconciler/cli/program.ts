import { Command as CommanderCommand, Option } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { commands, groups } from "./commands.ts";
import type { Command } from "./commands.ts";
import { idsCommand } from "./completion/words.ts";
import { examples } from "./examples.ts";
import { CliError } from "./invocation/cli-error.ts";
import { codeLines, codesOf } from "./invocation/exit-codes.ts";
import type { Context, ExitCode, Invocation } from "./invocation/invocation.ts";
import { configVariable, misspeltVariables, resolveSettings } from "./invocation/resolve-settings.ts";
import type { SettingOrigins } from "./invocation/resolve-settings.ts";
import { defaultConfig, readDefaultConfig } from "./invocation/default-config.ts";
import { Progress } from "./invocation/progress.ts";
import { readSettingsFile } from "./invocation/settings-file.ts";
import { expectation, settingsOf } from "./invocation/settings-table.ts";
import type { Setting } from "./invocation/settings-table.ts";
import { printable } from "./invocation/terminal.ts";

/** The command line of `sluice`. `finished` is called with the exit code of the command that ran. */
export function program(context: Context, finished: (code: ExitCode) => void): CommanderCommand {
  const { terminal } = context;
  const root = new CommanderCommand("sluice")
    .description("GitOps for streaming pipelines into ClickHouse")
    .version(manifest.version)
    .option("--config <FILE>", `settings, default ${defaultConfig} outside of a Git work tree [${configVariable}]`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.replace(/\n$/, "")),
      writeErr: (text) => terminal.err(text.replace(/\n$/, "")),
    });
  root.addHelpText("after", `\nExit codes:\n${codeLines().join("\n")}\n`).helpCommand(false);
  for (const command of commands) addCommand(root, command, context, finished);
  addHelpCommand(root, terminal);
  addIdsCommand(root, context);
  return root;
}

/** Besides commands, `sluice help` knows the table of exit codes. */
function addHelpCommand(root: CommanderCommand, terminal: Context["terminal"]): void {
  const help = root.command("help [COMMAND...]").description("show the help of a command, or the exit codes");
  help.addHelpText("after", "\nExamples:\n  sluice help plan\n  sluice help exit-codes");
  help.action((words: string[]) => {
    if (words.join(" ") === "exit-codes") return terminal.out(codeLines().join("\n"));
    let found: CommanderCommand | undefined = root;
    for (const word of words) found = found?.commands.find((command) => command.name() === word);
    if (found === undefined) {
      const said = printable(words.join(" ").slice(0, 100));
      throw new CliError(`help: expected a command or exit-codes, found "${said}": sluice help lists the commands`);
    }
    found.outputHelp();
  });
}

/** For scripts of completion: prints the ids of the pipelines, or nothing where no daemon answers at once. */
function addIdsCommand(root: CommanderCommand, context: Context): void {
  const ids = root.command(idsCommand, { hidden: true });
  for (const setting of settingsOf("get")) if (setting.name === "data_dir") ids.addOption(optionsOf(setting)[0]!);
  ids.action(async () => {
    const flags = flagsOf("get", ids.opts());
    const { settings } = await settingsFor("get", flags, root.opts()["config"] as string | undefined, context);
    const { pipelineIds } = await import("./client/pipeline-ids.ts");
    for (const id of await pipelineIds(settings.text("data_dir"))) context.terminal.out(id);
  });
}

function helpTextOf(name: string): string {
  const shown = (examples[name] ?? []).map((line) => `  ${line}`);
  return ["", "Examples:", ...shown, "", "Exit codes:", ...codeLines([...codesOf(name)])].join("\n");
}

function addCommand(
  root: CommanderCommand,
  command: Command,
  context: Context,
  finished: (code: ExitCode) => void,
): void {
  const words = command.name.split(" ");
  const [first = "", second] = words;
  const parent = second === undefined ? root : groupOf(root, first);
  const added = parent.command(`${words.at(-1)} ${command.args}`.trim()).description(command.description);
  added.addHelpText("after", () => helpTextOf(command.name));
  for (const setting of settingsOf(command.name)) for (const option of optionsOf(setting)) added.addOption(option);
  added.action(async (...given: unknown[]) => {
    const flags = flagsOf(command.name, added.opts());
    const resolved = await settingsFor(command.name, flags, root.opts()["config"] as string | undefined, context);
    const act = await command.load();
    const progress = new Progress(command.name === "run" ? {} : context.terminal, `sluice ${command.name}`);
    try {
      finished(await act({ ...context, ...resolved, progress }, ...(given.slice(0, -2) as never[])));
    } finally {
      progress.end();
    }
  });
}

function groupOf(root: CommanderCommand, name: string): CommanderCommand {
  const found = root.commands.find((command) => command.name() === name);
  return found ?? root.command(name).description(groups[name] ?? "");
}

/** A setting as flags. commander does not know the defaults: without a flag, the other origins of the setting apply. */
function optionsOf(setting: Setting): Option[] {
  const remarks = [setting.variable, setting.default === undefined ? "" : `default: ${setting.default}`];
  const allowed = setting.enum ? ` (${expectation(setting)})` : "";
  const description = `${setting.description}${allowed} [${remarks.filter(Boolean).join(", ")}]`;
  const withValue = new Option(`${setting.flag} <${setting.argument ?? "VALUE"}>`, description);
  if (setting.isSeveral)
    return [withValue.argParser<string[] | undefined>((text, before) => [...(before ?? []), text])];
  if (setting.type !== "boolean") return [withValue];
  const opposite = new Option(setting.flag.replace("--", "--no-"), `the opposite of ${setting.flag}`);
  return [new Option(setting.flag, description), opposite.hideHelp()];
}

function flagsOf(command: string, given: Record<string, unknown>): SettingOrigins["flags"] {
  const flags: SettingOrigins["flags"] = {};
  for (const setting of settingsOf(command)) {
    const value = given[new Option(setting.flag).attributeName()];
    if (typeof value === "string" || typeof value === "boolean" || Array.isArray(value)) flags[setting.name] = value;
  }
  return flags;
}

async function settingsFor(
  command: string,
  flags: SettingOrigins["flags"],
  config: string | undefined,
  { env, terminal }: Context,
): Promise<Pick<Invocation, "settings" | "settingsFile">> {
  const named = config ?? (env[configVariable] || undefined);
  const settingsFile = named ?? defaultConfig;
  const file = await (named === undefined
    ? readDefaultConfig(command, terminal)
    : readSettingsFile(named, { optional: false }));
  for (const text of misspeltVariables(env)) terminal.err(`sluice: ${printable(text)}`);
  return { settings: resolveSettings(command, { flags, env, file }), ...(file.length > 0 && { settingsFile }) };
}
