import type { Failure, Probe } from "../../../engine/core/sink.ts";
import { findBadRows } from "../../../engine/delivery/bad-rows.ts";
import { Event, EventList } from "../../../engine/event/event.ts";
import { foreignText } from "../../../engine/peers/foreign-text.ts";
import { targetNotAllowed } from "../../../engine/peers/targets.ts";
import { encodersFor } from "../../../engine/sinks/clickhouse/encode/row-encoders.ts";
import { commonSettings, tokenSetting } from "../../../engine/sinks/clickhouse/insert/insert-settings.ts";
import { refusalOf } from "../../../engine/sinks/clickhouse/insert/profile.ts";
import { missingTable } from "../../../engine/sinks/clickhouse/target/creation.ts";
import { whyAsynchronous } from "../../../engine/sinks/clickhouse/target/deduplication.ts";
import { whyTooOld } from "../../../engine/sinks/clickhouse/target/version.ts";
import { Connection } from "../../../engine/sinks/clickhouse/transport/connection.ts";
import { asAnswer, insertAnswer, statementAnswer } from "../../../engine/sinks/clickhouse/transport/failures.ts";
import {
  parseClientError,
  parseServerError,
  RequestError,
  type RequestFailure,
} from "../../../engine/sinks/clickhouse/transport/request-error.ts";
import { failureOf } from "../../../engine/sinks/clickhouse/transport/response.ts";
import { numberIn, textIn, textsIn } from "../../../engine/sinks/clickhouse/transport/rows.ts";
import { selectOn } from "../../../engine/sinks/clickhouse/transport/sql.ts";
import { normalise, type PipelineV3 } from "../../../schemas/index.ts";
import type { SinkConnection } from "../../../schemas/pipeline.ts";
import { fileOf, type LetterCase } from "./letters.ts";
import type { PauseCase, PauseSection, PauseText } from "./pauses.ts";

const server: SinkConnection = {
  host: "clickhouse",
  port: "8123",
  database: "default",
  username: "writer",
  password: "secret",
  secure: false,
  skip_certificate_verification: false,
};

const view = "default.orders_by_day";

/** What a failed insert of ten rows means. */
export async function failed(reason: RequestFailure, over: Partial<SinkConnection> = {}): Promise<Failure> {
  const connection = new Connection({ ...server, ...over });
  const answer = await asAnswer(
    connection,
    () => Promise.reject(new RequestError(reason)),
    (found) => insertAnswer(found, { views: [view], rows: 10, isOneBlock: true }),
  );
  return answer.failure;
}

/** A body with which ClickHouse refuses a statement. */
export function said(body: string): RequestFailure {
  const found = parseServerError(`${body} (version 26.7.2.1)`, undefined);
  if (found === undefined) throw new Error(`expected an error of ClickHouse, found ${body}`);
  return found;
}

const answers = (when: string, body: string): PauseCase => ({ when, pause: () => failed(said(body)) });

const clientError = (when: string, code: string, message: string, sent = false): PauseCase => ({
  when,
  pause: () => failed(parseClientError(Object.assign(new Error(message), { code }), sent)),
});

const id = "X-ClickHouse-Query-Id";

/** An HTTP answer to an insert with the query id `q1`. */
const http = (when: string, status: number, headers: Record<string, string>, text = ""): PauseCase => ({
  when,
  pause: () => {
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const found = failureOf({ queryId: "q1", status, headers: lower, text }, true, foreignText);
    if (found === undefined) throw new Error(`expected a failure: ${when}`);
    return failed(found);
  },
});

/** An answer about the table that is not as ClickHouse gives it. */
const garbled = (when: string, read: () => unknown): PauseCase => ({
  when,
  pause: () => {
    try {
      read();
    } catch (error) {
      if (error instanceof RequestError) return failed(error.failure);
      throw error;
    }
    throw new Error(`expected a failure: ${when}`);
  },
});

/** A statement that is never sent. */
const connecting = (when: string, over: Partial<SinkConnection>): PauseCase => ({
  when,
  pause: async () => {
    const connection = new Connection({ ...server, ...over });
    const run = (): Promise<string> => connection.run("SELECT 1", { signal: new AbortController().signal });
    const answer = await asAnswer(connection, run, statementAnswer);
    if (typeof answer === "string") throw new Error("expected a failure");
    return answer.failure;
  },
});

