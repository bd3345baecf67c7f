import { CommanderError } from "commander";
import { SourceError } from "../git/revision.ts";
import { CliError } from "./invocation/cli-error.ts";
import type { Context, ExitCode } from "./invocation/invocation.ts";
import { printable } from "./invocation/terminal.ts";
import { program } from "./program.ts";

/** Runs the command that `argv` names (without node and script) and resolves with the exit code of the process. */
export async function main(argv: string[], context: Context): Promise<ExitCode> {
  let code: ExitCode = 0;
  try {
    await program(context, (ended) => (code = ended)).parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    context.terminal.err(`sluice: ${sentence(error)}`);
    return error instanceof CliError ? error.exitCode : 1;
  }
}

/**
 * Expected failures, and what the system refuses, such as a file that may not be written, are a sentence for the user;
 * anything else is a defect, and is printed with its stack.
 */
function sentence(error: unknown): string {
  if (error instanceof CliError || error instanceof SourceError) return error.message;
  if (error instanceof Error && "syscall" in error) return printable(error.message);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Milliseconds in which a repeated signal counts as one: npm and npx repeat the signal that the terminal sent to all. */
const repeatWindow = 500;

/** Aborts at the first SIGINT or SIGTERM. A second one, a moment later, ends the process at once with exit code 1. */
export function stopSignal(process: NodeJS.Process): AbortSignal {
  const controller = new AbortController();
  let first: number | undefined;
  const stop = (): void => {
    first ??= performance.now();
    if (performance.now() - first > repeatWindow) process.exit(1);
    controller.abort();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return controller.signal;
}
