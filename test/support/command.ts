import { main } from "../../reconciler/cli/main.ts";

/** What a command printed, and its exit code. */
export interface Printed {
  code: number;
  out: string;
  err: string;
}

interface Circumstances {
  env?: Record<string, string>;
  isInteractive?: boolean;
  /** Stops it; a command that waits for that ends at once, unless it is given. */
  signal?: AbortSignal;
}

/** Runs a command in this process. It sees nothing of the environment but `env` and the way to programs. */
export async function runCommand(
  argv: readonly string[],
  { env = {}, isInteractive = false, signal = AbortSignal.abort() }: Circumstances = {},
): Promise<Printed> {
  const printed = { out: [] as string[], err: [] as string[] };
  const code = await main([...argv], {
    terminal: {
      out: (text) => void printed.out.push(text),
      err: (text) => void printed.err.push(text),
      isInteractive,
    },
    env: { PATH: process.env["PATH"], ...env },
    untilStopped: () => signal,
  });
  return { code, out: printed.out.join("\n"), err: printed.err.join("\n") };
}
