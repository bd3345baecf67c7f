import type { ChdbResult, Session } from "chdb";
import { exceptionFrom, raise } from "./exception.ts";
import type { QueryRequest } from "./request.ts";

/** The settings for one statement; all are undone afterwards. */
export type QuerySettings = Pick<QueryRequest, "database" | "settings" | "params">;

export interface Query {
  sql: string;
  format: string;
  /** Whether the statement itself leaves its session unchanged. */
  leavesSessionUnchanged: boolean;
}

/** Settings that cannot be set back, because they set others or forbid it. */
const lasting = ["readonly", "compatibility", "profile"];

/**
 * The most closed sessions that wait to be freed: they hold memory until every statement that ran at the same time has
 * ended.
 */
const maxLeaving = 500;

/**
 * Runs statements, each as if on its own session: no request sees the settings of another. A session is reused only
 * after all its settings were reset; after an error, or a statement that may have changed it, it is closed. (A new
 * session for every request would be simpler, but no session is freed while any statement runs: one long query could
 * cost a gigabyte.)
 */
export class Sessions {
  readonly #open: () => Session;
  readonly #initial: ReadonlyMap<string, string>;
  readonly #broken: () => void;
  readonly #idle: Session[] = [];
  readonly #running = new Set<Promise<unknown>>();
  #leaving = 0;

  /**
   * @param initial the settings of a new session that differ from the built-in ones.
   * @param broken called when the engine has shut itself down, after which it refuses every statement.
   */
  constructor(open: () => Session, initial: ReadonlyMap<string, string>, broken: () => void) {
    this.#open = open;
    this.#initial = initial;
    this.#broken = broken;
  }

  /** @throws Exception */
  async run(run: Query, under: QuerySettings): Promise<ChdbResult> {
    if (this.#leaving >= maxLeaving)
      throw raise("TOO_MANY_SIMULTANEOUS_QUERIES", "Too many sessions wait for a long query to end.");
    const session = this.#idle.pop() ?? this.#open();
    try {
      const result = await this.runOn(session, run, under);
      void this.#giveBack(session, run, under);
      return result;
    } catch (error) {
      this.release(session);
      throw error;
    }
  }

  /** A session that the caller keeps, and releases. */
  create(): Session {
    return this.#open();
  }

  /** Runs on a session of the caller, and keeps the settings in it. @throws Exception */
  async runOn(session: Session, run: Query, under: QuerySettings): Promise<ChdbResult> {
    try {
      for (const sql of before(under)) await this.#query(session, sql, "Null");
      return await this.#query(session, run.sql, run.format);
    } catch (error) {
      throw exceptionFrom(error);
    }
  }

  /** Closes a session. Its memory is freed when all statements that run at this moment have ended. */
  release(session: Session): void {
    session.close();
    this.#leaving += 1;
    void Promise.allSettled(this.#running).then(() => (this.#leaving -= 1));
  }

  /** Resolves when all statements have ended; closes idle sessions. */
  async close(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    for (const session of this.#idle.splice(0)) session.close();
  }

  async #giveBack(session: Session, run: Query, { settings, database, params }: QuerySettings): Promise<void> {
    const isLasting = lasting.some((name) => settings.has(name)) || params.size > 0;
    if (!run.leavesSessionUnchanged || isLasting) return this.release(session);
    try {
      if (settings.size > 0) await this.#query(session, `SET ${this.#undone(settings)}`, "Null");
      if (database !== undefined) await this.#query(session, "USE default", "Null");
      this.#idle.push(session);
    } catch {
      this.release(session);
    }
  }

  #undone(settings: ReadonlyMap<string, string>): string {
    const initially = (name: string): string => {
      const value = this.#initial.get(name);
      return value === undefined ? "DEFAULT" : literal(value);
    };
    return [...settings.keys()].map((name) => `${name} = ${initially(name)}`).join(", ");
  }

  async #query(session: Session, sql: string, format: string): Promise<ChdbResult> {
    const running = session.queryAsync(sql, { format });
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      if (String(error).includes("server is shutting down due to a fatal error")) this.#broken();
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }
}

/** The statements that apply the settings of a request. */
function before({ database, settings, params }: QuerySettings): string[] {
  const set = [...params, ...settings].map(([name, value]) => `${name} = ${literal(value)}`);
  return [
    ...(database === undefined ? [] : [`USE \`${escaped(database, "`")}\``]),
    ...(set.length === 0 ? [] : [`SET ${set.join(", ")}`]),
  ];
}

function literal(text: string): string {
  return `'${escaped(text, "'")}'`;
}

function escaped(text: string, quote: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`);
}