/** A SELECT whose answer has this text. */
async function selected(text: string): Promise<Failure> {
  const connection = { run: () => Promise.resolve(text) } as unknown as Connection;
  const failure = await selectOn(connection, new AbortController().signal)("SELECT 1").catch((error: unknown) => error);
  if (failure instanceof RequestError) return failed(failure.failure);
  throw new Error("expected a failure");
}

export const transient: PauseSection = {
  class: "transient",
  cases: [
    clientError("nothing listens at the address", "ECONNREFUSED", "connect ECONNREFUSED 10.0.0.7:8123"),
    clientError("the connection breaks within an insert", "ECONNRESET", "socket hang up", true),
    clientError("TLS breaks within an insert", "EPROTO", "write EPROTO: bad record mac", true),
    clientError("Sluice has as many files open as it may", "EMFILE", "connect EMFILE 10.0.0.7:8123"),
    clientError("the machine of Sluice has as many files open as it may", "ENFILE", "connect ENFILE 10.0.0.7:8123"),
    clientError("too many connections were made", "EADDRNOTAVAIL", "connect EADDRNOTAVAIL 10.0.0.7:8123"),
    { when: "the system gives no reason", pause: () => failed(parseClientError({}, false)) },
    clientError("the answer is not HTTP", "HPE_INVALID_CONSTANT", "Parse Error: Expected HTTP/"),
    http("a proxy answers without ClickHouse's headers", 200, {}),
    http("a proxy answers with a page", 200, { "Content-Type": "text/html" }, "<html>"),
    http("a proxy answers with content of no type", 200, {}, "?"),
    http("a proxy gives the answer to another statement", 200, { [id]: "q2" }),
    http("a proxy takes the summary out", 200, { [id]: "q1" }),
    http("a proxy changes the summary", 200, { [id]: "q1", "X-ClickHouse-Summary": "[]" }),
    http("a proxy cannot reach ClickHouse", 502, { "Content-Type": "text/html" }, "<html>Bad Gateway</html>"),
    { when: "an answer to a SELECT is no rows", pause: () => selected("<html>") },
    { when: "an answer to a SELECT has very many rows", pause: () => selected("{}\n".repeat(10_001)) },
    garbled("an answer about the table holds no text", () => textIn({ engine: {} }, "engine", "system.tables")),
    garbled("an answer about the table holds a long text", () =>
      numberIn({ uptime: "a".repeat(50) }, "uptime", "system.tables"),
    ),
    garbled("an answer about the table holds no texts", () =>
      textsIn({ data_paths: [1] }, "data_paths", "system.tables"),
    ),
    answers(
      "too many queries run",
      "Code: 202. DB::Exception: Too many simultaneous queries. Maximum: 100. (TOO_MANY_SIMULTANEOUS_QUERIES)",
    ),
    answers(
      "ClickHouse is out of memory",
      "Code: 173. DB::Exception: Allocator: Cannot malloc 4.00 MiB. (CANNOT_ALLOCATE_MEMORY)",
    ),
    answers(
      "an insert takes too much memory",
      "Code: 241. DB::Exception: Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED)",
    ),
    answers(
      "a disk of ClickHouse is full",
      "Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)",
    ),
    answers(
      "a quota is used up",
      "Code: 75. DB::ErrnoException: Cannot write to file: errno: 122, strerror: Disk quota exceeded. (CANNOT_WRITE_TO_FILE_DESCRIPTOR)",
    ),
    answers(
      "ClickHouse has as many files open as it may",
      "Code: 76. DB::ErrnoException: Cannot open file: errno: 24, strerror: Too many open files. (CANNOT_OPEN_FILE)",
    ),
    answers(
      "its machine has as many files open as it may",
      "Code: 76. DB::ErrnoException: Cannot open file: errno: 23, strerror: Too many open files in system. (CANNOT_OPEN_FILE)",
    ),
    answers(
      "a disk has no space for a file",
      "Code: 75. DB::ErrnoException: Cannot write: errno: 28, strerror: No space left on device. (CANNOT_WRITE_TO_FILE_DESCRIPTOR)",
    ),
    answers(
      "the machine of ClickHouse is out of memory",
      "Code: 1001. DB::Exception: std::exception: Cannot allocate memory, errno: 12. (STD_EXCEPTION)",
    ),
    answers(
      "ClickHouse can start no thread",
      "Code: 439. DB::Exception: Cannot schedule a task: Resource temporarily unavailable, errno: 11. (CANNOT_SCHEDULE_TASK)",
    ),
    answers("Keeper is away", "Code: 999. Coordination::Exception: Connection loss. (KEEPER_EXCEPTION)"),
    answers(
      "the table is read-only without Keeper",
      "Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)",
    ),
    answers("somebody cancels the insert", "Code: 394. DB::Exception: Query was cancelled. (QUERY_WAS_CANCELLED)"),
    answers("ClickHouse starts", "Code: 722. DB::Exception: Waiting for tables. (ASYNC_LOAD_WAIT_FAILED)"),
  ],
};

