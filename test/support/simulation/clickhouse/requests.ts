import { Exception } from "../../../../engine/embedded-clickhouse/server/exception.ts";
import type { Draw } from "../network.ts";
import { pong, proxyAnswer, ServerGone, wireOf } from "./answer.ts";
import type { Result, Wire } from "./answer.ts";
import type { Database } from "./database.ts";
import { serverError } from "./errors.ts";
import type { HttpConnection, RequestHead } from "./http.ts";
import { NotUnderstood } from "./select.ts";
import { parseStatement } from "./statement.ts";
import type { Statement } from "./statement.ts";
import { drawTrouble, isReached, laterOf, textOf } from "./trouble.ts";
import type { RequestTrouble } from "./trouble.ts";

/** One of so many inserts, and of so many other statements, meets a drawn trouble; 0 for none. */
export interface TroubleRate {
  inserts: number;
  others: number;
}

export interface RequestsOptions {
  database: Database;
  draw: Draw;
  login: { username: string; password: string } | undefined;
  replicas: number;
  work: readonly [least: number, most: number];
  troubleRate: TroubleRate;
  version: string;
}

/** From a start to a kill: what waited in an earlier life finds its server gone. */
type Life = object | undefined;

/** One request on its way. */
interface Exchange {
  head: RequestHead;
  body: Buffer;
  connection: HttpConnection;
  trouble: RequestTrouble | undefined;
  life: Life;
}

/** Troubles that are counted where they take effect, which is before the answer. */
const countedBefore = new Set<RequestTrouble["kind"]>(["error", "late error", "begins late"]);

/** Answers the requests of all connections, each with the trouble that it meets. */
export class Requests {
  readonly troubles: (RequestTrouble | undefined)[] = [];
  readonly readTroubles: (RequestTrouble | undefined)[] = [];
  readonly met = new Map<string, number>();
  readonly unknown: string[] = [];
  readonly statements = new Map<string, number>();
  troubleRate: TroubleRate;
  readonly #options: RequestsOptions;
  readonly #heads = new WeakMap<RequestHead, RequestTrouble>();
  #life: Life;

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.troubleRate = options.troubleRate;
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  start(): void {
    this.#life = {};
  }

  /** All that is under way ends without an answer. */
  kill(): void {
    this.#life = undefined;
  }

  /** A head arrived: its trouble is decided now, as it may be one of the body. */
  begin(head: RequestHead): number | undefined {
    if (head.path === "/ping") return undefined;
    const isInsert = isTableInsert(head.query.get("query"));
    const queue = isInsert ? this.troubles : this.readTroubles;
    const trouble = queue.length > 0 ? queue.shift() : this.#drawTrouble(isInsert);
    if (trouble === undefined) return undefined;
    this.#heads.set(head, trouble);
    if (trouble.kind !== "reset") return undefined;
    this.count("reset");
    return trouble.bytes;
  }

