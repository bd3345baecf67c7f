#!/usr/bin/env node
import { main } from "./main.ts";
import { stopSignal } from "./stop-signal.ts";
import { streamTerminal } from "./invocation/terminal.ts";

process.exitCode = await main(process.argv.slice(2), {
  terminal: streamTerminal(process.stdout, process.stderr),
  env: process.env,
  untilStopped: () => stopSignal(process),
});
