import { format } from "prettier";
import { commands } from "./commands.ts";
import { examples } from "./examples.ts";
import { codesOf, exitCodes } from "./invocation/exit-codes.ts";
import { type Setting, settingsOf } from "./invocation/settings-table.ts";

const head = `<!-- Generated from reconciler/cli by \`npm run schemas\`. Change the commands there, not this file. -->

# Commands

\`sluice COMMAND --help\` prints the same. The settings of \`sluice run\` are in [settings](settings.md); other options are also variables of the environment and keys
of \`sluice.yaml\`, as those are.

## Output

Data goes to standard output. Errors, warnings and hints go to standard error. \`--output json\` and \`--output yaml\` print one document, \`get --watch\` one
for each row. Where a command has \`--format\`, that wins. \`sql --output yaml\` prints JSON, which is YAML, so that numbers keep their digits.

Colours are used on a terminal, and in a pipe with \`FORCE_COLOR=1\` or \`CLICOLOR_FORCE=1\`; not with \`NO_COLOR\`, \`CLICOLOR=0\` or \`TERM=dumb\`. What takes longer than a second says on standard error what it does, where that is a terminal.

## Completion

\`sluice completion bash|zsh|fish\` prints a script that completes commands, options, their values, files, and the ids of the pipelines of a daemon that runs. In bash:

\`\`\`sh
source <(sluice completion bash)
\`\`\`

| shell | where the script is kept |
| - | - |
| bash | \`sluice completion bash > ~/.local/share/bash-completion/completions/sluice\` |
| zsh | \`sluice completion zsh > "\${fpath[1]}/_sluice"\` |
| fish | \`sluice completion fish > ~/.config/fish/completions/sluice.fish\` |

## Exit codes

\`help exit-codes\` prints this table, and the help of each command those that it uses.`;

/** The text of `docs/reference/commands.md`. */
export function commandsReference(): Promise<string> {
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  const table = ["| code | meaning |", "| - | - |", ...codes].join("\n");
  return format([head, table, ...commands.map(sectionOf)].join("\n\n"), { parser: "markdown", printWidth: 120 });
}

function sectionOf({ name, args, description }: (typeof commands)[number]): string {
  const settings = name === "run" ? [] : settingsOf(name);
  return [
    `## \`sluice ${`${name} ${args}`.trim()}\``,
    sentence(description),
    (examples[name] ?? []).map((line) => `- \`${line}\``).join("\n"),
    ...(settings.length === 0
      ? []
      : [["| option | default | meaning |", "| - | - | - |", ...settings.map(rowOf)].join("\n")]),
    `Exit codes: ${codesOf(name).join(", ")}.`,
  ].join("\n\n");
}

function rowOf({ flag, argument, default: value, description, enum: values }: Setting): string {
  const option = `\`${argument === undefined ? flag : `${flag} ${argument}`}\``.replaceAll("|", "\\|");
  const usual = value === undefined || value === false ? "" : `\`${value}\``;
  const allowed = values === undefined ? "" : `: ${values.map((one) => `\`${one}\``).join(", ")}`;
  return `| ${option} | ${usual} | ${description.replaceAll("|", "\\|").replaceAll("<", "&lt;")}${allowed} |`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
