import { randomUUID } from "node:crypto";
import type { ClickHouseSettings } from "@clickhouse/client";
import type { Answer, Failure, Probe } from "../../core/sink.ts";
import { answered } from "./answered.ts";
import { BodyLines } from "./body-lines.ts";
import type { Connection, Request } from "./connection.ts";
import { insertAnswer, statementAnswer } from "./failures.ts";
import { findBadRows } from "./row-search.ts";
import type { Trouble } from "./trouble.ts";
import { quoteName, quoteTable, quoteText } from "./sql.ts";

/** Where the rows of a block would go. */
export interface ProbedTable {
  database: string;
  table: string;
  /** The columns that rows bring, with their types. */
  columns: readonly { name: string; type: string }[];
  /** What columns of such types ask for where they are made. */
  creation: ClickHouseSettings;
  /** What an insert is sent with, without its token. */
  insertion: ClickHouseSettings;
}

type Search = Awaited<ReturnType<typeof findBadRows>>;

/** A temporary table is seen in its session alone, so its name is free. */
const copy = quoteName("sluice_probe");
const copyInErrors = /`?_temporary_and_external_tables`?\.`?[\w-]+`?(?: \([0-9a-f-]{36}\))?/g;
const accessDenied = 497;

/** Seconds after its last statement until the server forgets a session: between two statements, and at the end. */
const sessionTimeout = "60";
const endOfSession = "0";

/**
 * Tries the rows of one block without writing to their table (delivery, when the server says no).
 *
 * First on a copy of the table, temporary and without storage: it has the types, defaults and constraints of the table.
 * Where there can be none, on the function `null`, which has the types alone: bad rows that it finds are bad, but if it
 * finds none that says nothing, and what kept the copy from being made is the answer.
 */
export class BlockProbe {
  readonly #connection: Connection;
  readonly #table: ProbedTable;
  readonly #lines: BodyLines;
  readonly #signal: AbortSignal;

  constructor(connection: Connection, table: ProbedTable, body: Buffer, signal: AbortSignal) {
    this.#connection = connection;
    this.#table = table;
    this.#lines = new BodyLines(body);
    this.#signal = signal;
  }

  async run(): Promise<Probe> {
    const onCopy = await this.#searchCopy();
    if (onCopy.kind === "found" || onCopy.failure.class === "transient") return onCopy;
    const onTypes = await this.#searchTypes();
    if (onTypes.kind === "found") return onTypes.rows.length > 0 ? onTypes : this.#failed(onCopy.failure);
    return this.#failed(isDenied(onCopy.failure) && isDenied(onTypes.failure) ? onCopy.failure : onTypes.failure);
  }

  async #searchCopy(): Promise<Search> {
    const session = randomUUID();
    const open = { session_timeout: sessionTimeout };
    const { database, table, creation, insertion } = this.#table;
    const making = `CREATE TEMPORARY TABLE ${copy} AS ${quoteTable(database, table)} ENGINE = Null`;
    const made = await this.#say(making, { session, settings: { ...creation, ...open } });
    if (made.kind !== "ok") return { kind: "failed", failure: made.failure };
    try {
      const set = await this.#say(setStatement(insertion), { session, settings: open });
      if (set.kind !== "ok") return { kind: "failed", failure: set.failure };
      return await this.#search(copy, { session, settings: open });
    } finally {
      await this.#say(`DROP TEMPORARY TABLE ${copy}`, { session, settings: { session_timeout: endOfSession } });
    }
  }

  #searchTypes(): Promise<Search> {
    const columns = this.#table.columns.map(({ name, type }) => `${quoteName(name)} ${type}`).join(", ");
    const settings = { ...this.#table.creation, ...this.#table.insertion };
    return this.#search(`FUNCTION null(${quoteText(columns)})`, { settings });
  }

  #search(into: string, request: Omit<Request, "signal" | "body">): Promise<Search> {
    const names = this.#table.columns.map(({ name }) => quoteName(name)).join(", ");
    const statement = `INSERT INTO ${into} (${names}) FORMAT JSONEachRow`;
    return findBadRows(this.#lines.count, (rows) =>
      answered(
        this.#connection,
        () => this.#run(statement, { ...request, body: this.#lines.take(rows) }),
        (trouble) => insertAnswer(this.#ofTable(trouble), { views: [], rows: rows.length, isOnePart: true }),
      ),
    );
  }

  /** An error names the copy, which tells a reader nothing. */
  #ofTable(trouble: Trouble): Trouble {
    const { database, table } = this.#table;
    return { ...trouble, text: trouble.text.replace(copyInErrors, () => `${database}.${table}`) };
  }

  #say(statement: string, request: Omit<Request, "signal">): Promise<Answer> {
    return answered(this.#connection, () => this.#run(statement, request), statementAnswer);
  }

  async #run(statement: string, request: Omit<Request, "signal">): Promise<Answer> {
    await this.#connection.run(statement, { ...request, signal: this.#signal });
    return { kind: "ok" };
  }

  #failed(failure: Failure): Probe {
    if (!isDenied(failure)) return { kind: "failed", failure };
    const right = /necessary to have (?:the )?grant (.+? ON .+?)\.?(?: \(Missing permissions: .*)?$/.exec(
      failure.text,
    )?.[1];
    return {
      kind: "forbidden",
      grant: `GRANT ${right ?? "CREATE ARBITRARY TEMPORARY TABLE ON *.*"} TO ${quoteName(this.#connection.username)}`,
    };
  }
}

/** Said once in a session, so that not every piece has to bring them. */
function setStatement(settings: ClickHouseSettings): string {
  const list = Object.entries(settings).map(([name, value]) => `${name} = ${quoteText(String(value))}`);
  return `SET ${list.join(", ")}`;
}

function isDenied({ code }: Failure): boolean {
  return code === accessDenied;
}
