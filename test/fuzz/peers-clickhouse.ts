import { setMaxListeners } from "node:events";
import type { Sink } from "../../engine/core/sink.ts";
import { Event } from "../../engine/event/event.ts";
import { type Field, sinkOn } from "../integration/sink/support.ts";
import { encoded } from "../support/encoded.ts";
import { Random } from "../support/random.ts";
import type { RequestHead } from "../support/simulation/clickhouse/http.ts";
import { digest, type HttpAnswer, type HttpRecord, ReplayedServer } from "./peers-http.ts";
import { Budget, type Certificate, listen } from "./peers-net.ts";
import { within } from "./peers-time.ts";

const fields: Field[] = [
  ["id", "int", "Int64"],
  ["name", "string", "String"],
];
const never = new AbortController().signal;
// As that of a pipeline: calls of many cases wait with it.
setMaxListeners(0, never);
/** The longest time of one call, in milliseconds: that of a client which gives a server up, and more. */
const patience = 60_000;
const idHeader = "x-clickhouse-query-id";

/** A table of the server, with the columns of the sink and a constraint on `id`. */
export const table = "peers";
export const creation = `CREATE TABLE d.${table} (id Int64, name String, CONSTRAINT small CHECK id < 1000) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000`;

type Step = (sink: Sink) => Promise<boolean>;

const blockOf = (sink: Sink, ...ids: number[]): ReturnType<typeof encoded> =>
  encoded(
    sink,
    ids.map((id, at) => new Event(at + 1, 1, Buffer.from(JSON.stringify({ id, name: "x" })))),
  );

/** What a pipeline asks of its sink, each with whether the server answered as the true one does. */
const steps: readonly Step[] = [
  async (sink) => (await sink.check(never)).kind === "ok",
  async (sink) => (await sink.open(never)).kind === "ok",
  async (sink) => (await sink.read(true, never)).kind === "read",
  async (sink) => (await sink.insert(blockOf(sink, 1, 2), "token", never)).kind === "ok",
  async (sink) => (await sink.insert(blockOf(sink, 1, 5_000), "token", never)).kind === "refused",
  async (sink) => (await sink.probe(blockOf(sink, 1, 5_000), never)).kind === "found",
  async (sink) => (await sink.takesAny(never)) === "yes",
  (sink) => sink.isReachable(never),
  async (sink) => (await sink.read(true, never)).kind === "read",
];

/** Statements without what each of them draws: names of temporary tables and ids. */
export function statementName({ path, query }: RequestHead, body: Buffer): string {
  const given = query.get("query");
  const statement = given === null ? body.toString("utf8") : `${given} ${digest(body)}`;
  return `${path} ${statement.replaceAll(/[0-9a-f]{8}[-_]?([0-9a-f]{4}[-_]?){3}[0-9a-f]{12}/g, "*")}`;
}

/** Does everything that a pipeline asks of its sink, once, on a true server. */
export async function useClickHouse(server: { url: string; username: string; password: string }): Promise<void> {
  const sink = sinkOn(server, { fields, table });
  for (const [at, step] of steps.entries()) {
    if (!(await step(sink))) throw new Error(`step ${at}: expected the answer of a true server, found another`);
  }
  await sink.close();
}

/** One case: a sink on a server some of whose answers are mutated. Throws where it does not stay sound. */
export async function clickHouseCase(record: HttpRecord, certificate: Certificate, seed: number): Promise<number> {
  const random = new Random(seed);
  const budget = new Budget(random.pick(1, 2, 4, 8, 16), random);
  const server = new ReplayedServer({ record, random, budget, nameOf: statementName, adapt: withQueryId });
  const tls = random.below(8) === 0 ? { certificate, budget, random } : undefined;
  const listener = await listen({ onSocket: server.onSocket, ...(tls && { tls }) });
  const url = `${tls ? "https" : "http"}://127.0.0.1:${listener.port}`;
  const connection = { secure: tls !== undefined, skip_certificate_verification: tls !== undefined };
  const sink = sinkOn({ url, username: "user", password: "secret" }, { fields, table, connection });
  try {
    for (let turn = 0; budget.left > 0 && turn < 4; turn += 1) {
      for (const [at, step] of steps.entries()) await call(sink, step, `step ${at}`);
    }
    budget.left = 0;
    // A connection that a mutated answer has left in disorder may take the first true one with it.
    await call(sink, steps[1]!, "open");
    for (const [at, step] of steps.entries()) {
      if (await call(sink, step, `step ${at}`)) continue;
      if (!(await call(sink, step, `step ${at} again`)))
        throw new Error(`step ${at}: no true answer is taken any more`);
    }
  } finally {
    await within(patience, sink.close(), () => "the sink does not close");
    listener.close();
  }
  return budget.spent;
}

function call(sink: Sink, step: Step, name: string): Promise<boolean> {
  return within(patience, step(sink), () => `${name}: no end within ${patience} ms`);
}

/** An answer names the statement that it is for. */
function withQueryId(answer: HttpAnswer, { query }: RequestHead): HttpAnswer {
  const id = query.get("query_id") ?? "";
  const headers = answer.headers.map(([name, value]): [string, string] => [
    name,
    name.toLowerCase() === idHeader ? id : value,
  ]);
  return { ...answer, headers };
}
