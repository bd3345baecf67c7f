/** Resolves when `work` is done, or after so many milliseconds. Rejects as `work` does until then. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)));
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