/** The sink of a file with the field `n` of type int, as it is stored in the column `n`. */
const given: LetterCase = { fields: ["n: int"], column: "Int64", event: "" };
const { sink } = normalise(fileOf(given) as unknown as PipelineV3);
const schemas = new Map([[undefined, [{ name: "n", type: "int" as const }]]]);

/** As the sink says what is wrong with its server. */
const setup = (text: string | undefined): PauseText => {
  if (text === undefined) throw new Error("expected a fault of the set-up, found none");
  return { class: "setup", text: `${new Connection(server).name}: ${text}` };
};
const ofTable = (text: string | undefined): PauseText => setup(text && `table default.orders ${text}`);

const column = (when: string, type: string, default_kind = "", name = "n"): PauseCase => ({
  when,
  pause: () => {
    const found = encodersFor({ sink, schemas, options: {} }, [{ name, type, default_kind }]);
    return ofTable(typeof found === "string" ? found : undefined);
  },
});

interface Held {
  value: string;
  min: string | null;
  max: string | null;
  readonly: number;
  isChanged: boolean;
}

const wanted = commonSettings(false);

const profile = (when: string, name: string, held: Partial<Held> | undefined): PauseCase => ({
  when,
  pause: () => {
    const free: Held = { value: "", min: null, max: null, readonly: 0, isChanged: false };
    const all = [...Object.entries(wanted), [tokenSetting, ""] as const];
    const found = new Map(all.map(([of, value]) => [of, { ...free, value: String(value) }]));
    if (held === undefined) found.delete(name);
    else found.set(name, { ...free, ...held });
    return setup(refusalOf(found, wanted, "writer"));
  },
});

const table = {
  database: "default",
  name: "orders",
  engine: "MergeTree",
  engine_full: "MergeTree SETTINGS async_insert = 1",
};

