import { main } from "../../reconciler/cli/main.ts";

/** What a command printed, and its exit code. */
export interface Printed {
  code: number;
  out: string;
  err: string;
}

/** Runs a command in this process. It sees nothing of the environment but `env` and the way to programs. */
export async function runCommand(
  argv: readonly string[],
  { env = {}, isInteractive = false }: { env?: Record<string, string>; isInteractive?: boolean } = {},
): Promise<Printed> {
  const printed = { out: [] as string[], err: [] as string[] };
  const code = await main([...argv], {
    terminal: {
      out: (text) => void printed.out.push(text),
      err: (text) => void printed.err.push(text),
      isInteractive,
    },
    env: { PATH: process.env["PATH"], ...env },
    untilStopped: () => AbortSignal.abort(),
  });
  return { code, out: printed.out.join("\n"), err: printed.err.join("\n") };
}
