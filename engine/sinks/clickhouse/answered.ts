import type { Connection } from "./connection.ts";
import type { FailedAnswer } from "./failures.ts";
import { TroubleError } from "./trouble.ts";
import type { Trouble } from "./trouble.ts";

/**
 * Turns the troubles of `work` into answers that name the server and hold no password; anything else is a fault of ours
 * and is thrown on.
 */
export async function answered<Result>(
  connection: Connection,
  work: () => Promise<Result>,
  judge: (trouble: Trouble) => FailedAnswer,
): Promise<Result | FailedAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TroubleError)) throw error;
    const { kind, failure } = judge(error.trouble);
    const text = connection.redact(`${connection.name}: ${failure.text}`);
    return { kind, failure: { ...failure, text } };
  }
}
