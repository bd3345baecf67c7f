import { randomUUID } from "node:crypto";
import type { ClickHouseSettings } from "@clickhouse/client";
import type { Answer, Failure, Probe } from "../../../core/sink.ts";
import { asAnswer, insertAnswer, statementAnswer } from "../transport/failures.ts";
import type { Connection, Request } from "../transport/connection.ts";
import type { RequestFailure } from "../transport/request-error.ts";
import { quoteName, quoteTable, quoteText } from "../transport/quote.ts";

/** The table that the rows of a block are for. */
export interface ProbedTable {
  database: string;
  table: string;
  /** The columns of the rows, with their types. */
  columns: readonly { name: string; type: string }[];
  /** Settings that creating columns of these types needs. */
  creation: ClickHouseSettings;
  /** Settings of an insert, without its token. */
  insertion: ClickHouseSettings;
}

type Search = Awaited<ReturnType<typeof findBadRows>>;

/** A temporary table is visible in its session only, so any name is free. */
const copy = quoteName("sluice_probe");
const copyInErrors = /`?_temporary_and_external_tables`?\.`?[\w-]+`?(?: \([0-9a-f-]{36}\))?/g;
const accessDenied = 497;

/** Seconds after its last statement until the server ends a session: between two statements, and at the end. */
const sessionTimeout = "60";
const endOfSession = "0";

/**
 * Tries the rows of one block without writing to their table (docs/delivery-protocol.md, Bad rows).
 *
 * First with a temporary copy of the table with the engine Null, which has the types, defaults and constraints of the
 * table. If no copy can be made, with the table function `null`, which has only the types. Rows that it refuses are
 * bad; if it refuses none, the answer is the reason why no copy could be made.
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
    const made = await this.#execute(making, { session, settings: { ...creation, ...open } });
    if (made.kind !== "ok") return { kind: "failed", failure: made.failure };
    try {
      const set = await this.#execute(setStatement(insertion), { session, settings: open });
      if (set.kind !== "ok") return { kind: "failed", failure: set.failure };
      return await this.#search(copy, { session, settings: open });
    } finally {
      await this.#execute(`DROP TEMPORARY TABLE ${copy}`, { session, settings: { session_timeout: endOfSession } });
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
      asAnswer(
        this.#connection,
        () => this.#run(statement, { ...request, body: this.#lines.take(rows) }),
        (reason) => insertAnswer(this.#ofTable(reason), { views: [], rows: rows.length, isOneBlock: true }),
      ),
    );
  }

  /** Replaces the name of the copy in an error by that of the table. */
  #ofTable(reason: RequestFailure): RequestFailure {
    const { database, table } = this.#table;
    return { ...reason, text: reason.text.replace(copyInErrors, () => `${database}.${table}`) };
  }

  #execute(statement: string, request: Omit<Request, "signal">): Promise<Answer> {
    return asAnswer(this.#connection, () => this.#run(statement, request), statementAnswer);
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

/** Sent once per session, so that inserts need not repeat the settings. */
function setStatement(settings: ClickHouseSettings): string {
  const list = Object.entries(settings).map(([name, value]) => `${name} = ${quoteText(String(value))}`);
  return `SET ${list.join(", ")}`;
}

function isDenied({ code }: Failure): boolean {
  return code === accessDenied;
}

/** The most rows that are tried together. */
const largestPiece = 1_000;
/** The factor by which a piece may be larger than the last good one. */
const growth = 4;

/**
 * Finds the bad ones among `count` rows. `send` tries rows, given by their indexes; its answer names at most one bad
 * row, often none. A piece that fails is tried again without the named row, or else in halves. The denser the bad rows,
 * the smaller the pieces, so that each row is sent only a few times even if all are bad.
 *
 * An answer that is not about rows ends the search.
 */
export async function findBadRows(
  count: number,
  send: (rows: readonly number[]) => Promise<Answer>,
): Promise<Extract<Probe, { kind: "found" | "failed" }>> {
  const bad: Extract<Probe, { kind: "found" }>["rows"] = [];
  const known = new Set<number>();
  // There is an unnamed bad row before the row `suspect`.
  for (let at = 0, size = largestPiece, suspect = 0; ;) {
    while (known.has(at)) at += 1;
    const piece = pieceOf(at, size, count, known);
    if (piece.length === 0) break;
    const answer = await send(piece);
    if (answer.kind === "ok") {
      at = piece.at(-1)! + 1;
      size = at < suspect ? Math.ceil((suspect - at) / 2) : Math.min(largestPiece, size * growth);
      continue;
    }
    const { failure } = answer;
    if (failure.class !== "row") return { kind: "failed", failure };
    const row = piece.length === 1 ? piece[0] : piece[failure.row ?? -1];
    suspect = row === undefined ? piece.at(-1)! + 1 : 0;
    if (row !== undefined) {
      known.add(row);
      bad.push({ row, failure: { ...failure, row } });
    }
    size = Math.max(1, Math.floor(piece.length / 2));
  }
  return { kind: "found", rows: bad.toSorted((one, other) => one.row - other.row) };
}

/** Up to `size` rows from `at` on, without those known to be bad. */
function pieceOf(at: number, size: number, count: number, known: ReadonlySet<number>): number[] {
  const piece: number[] = [];
  for (let row = at; row < count && piece.length < size; row += 1) if (!known.has(row)) piece.push(row);
  return piece;
}

const lineBreak = 10;

/** The lines of a body of JSONEachRow, one for each row, as views of its bytes. */
export class BodyLines {
  readonly #body: Buffer;
  /** Where each line starts, and where the last one ends. */
  readonly #starts: number[] = [0];

  constructor(body: Buffer) {
    this.#body = body;
    for (let at = body.indexOf(lineBreak); at !== -1; at = body.indexOf(lineBreak, at + 1)) this.#starts.push(at + 1);
  }

  get count(): number {
    return this.#starts.length - 1;
  }

  /** The lines with these indexes, in ascending order. Neighbours are not copied. */
  take(rows: readonly number[]): Buffer {
    const runs: Buffer[] = [];
    for (let first = 0; first < rows.length;) {
      let next = first + 1;
      while (next < rows.length && rows[next] === rows[next - 1]! + 1) next += 1;
      runs.push(this.#body.subarray(this.#starts[rows[first]!], this.#starts[rows[next - 1]! + 1]));
      first = next;
    }
    return runs.length === 1 ? runs[0]! : Buffer.concat(runs);
  }
}
