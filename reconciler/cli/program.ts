import { Command as CommanderCommand, Option } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { commands, groups } from "./commands.ts";
import type { Command } from "./commands.ts";
import type { Context, ExitCode, Invocation } from "./invocation/invocation.ts";
import { resolveSettings } from "./invocation/resolve-settings.ts";
import type { SettingOrigins } from "./invocation/resolve-settings.ts";
import { defaultConfig, readDefaultConfig } from "./invocation/default-config.ts";
import { readSettingsFile } from "./invocation/settings-file.ts";
import { expectation, settingsOf } from "./invocation/settings-table.ts";
import type { Setting } from "./invocation/settings-table.ts";

const configVariable = "SLUICE_CONFIG";

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
  for (const command of commands) addCommand(root, command, context, finished);
  return root;
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
  for (const setting of settingsOf(command.name)) for (const option of optionsOf(setting)) added.addOption(option);
  added.action(async (...given: unknown[]) => {
    const flags = flagsOf(command.name, added.opts());
    const resolved = await settingsFor(command.name, flags, root.opts()["config"] as string | undefined, context);
    const act = await command.load();
    finished(await act({ ...context, ...resolved }, ...(given.slice(0, -2) as never[])));
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
  if (setting.type === "object")
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
  return { settings: resolveSettings(command, { flags, env, file }), ...(file.length > 0 && { settingsFile }) };
}
