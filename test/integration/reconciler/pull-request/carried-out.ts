import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { OperationRecord } from "../../../../reconciler/apply/history.ts";
import { load } from "../../../../reconciler/desired/load.ts";
import type { DesiredPipeline } from "../../../../reconciler/desired/desired-state.ts";
import type { PlanReport } from "../../../../reconciler/preview/report.ts";
import { previewOf } from "../../../../reconciler/preview/preview.ts";
import { reportOf } from "../../../../reconciler/preview/report.ts";
import type { TestEngine } from "../../../support/engine.ts";
import type { PullRequest } from "../../../unit/preview/pull-requests.ts";
import { reportFor } from "../../../unit/preview/sides.ts";
import type { Passage } from "./expected.ts";
import { type Servers, type Side, sidesOf, withoutNumber } from "./files.ts";
import { Flow, type Inlet } from "./flow.ts";
import { fatesUnsaid } from "./fates.ts";
import { Repository } from "./repository.ts";
import { bring, viewUnsaid } from "./trouble.ts";
import { eventsUnsaid, lettersUnsaid, refusalsUnsaid } from "./unsaid.ts";

export interface Stage extends Servers {
  engine: TestEngine;
  secrets: Readonly<Record<string, string>>;
}

/** What `sluice plan` said of a pull request, and what happened when it was merged. */
export interface CarriedOut {
  said: string[];
  done: string[];
  /** Errors of files, each as its file and code. */
  errors: { said: string[]; found: string[] };
  /** What events and senders met, and the plan did not say. */
  unsaid: string[];
  /** What the reconciler says after the merge. */
  explanation: string;
}

/** Milliseconds. */
const patience = 15_000;

/** Merges a pull request into a repository of its own while events flow, and compares what happens with its plan. */
export async function carriedOut(request: PullRequest, number: number, stage: Stage): Promise<CarriedOut> {
  const sides = sidesOf(request, number, stage);
  // One that is suspended from its first commit on is not there.
  const before = desiredOf(sides.base).filter(({ directives }) => !directives.suspend);
  const after = desiredOf(sides.head);
  const topics = new Set([...before, ...after].flatMap(topicsOf));
  const repository = await Repository.create(join(stage.engine.dataDir, "pull-requests", `${number}`), stage.engine);
  try {
    for (const topic of topics) await stage.kafka.topics.create(topic);
    const flow = new Flow(
      stage.engine,
      stage.kafka,
      inletsOf([...before, ...after]),
      stage.secrets,
      partnersOf([...before, ...after]),
    );
    const report = reportBetween(sides.base, sides.head);
    const passages = passagesOf(before, after, report);
    const early = await begin(repository, sides.base, before, flow, stage);
    await prepare(report, stage);
    if (request.trouble !== undefined) await bring(request.trouble, before[0]!, flow, stage);
    const merged = repository.merge(sides.head);
    await flow.sendUntil(merged);
    const counts = await finish(passages, [...before, ...after], flow, stage);
    return {
      said: saidOf(reportFor(request)),
      done: (await merged).map((record) => withoutNumber(lineOf(record), number)).toSorted(),
      errors: { said: errorsOf(reportFor(request).errors), found: errorsOf(repository.errors()) },
      unsaid: [
        ...eventsUnsaid(flow.sent, passages, counts),
        ...fatesUnsaid(flow.sent, passages, [early, counts]),
        ...(request.trouble === undefined ? [] : await viewUnsaid(request.trouble, before[0]!, stage)),
        ...lettersUnsaid(flow.sent, passages, stage.engine),
        ...refusalsUnsaid(flow, passages),
      ],
      explanation: repository.explanation(),
    };
  } finally {
    for (const { pipeline_id } of [...before, ...after]) await remove(pipeline_id, stage.engine);
    for (const topic of topics) await stage.kafka.topics.delete(topic);
  }
}

