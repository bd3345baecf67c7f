import type { ChdbResult, Session } from "chdb";
import { raise } from "./exception.ts";
import type { QueryRequest } from "./request.ts";
import type { QuerySettings, Query, Sessions } from "./sessions.ts";

const maxNamed = 100;

interface Named {
  session: Session;
  busy: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** Sessions that a client names with `session_id`: they keep temporary tables and the effects of `SET` and `USE`. */
export class NamedSessions {
  readonly #sessions: Sessions;
  readonly #named = new Map<string, Named>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** @throws Exception 373 while another request uses the session, 372 if it must exist and does not. */
  async run(wanted: NonNullable<QueryRequest["session"]>, run: Query, under: QuerySettings): Promise<ChdbResult> {
    const named = this.#find(wanted);
    if (under.settings.has("readonly"))
      throw raise("NOT_IMPLEMENTED", "Setting readonly is not supported in a session.");
    named.busy = true;
    clearTimeout(named.timer);
    try {
      return await this.#runOn(named.session, run, under);
    } finally {
      named.busy = false;
      named.timer = setTimeout(() => this.#end(wanted.id), wanted.timeoutSeconds * 1000);
      named.timer.unref();
    }
  }

  close(): void {
    for (const id of this.#named.keys()) this.#end(id);
  }

  #find({ id, mustExist }: NonNullable<QueryRequest["session"]>): Named {
    const found = this.#named.get(id);
    if (found?.busy) throw raise("SESSION_IS_LOCKED", "Session is locked by a concurrent client.");
    if (found) return found;
    if (mustExist) throw raise("SESSION_NOT_FOUND", "Session not found.");
    if (this.#named.size >= maxNamed)
      throw raise("TOO_MANY_SIMULTANEOUS_QUERIES", `Too many sessions. Maximum: ${maxNamed}.`);
    const named = { session: this.#sessions.create(), busy: false, timer: undefined };
    this.#named.set(id, named);
    return named;
  }

  /** The settings of a request hold for that request only; afterwards the session is as its statements left it. */
  async #runOn(session: Session, run: Query, under: QuerySettings): Promise<ChdbResult> {
    if (under.settings.size === 0 && under.database === undefined) return this.#sessions.runOn(session, run, under);
    const earlier = await this.#sessions.runOn(session, { ...look, sql: lookAt([...under.settings.keys()]) }, nothing);
    const [database, values] = earlier.json<[string, [string, string][]]>();
    try {
      return await this.#sessions.runOn(session, run, under);
    } finally {
      const before = { database, settings: new Map(values), params: new Map<string, string>() };
      await this.#sessions.runOn(session, { ...look, sql: "SELECT 1" }, before);
    }
  }

  #end(id: string): void {
    const named = this.#named.get(id);
    if (!named) return;
    clearTimeout(named.timer);
    this.#named.delete(id);
    this.#sessions.release(named.session);
  }
}

const look = { format: "JSONCompactEachRow", leavesSessionUnchanged: true };
const nothing: QuerySettings = { database: undefined, settings: new Map(), params: new Map() };

function lookAt(names: readonly string[]): string {
  const list = names.map((name) => `'${name}'`).join(", ");
  return `SELECT currentDatabase(), groupArray((name, value)) FROM system.settings WHERE has([${list}], name)`;
}
