import { streamTerminal } from "../invocation/terminal.ts";
import { check } from "./check.ts";
import { workingDirectory } from "./inputs.ts";

/** The process of the GitHub Action. It is bundled as CommonJS, which cannot wait at its top. */
async function main(): Promise<void> {
  const folder = workingDirectory(process.env);
  if (folder !== undefined) process.chdir(folder);
  const terminal = streamTerminal(process.stdout, process.stderr);
  process.exitCode = (await check({ env: process.env, terminal })) ? 0 : 1;
}

void main();