/** The pipelines of the base, and some events that they have written. */
async function begin(
  repository: Repository,
  base: Side,
  before: readonly DesiredPipeline[],
  flow: Flow,
  stage: Stage,
): Promise<Map<number, number>> {
  await prepare(reportBetween({ files: {}, variables: {} }, base), stage);
  await repository.merge(base);
  await flow.admit(before);
  await settled(before, stage);
  await flow.send("before");
  return written(flow, passagesOf(before, before, { changes: [] }), before, stage);
}

/** New events and repeats, and then the rows of all events. */
async function finish(
  passages: readonly Passage[],
  all: readonly DesiredPipeline[],
  flow: Flow,
  stage: Stage,
): Promise<Map<number, number>> {
  const present = passages.flatMap((one) => (one.after === undefined ? [] : [one.after]));
  await flow.admit(present);
  await settled(present, stage);
  await flow.send("after");
  await flow.repeat();
  await settled(present, stage);
  return written(flow, passages, all, stage);
}

function lineOf({ pipeline_id, plan, result, measured }: OperationRecord): string {
  const calls = measured.calls.map(({ call }) => call).join(", ");
  return `${pipeline_id}: ${plan.kind} (${plan.level}, ${plan.effect}, ${plan.events}) by ${calls}${result === "applied" ? "" : `: ${result}`}`;
}

function loaded({ files, variables }: Side): ReturnType<typeof load> {
  const sources = Object.entries(files)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
  return load(sources, new Map(Object.entries(variables)));
}

function desiredOf(side: Side): DesiredPipeline[] {
  return loaded(side).pipelines;
}

function reportBetween(base: Side, head: Side): PlanReport {
  const [from, to] = [base, head].map((side) => ({ desired: loaded(side), skipped: [] }));
  return reportOf(previewOf(from!, to!, { count: 5, share: 20 }), { name: "main" }, { name: "head" });
}

function topicsOf({ config }: DesiredPipeline): string[] {
  return config.sources.flatMap((source) => (source.type === "kafka" ? [source.topic] : []));
}

/** Where events can be sent that their pipeline takes. */
function inletsOf(pipelines: readonly DesiredPipeline[]): Inlet[] {
  const found = pipelines.flatMap(({ pipeline_id, config }) =>
    config.sources.flatMap((source): Inlet[] => {
      if ("schema_fields" in source && !source.schema_fields.some(isNumber)) return [];
      if (source.type === "kafka") return [{ kind: "topic", name: source.topic }];
      return source.type === "webhook" ? [{ kind: "webhook", name: pipeline_id }] : [];
    }),
  );
  return [...new Map(found.map((one) => [`${one.kind} ${one.name}`, one])).values()];
}

/** The right topic of each join, by its left one. */
function partnersOf(pipelines: readonly DesiredPipeline[]): Map<string, string> {
  const found = pipelines.flatMap(({ config }): [string, string][] => {
    const [left, right] = [config.join?.left_source, config.join?.right_source].map((side) =>
      config.sources.find(({ source_id }) => source_id === side?.source_id),
    );
    return left?.type === "kafka" && right?.type === "kafka" ? [[left.topic, right.topic]] : [];
  });
  return new Map(found);
}

function isNumber({ name, type }: { name: string; type: string }): boolean {
  return name === "id" && (type === "int" || type === "uint");
}

/** What a plan leaves to a person. */
async function prepare({ changes }: PlanReport, stage: Stage): Promise<void> {
  for (const { host, by, statements } of changes.flatMap(({ tables }) => tables)) {
    if (by !== "person") continue;
    for (const statement of statements) {
      if (host === "embedded") await stage.engine.engine.sql(statement);
      else await stage.clickhouse.client.command({ query: statement });
    }
  }
}

/** How often each id stands in the tables, once nothing is missing, or `patience` later. */
async function written(
  { sent }: Flow,
  passages: readonly Passage[],
  all: readonly DesiredPipeline[],
  stage: Stage,
): Promise<Map<number, number>> {
  const last = Date.now() + patience;
  for (;;) {
    const counts = await countsOf(all, stage);
    const isMissing = eventsUnsaid(sent, passages, counts).length > 0;
    if (!isMissing || Date.now() > last) return counts;
    await sleep(50);
  }
}

