import { styleText } from "node:util";
import { runAll } from "../../pipeline-tests/run-tests.ts";
import type { Line } from "../../pipeline-tests/text.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { hasColours, printable } from "../invocation/terminal.ts";

/** Runs tests, several at once, and shows how far that is. */
export async function runShown<Case, Result>(
  { settings, progress, terminal }: Pick<Invocation, "settings" | "progress" | "terminal">,
  cases: readonly Case[],
  signal: AbortSignal,
  run: (one: Case) => Promise<Result>,
): Promise<Result[]> {
  const onDone = (done: number): void => progress.step(`${done} of ${cases.length} tests`);
  const results = await runAll(cases, { jobs: settings.number("test_jobs"), signal, onDone }, run);
  progress.end();
  if (results.length < cases.length) terminal.err(`Stopped after ${results.length} of ${cases.length} tests.`);
  return results;
}

const colours: Readonly<Record<NonNullable<Line["tone"]>, "green" | "red">> = {
  passed: "green",
  failed: "red",
  expected: "red",
  found: "green",
};

/** Prints lines, in colours where a person sees them. */
export function printLines(lines: readonly Line[], { terminal, env }: Pick<Invocation, "terminal" | "env">): void {
  const isColoured = hasColours(terminal.isInteractive, env);
  for (const { text, tone } of lines) {
    const shown = printable(text);
    const isPlain = !isColoured || tone === undefined;
    terminal.out(isPlain ? shown : styleText(colours[tone], shown, { validateStream: false }));
  }
}
