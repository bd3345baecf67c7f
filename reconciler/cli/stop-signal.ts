/** Milliseconds in which a repeated signal is the same wish: npm and npx pass on what the terminal sent to all. */
const sameWish = 500;

/** Aborts at the first SIGINT or SIGTERM. A second one, a moment later, ends the process at once with exit code 1. */
export function stopSignal(process: NodeJS.Process): AbortSignal {
  const controller = new AbortController();
  let first: number | undefined;
  const stop = (): void => {
    first ??= performance.now();
    if (performance.now() - first > sameWish) process.exit(1);
    controller.abort();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return controller.signal;
}
