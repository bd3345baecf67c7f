import { join } from "node:path";
import { Mutex } from "../../../flow/mutex.ts";
import { Memory } from "./memory.ts";
import { SyncedLogs } from "./synced-logs.ts";

/**
 * Has the tokens of inserts on disk before they count, also when the machine loses its power; or has it noted that they may
 * not be, so that whoever waits for the answer to an insert learns that a repeat may not be recognised.
 */
export class KeptTokens {
  readonly #memory: Memory;
  readonly #logs: SyncedLogs;
  readonly #turns = new Mutex();
  /** Statements under way that may make a table, whose log is not synced yet. */
  #making = 0;

  private constructor(memory: Memory, logs: SyncedLogs) {
    this.#memory = memory;
    this.#logs = logs;
  }

  /** @param folder of the server, which no other process uses. Throws errors of the system. */
  static async open(folder: string): Promise<KeptTokens> {
    return new KeptTokens(await Memory.open(folder), new SyncedLogs(join(folder, "engine")));
  }

  get identity(): string {
    return this.#memory.identity;
  }

  /**
   * Sees to the logs of new tables. Resolves with why a power cut may take the newest tokens and leave their rows; undefined
   * where it cannot. Throws errors of the system where not even that could be noted.
   */
  keep(): Promise<string | undefined> {
    return this.#turns.run(async () => {
      const obstacle = await this.#logs.keep();
      await this.#memory.note(obstacle === undefined && this.#making === 0);
      return obstacle;
    });
  }

  /**
   * Runs a statement that may make a table. Others may insert into that table before its log is synced: until then it is
   * noted that tokens may be lost. Throws what `run` throws, and errors of the system before it runs.
   */
  async during<T>(run: () => Promise<T>): Promise<T> {
    this.#making += 1;
    try {
      await this.#turns.run(() => this.#memory.note(false));
      return await run();
    } finally {
      this.#making -= 1;
      // Where this fails, the note stays, and the next statement tries again.
      await this.keep().catch(() => undefined);
    }
  }

  /** Syncs all logs. Nothing may be written any more. */
  async close(): Promise<void> {
    const synced = this.#turns.run(async () => {
      await this.#logs.sync();
      await this.#memory.note(true);
    });
    // Without it, the note stays.
    await synced.catch(() => undefined);
  }
}
