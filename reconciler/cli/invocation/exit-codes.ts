/** What each exit code means. Every command uses these alone. */
export const exitCodes = {
  0: "done, and there is nothing to report",
  1: "an error: something is invalid, refused or failed, or the command could not do its work",
  2: "there are changes (plan, test --base), or not all pipelines are ready (--wait)",
  3: "out of time: --timeout has passed, and what was asked for goes on",
} as const;

export type ExitCode = keyof typeof exitCodes;

/** The commands that use more than 0 and 1. */
const others: Readonly<Record<string, readonly ExitCode[]>> = {
  plan: [0, 1, 2],
  test: [0, 1, 2],
  reconcile: [0, 1, 2, 3],
  suspend: [0, 1, 3],
  stop: [0, 1, 3],
  resume: [0, 1, 2, 3],
  approve: [0, 1, 2, 3],
  rollback: [0, 1, 2, 3],
};

/** The codes that a command may end with. */
export function codesOf(command: string): readonly ExitCode[] {
  return others[command] ?? [0, 1];
}

/** The table as lines, such as `  0  done`. */
export function codeLines(codes = Object.keys(exitCodes).map(Number) as ExitCode[]): string[] {
  return codes.map((code) => `  ${code}  ${exitCodes[code]}`);
}
