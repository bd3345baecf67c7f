import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import type { Random } from "../support/random.ts";
import { HttpConnection, type RequestHead } from "../support/simulation/clickhouse/http.ts";
import { mutatedBytes, sentAs, type Sent } from "./peers-mutate.ts";
import { type Budget, send } from "./peers-net.ts";

/** A true answer over HTTP. */
export interface HttpAnswer {
  status: number;
  /** Names and values, one after the other. */
  headers: [string, string][];
  /** In base64. */
  body: string;
}

/** Requests with their answers in order, by what tells one request from another. */
export type HttpRecord = Record<string, HttpAnswer[]>;

interface HttpOptions {
  record: HttpRecord;
  random: Random;
  budget: Budget;
  /** What tells one request from another. */
  nameOf: (head: RequestHead, body: Buffer) => string;
  /** Puts into an answer what repeats something of the request. */
  adapt?: (answer: HttpAnswer, head: RequestHead) => HttpAnswer;
}

/** A server that answers as the true one did, and sometimes otherwise. */
export class ReplayedServer {
  readonly #options: HttpOptions;
  readonly #counts = new Map<string, number>();
  /** Requests that the true server never got. */
  readonly unknown: string[] = [];

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  readonly onSocket = (socket: Socket): void => {
    const connection = new HttpConnection(socket as never, {
      begin: () => undefined,
      handle: (head, body, at) => void this.#handle(socket, head, body).then(() => at.done()),
    });
    socket.once("close", () => connection.end());
  };

  async #handle(socket: Socket, head: RequestHead, body: Buffer): Promise<void> {
    const { record, budget, random, nameOf, adapt = (answer) => answer } = this.#options;
    const name = nameOf(head, body);
    const nth = this.#counts.get(name) ?? 0;
    this.#counts.set(name, nth + 1);
    const answers = record[name] ?? [];
    const recorded = answers[nth] ?? answers.at(-1);
    if (recorded === undefined) this.unknown.push(name);
    const answer = adapt(recorded ?? { status: 404, headers: [], body: "" }, head);
    if (budget.takes()) return send(socket, mutatedHttp(answer, random));
    if (socket.writable) socket.write(bytesOf(answer));
  }
}

