import type { RequestListener } from "./revision.ts";

/** Tells `listener` how long `work` took, and how it ended. */
export async function timed<Result>(
  op: Parameters<RequestListener>[0],
  listener: RequestListener | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  const start = performance.now();
  let result: "success" | "error" = "error";
  try {
    const value = await work();
    result = "success";
    return value;
  } finally {
    listener?.(op, result, (performance.now() - start) / 1000);
  }
}
