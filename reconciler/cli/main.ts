import { CommanderError } from "commander";
import { SourceError } from "../git/revision.ts";
import { CliError } from "./invocation/cli-error.ts";
import type { Context, ExitCode } from "./invocation/invocation.ts";
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
    return 1;
  }
}

/** Expected failures are a sentence for the user; anything else is a defect, and its stack says where. */
function sentence(error: unknown): string {
  if (error instanceof CliError || error instanceof SourceError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
