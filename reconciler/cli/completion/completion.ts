import type { ExitCode, Invocation } from "../invocation/invocation.ts";
import { CliError } from "../invocation/cli-error.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { type CompletedCommand, wordsOf } from "./words.ts";
import { zshScript } from "./zsh.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `sluice completion SHELL`: prints the script with which a shell completes these commands. */
export function completion(
  commands: readonly CompletedCommand[],
  groups: Readonly<Record<string, string>>,
): (invocation: Invocation, shell: string) => Promise<ExitCode> {
  return async ({ terminal }, shell) => {
    if (!isShell(shell)) throw new CliError(`SHELL: expected bash, zsh or fish, found "${shell.slice(0, 100)}"`);
    terminal.out(scripts[shell](wordsOf(commands, groups)).trimEnd());
    return 0;
  };
}

function isShell(text: string): text is keyof typeof scripts {
  return Object.hasOwn(scripts, text);
}
