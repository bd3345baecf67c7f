/**
 * Skips a test, visibly and with the reason, where this machine lacks what it needs. In CI the same is a failure: there
 * everything must be there.
 */
export function requireOrSkip(obstacle: string | undefined, skip: (reason: string) => never): void {
  if (obstacle === undefined) return;
  if (process.env["CI"] === "true") throw new Error(`${obstacle}; in CI this must not be skipped`);
  skip(obstacle);
}
