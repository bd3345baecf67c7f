#!/usr/bin/env node
import { main, stopSignal } from "./main.ts";
import { streamTerminal } from "./invocation/terminal.ts";

process.exitCode = await main(process.argv.slice(2), {
  terminal: streamTerminal(process.stdout, process.stderr),
  env: process.env,
  untilStopped: () => stopSignal(process),
});