/** Until the pipelines that run have written what waits in their streams, and know where their topics end. */
async function settled(pipelines: readonly DesiredPipeline[], { engine }: Stage): Promise<void> {
  const end = Date.now() + patience;
  for (const { pipeline_id } of pipelines) {
    for (;;) {
      if (!engine.engine.list().some((one) => one.pipeline_id === pipeline_id)) break;
      const { overall_status, stream, pending_batches, source } = engine.engine.health(pipeline_id);
      const isDone = source === undefined ? pending_batches === 0 && stream?.messages === 0 : source.lag !== undefined;
      if (overall_status !== "Running" || isDone) break;
      if (Date.now() > end) throw new Error(`${pipeline_id}: expected it to write its events in time`);
      await sleep(20);
    }
  }
}

/** How often each id stands in the tables of the pull request. */
async function countsOf(pipelines: readonly DesiredPipeline[], stage: Stage): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const sinks = new Map(
    pipelines.map(({ config: { sink } }) => [`${sink.connection_params.host} ${sink.table}`, sink]),
  );
  for (const { connection_params, table, mapping } of sinks.values()) {
    if (!mapping.some(({ column_name }) => column_name === "id")) continue;
    const query = `SELECT toInt64OrZero(toString(id)) AS id, toInt32(count()) AS times FROM ${table} GROUP BY id`;
    const rows = await rowsIn(connection_params.host, query, stage);
    for (const { id, times } of rows) counts.set(Number(id), (counts.get(Number(id)) ?? 0) + times);
  }
  return counts;
}

async function rowsIn(host: string, query: string, stage: Stage): Promise<{ id: string; times: number }[]> {
  try {
    return host === "embedded" ? await stage.engine.rows(query) : await stage.clickhouse.query(query);
  } catch (error) {
    // A table of a pipeline that was refused.
    if (String(error).includes("UNKNOWN_TABLE")) return [];
    throw error;
  }
}

function passagesOf(
  before: readonly DesiredPipeline[],
  after: readonly DesiredPipeline[],
  report: Pick<PlanReport, "changes">,
): Passage[] {
  const ids = new Set([...before, ...after].map(({ pipeline_id }) => pipeline_id));
  for (const { moved_from } of report.changes) if (moved_from !== undefined) ids.delete(moved_from);
  return [...ids].map((id) => passageOf(id, before, after, report));
}

/** What is desired after the merge: the plan says which changes are made. */
function passageOf(
  id: string,
  before: readonly DesiredPipeline[],
  after: readonly DesiredPipeline[],
  { changes }: Pick<PlanReport, "changes">,
): Passage {
  const change = changes.find(({ pipeline_id }) => pipeline_id === id);
  const from = before.find(({ pipeline_id }) => pipeline_id === (change?.moved_from ?? id));
  const isMade = change !== undefined && change.calls.length > 0;
  const to = isMade
    ? change.kind === "delete"
      ? undefined
      : after.find(({ pipeline_id }) => pipeline_id === id)
    : from;
  return {
    id,
    ...(from !== undefined && { before: from }),
    ...(to !== undefined && { after: to }),
    ...(change !== undefined && { change }),
  };
}

function saidOf({ changes }: PlanReport): string[] {
  return changes
    .filter(({ calls }) => calls.length > 0)
    .map(
      ({ pipeline_id, kind, level, effect, events, calls }) =>
        `${pipeline_id}: ${kind} (${level}, ${effect}, ${events}) by ${calls.join(", ")}`,
    )
    .toSorted();
}

function errorsOf(problems: readonly { file: string; code: string }[]): string[] {
  return problems.map(({ file, code }) => `${file}: ${code}`).toSorted();
}

async function remove(id: string, { engine }: TestEngine): Promise<void> {
  if (!engine.list().some(({ pipeline_id }) => pipeline_id === id)) return;
  if (engine.get(id).status !== "Terminated") await engine.terminate(id);
  await engine.delete(id);
}
