import type { ChdbResult, Session } from "chdb";
import { exceptionFrom, raise } from "./exception.ts";
import type { QueryRequest } from "./request.ts";

/** What a statement runs under; each is undone afterwards. */
export type QuerySettings = Pick<QueryRequest, "database" | "settings" | "params">;

export interface Query {
  sql: string;
  format: string;
  /** Whether the statement itself leaves its session as it was. */
  leavesSessionUnchanged: boolean;
}

/** Settings that cannot be set back, because they set others or forbid it. */
const lasting = ["readonly", "compatibility", "profile"];

/** Sessions that wait to be freed hold memory until every statement that ran beside them has ended. */
const maxLeaving = 500;

/**
 * Runs statements, each as if on a session of its own: what one request sets, no other one sees. A session is used
 * again only after everything that was set was set back; after an error, or a statement that may have changed it, it
 * is closed. (A fresh session for every request would be simpler, but none is freed while any statement runs: one
 * long query, and a gigabyte is gone.)
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
   * @param broken called when the engine has shut itself down: from then on it refuses everything.
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

  /** Runs on a session of the caller's, and leaves there what was set. @throws Exception */
  async runOn(session: Session, run: Query, under: QuerySettings): Promise<ChdbResult> {
    try {
      for (const sql of before(under)) await this.#query(session, sql, "Null");
      return await this.#query(session, run.sql, run.format);
    } catch (error) {
      throw exceptionFrom(error);
    }
  }

  /** Closes a session. Its memory is free when all that runs at this moment has ended. */
  release(session: Session): void {
    session.close();
    this.#leaving += 1;
    void Promise.allSettled(this.#running).then(() => (this.#leaving -= 1));
  }

  /** Resolves when nothing runs any more, and closes what is idle. */
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

/** The statements that set what a request asks for. */
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
