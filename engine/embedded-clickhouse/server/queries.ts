import type { AnswerStats } from "./answer.ts";
import type { Body } from "./body.ts";
import { isFull, raise } from "./exception.ts";
import type { InsertWithData } from "./insert.ts";
import type { KeptTokens } from "./tokens/kept-tokens.ts";
import type { NamedSessions } from "./named-sessions.ts";
import type { QueryRequest } from "./request.ts";
import type { Query, Sessions } from "./sessions.ts";
import type { Spool } from "./spool.ts";
import { parse } from "./statement.ts";

/** Bytes of a statement without the data of an insert: ClickHouse's default of `max_query_size`. */
export const maxQuery = 262_144;

export interface Result {
  bytes: Uint8Array;
  facts: AnswerStats;
}

interface Executed {
  rows: number;
  /** In seconds. */
  elapsed: number;
  bytes: Uint8Array;
}

/** Runs requests, a few statements at a time. An insert starts only after its whole body has arrived. */
export class Queries {
  readonly #limit = new ConcurrencyLimit(8, 1000);
  readonly #sessions: Sessions;
  readonly #named: NamedSessions;
  readonly #spool: Spool;
  readonly #tokens: Pick<KeptTokens, "during">;
  readonly #mustBeKept: () => void;

  /** `mustBeKept` is called when an insert has ended well, before that is answered; it does not return where the disk fails. */
  constructor(
    sessions: Sessions,
    named: NamedSessions,
    spool: Spool,
    { tokens, mustBeKept }: { tokens: Pick<KeptTokens, "during">; mustBeKept: () => void },
  ) {
    this.#sessions = sessions;
    this.#named = named;
    this.#spool = spool;
    this.#tokens = tokens;
    this.#mustBeKept = mustBeKept;
  }

  /** @param isWanted whether the client is still connected. @throws Exception */
  async run(asked: QueryRequest, body: Body | undefined, isWanted: () => boolean): Promise<Result> {
    const { bytes, ended } = asked.query ? { bytes: Buffer.from(`${asked.query}\n`), ended: true } : await start(body);
    const statement = parse(bytes);
    if (statement.kind === "insert") return this.#insert(asked, statement, bytes, body, isWanted);
    if (!ended || bytes.length > maxQuery + 1) {
      throw raise("SYNTAX_ERROR", `Syntax error: Max query size exceeded: a statement has at most ${maxQuery} bytes.`);
    }
    if (asked.query) await refuseMore(body);
    if (asked.readsOnly && !statement.readsOnly) throw readonly();
    const { sql, leavesSessionUnchanged, format = asked.defaultFormat } = statement;
    const execute = (): Promise<Executed> => this.#execute({ sql, leavesSessionUnchanged, format }, asked, isWanted);
    const run = statement.mayMakeTable ? this.#tokens.during(execute).catch(refuse) : execute();
    const { rows, elapsed, bytes: output } = await run;
    return { bytes: output, facts: { format, resultRows: rows, elapsedSeconds: elapsed } };
  }

  async #insert(
    asked: QueryRequest,
    insert: InsertWithData,
    head: Buffer,
    body: Body | undefined,
    isWanted: () => boolean,
  ) {
    if (asked.readsOnly) throw readonly();
    const file = await this.#spool.file();
    try {
      await file.write(head.subarray(insert.dataAt));
      await body?.into(file);
      const run = { sql: insert.reading(file.path), leavesSessionUnchanged: true, format: asked.defaultFormat };
      const { rows, elapsed, bytes } = await this.#execute(run, asked, isWanted);
      this.#mustBeKept();
      const facts = { format: run.format, elapsedSeconds: elapsed, ...(insert.countsRows && { writtenRows: rows }) };
      return { bytes, facts };
    } finally {
      await file.close();
    }
  }

  async #execute(run: Query, asked: QueryRequest, isWanted: () => boolean): Promise<Executed> {
    const result = await this.#limit.run(() => {
      if (!isWanted()) throw raise("NETWORK_ERROR", "The client disconnected before its statement was run.");
      return asked.session ? this.#named.run(asked.session, run, asked) : this.#sessions.run(run, asked);
    });
    return { rows: result.rowsRead, elapsed: result.elapsed, bytes: result.bytes() };
  }
}

async function start(body: Body | undefined): Promise<{ bytes: Buffer; ended: boolean }> {
  return (await body?.head(maxQuery)) ?? { bytes: Buffer.alloc(0), ended: true };
}

/** A server would append the body to the statement; here a body that is not the data of an insert never becomes SQL. */
async function refuseMore(body: Body | undefined): Promise<void> {
  const more = await body?.head(1);
  if (more && more.bytes.length > 0) {
    throw raise("SYNTAX_ERROR", "Syntax error: the statement takes no data, and the body is not empty.");
  }
}

/** What kept a note from being written. */
function refuse(error: unknown): never {
  throw isFull(error) ? raise("NOT_ENOUGH_SPACE", "Not enough space to note that a table is made.") : error;
}

function readonly(): Error {
  return raise(
    "READONLY",
    "Cannot execute query in readonly mode. For queries over HTTP, method GET implies readonly. Use POST.",
  );
}

/** Runs a limited number of tasks at a time; others wait, in order. */
export class ConcurrencyLimit {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number, mostWaiting: number) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
  }

  /** @throws Exception 202 when the queue is full. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#most) this.#running += 1;
    else await this.#wait();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= this.#mostWaiting) {
      throw raise("TOO_MANY_SIMULTANEOUS_QUERIES", `Too many simultaneous queries. Maximum: ${this.#mostWaiting}.`);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
