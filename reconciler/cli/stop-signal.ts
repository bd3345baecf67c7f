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
