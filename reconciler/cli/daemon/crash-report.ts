import { setTimeout as sleep } from "node:timers/promises";
import { EngineError, type Log } from "../../../engine/index.ts";
import { foreignText, hiding } from "../../../engine/language.ts";

/** Milliseconds for finding the secrets that the report must not show. */
const patience = 2_000;

const ofDefect = "Sluice ends because of a defect: please report it (SECURITY.md, CONTRIBUTING.md).";

export interface CrashReportOptions {
  log: Pick<Log, "error">;
  exit: (code: number) => void;
}

/**
 * Reports an exception that nothing caught as the last line of the log, and ends the process with code 1. Its text may
 * repeat what a peer has sent, so secrets are hidden in it. Where they are not found in time, the text is left out. An
 * error of the engine is no defect: it says what the engine cannot go on without.
 */
export class CrashReport {
  readonly #options: CrashReportOptions;
  readonly #finders: (() => Promise<string[]>)[] = [];
  #hasBegun = false;

  constructor(options: CrashReportOptions) {
    this.#options = options;
    process.on("uncaughtException", this.#report);
  }

  /** `find` resolves with secrets that this process knows at that moment. */
  hides(find: () => Promise<string[]>): void {
    this.#finders.push(find);
  }

  close(): Promise<void> {
    process.off("uncaughtException", this.#report);
    return Promise.resolve();
  }

  readonly #report = (cause: unknown): void => {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.#end(cause);
  };

  async #end(cause: unknown): Promise<void> {
    const { log, exit } = this.#options;
    const isExpected = cause instanceof EngineError;
    const stack = foreignText(isExpected || !(cause instanceof Error) ? cause : (cause.stack ?? cause));
    const secrets = await Promise.race([this.#secrets(), sleep(patience, undefined)]);
    const error = secrets === undefined ? withoutText(cause, stack) : hiding(secrets)(stack);
    log.error({ error }, isExpected ? "Sluice ends: start it again when the cause is gone." : ofDefect);
    exit(1);
  }

  /** Undefined where they cannot be found. */
  async #secrets(): Promise<string[] | undefined> {
    try {
      return (await Promise.all(this.#finders.map((find) => find()))).flat();
    } catch {
      return undefined;
    }
  }
}

/** The kind of an error, and the places in the code. */
function withoutText(error: unknown, stack: string): string {
  if (!(error instanceof Error)) return typeof error;
  const [, places = ""] = stack.split(foreignText(error), 2);
  return `${error.constructor.name}: its text is not shown, since it may hold a secret${places}`;
}