/** An answer as bytes, with its length unless it says how long it is. */
function bytesOf({ status, headers, body }: HttpAnswer, content = Buffer.from(body, "base64")): Buffer {
  const isSized = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const all: [string, string][] = isSized ? headers : [...headers, ["Content-Length", String(content.length)]];
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Some reason\r\n${lines}\r\n`, "latin1"), content]);
}

const statuses = [
  100, 101, 103, 200, 201, 204, 206, 301, 302, 304, 307, 400, 401, 404, 408, 413, 429, 500, 502, 503, 504, 999, 0,
];
const names = [
  ..."X-ClickHouse-Summary X-ClickHouse-Exception-Code X-ClickHouse-Query-Id X-ClickHouse-Format X-ClickHouse-Timezone".split(
    " ",
  ),
  ..."Content-Encoding Content-Length Content-Type Transfer-Encoding Connection Keep-Alive Retry-After Location Set-Cookie".split(
    " ",
  ),
  ..."Trailer Upgrade WWW-Authenticate Date Git-Protocol".split(" "),
];
const values = [
  ...'null [] {} 1 "x" NaN -1 0 1e999 gzip deflate br x-gzip chunked identity close keep-alive timeout=0 timeout=-1 gzip,gzip'.split(
    " ",
  ),
  "",
  " ",
  "9".repeat(400),
  "x".repeat(20_000),
  '{"written_rows":null}',
  '{"__proto__":{"x":1}}',
  "http://127.0.0.1:1/",
  "/elsewhere",
  "\u00e9\u00ff",
];

type HttpMutation = (answer: HttpAnswer, random: Random) => HttpAnswer;

const mutations: readonly HttpMutation[] = [
  function otherStatus(answer, random) {
    return { ...answer, status: random.pick(...statuses) };
  },
  function removeHeader({ headers, ...answer }, random) {
    return { ...answer, headers: headers.toSpliced(random.below(headers.length), 1) };
  },
  function repeatHeader({ headers, ...answer }, random) {
    const one = headers[random.below(headers.length)] ?? ["X", "y"];
    return { ...answer, headers: [...headers, ...Array<[string, string]>(random.pick(1, 1, 3, 200)).fill(one)] };
  },
  function otherValue({ headers, ...answer }, random) {
    const at = random.below(headers.length);
    const value = random.pick(...values);
    return { ...answer, headers: headers.map((pair, index) => (index === at ? [pair[0], value] : pair)) };
  },
  function anotherHeader({ headers, ...answer }, random) {
    const name = random.pick(...names);
    const others =
      random.below(2) === 0 ? headers : headers.filter(([own]) => own.toLowerCase() !== name.toLowerCase());
    return { ...answer, headers: [...others, [name, random.pick(...values)]] };
  },
  function compressed(answer, random) {
    const plain = random.below(40) === 0 ? Buffer.alloc(32 << 20) : Buffer.from(answer.body, "base64");
    const packed = random.pick(gzipSync, deflateSync)(plain, { level: 1 });
    const body = random.pick(packed, packed.subarray(0, random.below(packed.length)), mutatedBytes(packed, random));
    const encoding: [string, string] = ["Content-Encoding", random.pick("gzip", "gzip", "deflate", "br", "zstd")];
    return { ...answer, headers: [...answer.headers, encoding], body: body.toString("base64") };
  },
  function chunked(answer, random) {
    const body = Buffer.from(answer.body, "base64");
    const size = random.pick(body.length.toString(16), "0", "-1", "ffffffff", "ffffffffffffffffff", "x", "", "1");
    const end = random.pick("\r\n0\r\n\r\n", "", "\r\n", "\r\n0\r\nX-Trailer: null\r\n\r\n", "0\r\n");
    const all = Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from(end)]);
    return { ...answer, headers: [...answer.headers, ["Transfer-Encoding", "chunked"]], body: all.toString("base64") };
  },
  function otherBody(answer, random) {
    return { ...answer, body: mutatedBytes(Buffer.from(answer.body, "base64"), random).toString("base64") };
  },
  function otherJson(answer, random) {
    const lines = Buffer.from(answer.body, "base64").toString("utf8").split("\n");
    const changed = lines.map((line) =>
      line.startsWith("{") && random.below(2) === 0 ? mutatedRow(line, random) : line,
    );
    return { ...answer, body: Buffer.from(changed.join("\n")).toString("base64") };
  },
  function exception(answer, random) {
    const code = random.pick("0", "60", "62", "241", "252", "469", "516", "999", "-1", "null", "1e9", "9".repeat(30));
    const text = `Code: ${code}. DB::Exception: at row ${random.pick(0, 1, -1, 2 ** 53)} (SOME_NAME) (version 26.7.2.1)`;
    const headers: [string, string][] = [...answer.headers, ["X-ClickHouse-Exception-Code", code]];
    return { ...answer, status: random.pick(200, 400, 500), headers, body: Buffer.from(text).toString("base64") };
  },
];

const odd: readonly unknown[] = [
  null,
  [],
  {},
  "",
  "0",
  -1,
  1e308,
  true,
  [null],
  { a: 1 },
  "x".repeat(2_000),
  "\0",
  "9".repeat(40),
];

/** A row of JSON whose members are missing or of other types. */
function mutatedRow(line: string, random: Random): string {
  try {
    const row = JSON.parse(line) as Record<string, unknown>;
    const keys = Object.keys(row);
    const key = keys[random.below(keys.length)] ?? "x";
    if (random.below(4) === 0) delete row[key];
    else row[key] = random.pick(...odd);
    return random.below(12) === 0 ? JSON.stringify(random.pick(...odd)) : JSON.stringify(row);
  } catch {
    return line;
  }
}

function mutatedHttp(answer: HttpAnswer, random: Random): Sent {
  let changed = answer;
  for (let count = random.pick(0, 1, 1, 1, 2, 3); count > 0; count -= 1)
    changed = random.pick(...mutations)(changed, random);
  const bytes = bytesOf(changed);
  if (changed === answer || random.below(12) === 0) return sentAs(mutatedBytes(bytes, random), random);
  if (random.below(12) === 0) return sentAs(Buffer.concat([Buffer.from("HTTP/1.1 103 Early\r\n\r\n"), bytes]), random);
  return sentAs(bytes, random);
}

/** A short name of bytes. */
export function digest(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 12);
}