export const setups: PauseSection = {
  class: "setup",
  cases: [
    { when: "the table does not exist", pause: () => setup(missingTable(sink)) },
    column("the table has no such column", "Int64", "", "other"),
    column("the column is a Nested one, which the table has flattened", "Array(Int64)", "", "n.id"),
    column("the column is MATERIALIZED or ALIAS", "Int64", "MATERIALIZED"),
    column("the column has a type that no field feeds", "AggregateFunction(sum, Int64)"),
    column("the column has a type within that no field feeds", "Array(AggregateFunction(sum, Int64))"),
    column("the column has a type that this field does not feed", "UUID"),
    {
      when: "the table collects inserts",
      pause: async () => ofTable(await whyAsynchronous(() => Promise.resolve([]), table as never)),
    },
    {
      when: "ClickHouse is too old",
      pause: () => setup(whyTooOld("21.8.1.1")),
    },
    profile("the profile is read-only", "readonly", { value: "1" }),
    profile("the profile holds another value", "async_insert", { value: "1", readonly: 1 }),
    profile("the profile allows less", "max_insert_block_size", { value: "1000", max: "2000" }),
    profile("the profile allows more only", "async_insert", { value: "1", min: "1" }),
    profile("ClickHouse does not know a setting", "async_insert", undefined),
    profile("ClickHouse knows no tokens", tokenSetting, undefined),
    profile("the profile holds the token", tokenSetting, { value: "", readonly: 1 }),
    connecting("the port is none", { port: "0" }),
    connecting("the host is a URL", { host: "http://clickhouse" }),
    connecting("no embedded ClickHouse runs", { host: "embedded" }),
    answers("the login is wrong", "Code: 516. DB::Exception: writer: Authentication failed. (AUTHENTICATION_FAILED)"),
    answers(
      "a right is missing",
      "Code: 497. DB::Exception: writer: Not enough privileges. To execute this query, it's necessary to have the grant INSERT(n) ON default.orders. (ACCESS_DENIED)",
    ),
    http("the address is that of another service", 404, { "Content-Type": "text/html" }, "<html>"),
    http("the port is that of the native protocol", 400, {}, "Port 9000 is for clickhouse-client program"),
    clientError(
      "the certificate is not trusted",
      "SELF_SIGNED_CERT_IN_CHAIN",
      "self-signed certificate in certificate chain",
    ),
    clientError(
      "the operator does not allow the server",
      targetNotAllowed,
      "host clickhouse is not in targets: an operator allows it by adding clickhouse:8123 to targets in sluice.yaml",
    ),
    {
      when: "a copy of the table takes rows that the table refuses",
      pause: () => trouble(2, [{ kind: "found", rows: [] }]),
    },
  ],
};

const unparsable =
  "Code: 6. DB::Exception: Cannot parse string 'a' as Int64: (at row 1)\n: While executing ParallelParsingBlockInputFormat. (CANNOT_PARSE_TEXT)";
const denied = "GRANT CREATE TEMPORARY TABLE ON *.* TO `writer`";

/** What the search for the bad rows of a refused block ends with; `probes` are the answers of the server, in turn. */
async function trouble(rows: number, probes: Probe[], takesAny: "yes" | "no" = "yes"): Promise<PauseText> {
  const { row: _named, ...failure } = await failed(said(unparsable));
  const events = EventList.of(Array.from({ length: rows }, (_, at) => new Event(at + 1, 0, Buffer.from("{}"))));
  const block = { events, body: Buffer.from("{}\n".repeat(rows)) };
  const target = {
    read: () => Promise.resolve({}),
    hasWritten: () => false,
    takesAny: () => Promise.resolve(takesAny),
    probe: () => Promise.resolve(probes.shift()),
  };
  const refused = { record: { rejections: [] }, block, failure, codes: {} };
  const found = await findBadRows(refused as never, { revision: 1 } as never, target as never);
  if (found.kind !== "trouble") throw new Error("expected a fault of the table, found bad rows");
  return found.trouble;
}

const allBad = async (rows: number): Promise<Probe> => {
  const failure = await failed(said(unparsable));
  return { kind: "found", rows: Array.from({ length: rows }, (_, row) => ({ row, failure })) };
};

export const rows: PauseSection = {
  class: "row",
  cases: [
    {
      when: "the table takes no row of a batch, and no other value",
      pause: async () => trouble(12, [await allBad(12)], "no"),
    },
    {
      when: "the first hundred rows of a large batch fail alike, and the table takes no other value",
      pause: async () => trouble(500, [await allBad(100)], "no"),
    },
  ],
};

export const probes: PauseSection = {
  class: "probe",
  cases: [
    {
      when: "ClickHouse refuses rows and names none, and the user may create no temporary table",
      pause: () => trouble(2, [{ kind: "forbidden", grant: denied }]),
    },
  ],
};

export const partitions: PauseSection = {
  class: "partitions",
  cases: [
    answers(
      "an insert has rows of more partitions than the profile allows",
      "Code: 252. DB::Exception: Too many partitions for single INSERT block (more than 100). The limit is controlled by 'max_partitions_per_insert_block' setting. (TOO_MANY_PARTS)",
    ),
  ],
};

export const views: PauseSection = {
  class: "view",
  cases: [
    answers(
      "a materialized view fails",
      `Code: 6. DB::Exception: Cannot parse string 'a' as Int64: while pushing to view ${view}. (CANNOT_PARSE_TEXT)`,
    ),
  ],
};