  #drawTrouble(isInsert: boolean): RequestTrouble | undefined {
    const { draw } = this.#options;
    const often = isInsert ? this.troubleRate.inserts : this.troubleRate.others;
    return often > 0 && draw(often) === 0 ? drawTrouble(draw) : undefined;
  }

  /** Answers one request, in its own time; not at all where the server is killed meanwhile. */
  async handle(head: RequestHead, body: Buffer, connection: HttpConnection): Promise<void> {
    try {
      await this.#answer({ head, body, connection, trouble: this.#heads.get(head), life: this.#life });
    } catch (error) {
      if (error instanceof ServerGone) return;
      this.unknown.push(`a fault of the simulation: ${error instanceof Error ? error.stack : String(error)}`);
      connection.reset();
    }
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { head, trouble, life } = exchange;
    if (head.path === "/ping") {
      await this.#work(life);
      return this.#send(pong, exchange);
    }
    const ofProxy = proxyAnswer(trouble);
    if (ofProxy !== undefined && !isReached(trouble)) return this.#send(ofProxy, exchange);
    const later = laterOf(trouble);
    if (later !== undefined) {
      await this.#send(ofProxy, exchange);
      await this.#pass(later, life);
    }
    const result = await this.#carryOut(exchange);
    if (later !== undefined) return;
    const queryId = head.query.get("query_id") ?? "";
    await this.#send(ofProxy ?? wireOf(result, { queryId, version: this.#options.version }, trouble), exchange);
  }

  async #carryOut({ head, body, trouble, life }: Exchange): Promise<Result> {
    const { database, draw, replicas } = this.#options;
    if (trouble?.kind === "begins late") {
      this.count(trouble.kind);
      await this.#pass(trouble.milliseconds, life);
    }
    await this.#work(life);
    try {
      this.#checkLogin(head);
      const inAddress = head.query.get("query");
      const statement = this.#parse(inAddress ?? body.toString());
      return await database.execute({
        statement,
        body: inAddress === null ? "" : body.toString(),
        query: head.query,
        replica: draw(replicas),
        pace: { draw, pause: () => this.#work(life) },
        interruption: this.#interruption(statement, trouble),
      });
    } catch (error) {
      return { text: "", written: 0, error: this.#serverErrorOf(error) };
    }
  }

  /** The error of a trouble: thrown at once for a statement without parts, else by the insert in its course. */
  #interruption(statement: Statement, trouble: RequestTrouble | undefined) {
    if (trouble?.kind !== "error" && trouble?.kind !== "late error") return undefined;
    const text = (trouble.kind === "error" ? trouble.text : undefined) ?? textOf(trouble.code);
    const error = serverError(trouble.code, text);
    this.count(trouble.kind);
    if (statement.kind !== "insert") throw error;
    return { error, after: trouble.after ?? 0 };
  }

  #parse(text: string): Statement {
    const word = /^\w*/.exec(text)![0];
    this.statements.set(word, (this.statements.get(word) ?? 0) + 1);
    return parseStatement(text);
  }

  /** What ClickHouse says, or would say, of what went wrong. */
  #serverErrorOf(error: unknown): Exception {
    if (error instanceof Exception) {
      if (error.code === 115) this.unknown.push(error.message);
      return error;
    }
    if (!(error instanceof NotUnderstood)) throw error;
    this.unknown.push(`not understood: ${error.message}`);
    return serverError(62, `Syntax error: ${error.message}`);
  }

  #checkLogin(head: RequestHead): void {
    const { login } = this.#options;
    if (login === undefined) return;
    const expected = Buffer.from(`${login.username}:${login.password}`).toString("base64");
    if (head.headers.get("authorization") !== `Basic ${expected}`) throw serverError(516, textOf(516));
  }

  /** Without a wire there is nothing to say: the connection is reset. */
  async #send(wire: Wire | undefined, { connection, trouble, life }: Exchange): Promise<void> {
    if (trouble !== undefined && !countedBefore.has(trouble.kind)) this.count(trouble.kind);
    if (trouble?.kind === "answers late") await this.#pass(trouble.milliseconds, life);
    if (wire === undefined || trouble?.kind === "answer lost") return connection.reset();
    if (trouble?.kind === "slow") await this.#sendSlowly(wire, connection, trouble.milliseconds, life);
    else connection.write(wire.head + wire.body);
    if (wire.isLast) connection.end();
    connection.done();
  }

  async #sendSlowly({ head, body }: Wire, connection: HttpConnection, milliseconds: number, life: Life): Promise<void> {
    const text = head + body;
    for (let at = 0; at < text.length;) {
      const size = 1 + this.#options.draw(100);
      connection.write(text.slice(at, at + size));
      at += size;
      await this.#pass(milliseconds, life);
    }
  }

  #work(life: Life): Promise<void> {
    const [least, most] = this.#options.work;
    return this.#pass(least + this.#options.draw(Math.max(1, most - least)), life);
  }

  /** Lets time pass; throws `ServerGone` where the server was killed meanwhile. */
  async #pass(milliseconds: number, life: Life): Promise<void> {
    if (milliseconds > 0) await new Promise<void>((resolve) => void setTimeout(resolve, milliseconds));
    if (life !== this.#life) throw new ServerGone();
  }

  count(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1);
  }
}

/** Whether it writes rows to a table, and not to a copy of one that is probed. */
function isTableInsert(text: string | null): boolean {
  if (text?.startsWith("INSERT ") !== true) return false;
  try {
    const statement = parseStatement(text);
    return statement.kind === "insert" && statement.into.kind === "table";
  } catch {
    return false;
  }
}
