import { setTimeout as sleep } from "node:timers/promises";
import { dump } from "js-yaml";
import type { PipelineHealth } from "../../../engine/index.ts";
import type { PipelineConfig } from "../../../schemas/index.ts";
import type { PipelineRecord } from "../../api/routes.ts";
import { printChange, reasonText } from "../../plan/render/index.ts";
import type { PipelineStatus, ReconcileSnapshot, TimedCondition } from "../../status/status.ts";
import { type ControlClient, daemonOf, pipelineUrl, RefusedError } from "../control/client.ts";
import { documentOf, type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { CliError } from "../invocation/cli-error.ts";
import { columns, facts, printable, printableLines } from "../invocation/terminal.ts";

/** Digits of a commit in the table. */
const shownDigits = 12;
/** Milliseconds between two looks of `--watch`. */
const watchEvery = 2_000;

/** `sluice get [ID]`: the source and all pipelines, with what keeps them from being ready; or one, with its file. */
export async function get(invocation: Invocation, id?: string): Promise<ExitCode> {
  const daemon = daemonOf(invocation);
  const [isWatched, isWide] = [invocation.settings.isOn("watch"), invocation.settings.isOn("get_wide")];
  if (isWide && (isWatched || id !== undefined))
    throw new CliError(`--wide is for the list of all pipelines: leave out ${isWatched ? "--watch" : "the ID"}`);
  if (id === undefined) return isWatched ? watch(invocation, daemon) : list(invocation, daemon);
  const snapshot = await snapshotOf(daemon);
  const status = snapshot.pipelines.find(({ pipeline_id }) => pipeline_id === id);
  const config = await configOf(daemon, id, status !== undefined);
  const health = config && ((await daemon.get(pipelineUrl(id, "/health"))) as PipelineHealth);
  return show(invocation, { ...config, ...(status && { reconcile: status }) }, () => {
    // A comment above the file, so that all of it is YAML.
    const head =
      status === undefined ? [] : statusLines(status, health).map((line) => `# ${printable(line)}`.trimEnd());
    const file = config === undefined ? [] : [dump(config, { lineWidth: 120 }).trimEnd()];
    return [...head, ...file].join("\n");
  });
}

/** The config in the engine; undefined where only the files know the pipeline. */
async function configOf(daemon: ControlClient, id: string, isInFiles: boolean): Promise<PipelineConfig | undefined> {
  try {
    return (await daemon.get(pipelineUrl(id))) as PipelineConfig;
  } catch (error) {
    if (error instanceof RefusedError && isInFiles) return undefined;
    throw error;
  }
}

/** What the reconciler knows. */
export async function snapshotOf(daemon: ControlClient): Promise<ReconcileSnapshot> {
  return (await daemon.get("/api/v1/reconcile")) as ReconcileSnapshot;
}

async function list(invocation: Invocation, daemon: ControlClient): Promise<ExitCode> {
  const [records, snapshot] = await seen(daemon);
  const found = new Map(snapshot.pipelines.map((one) => [one.pipeline_id, one]));
  const health = invocation.settings.isOn("get_wide") ? await healthOfAll(daemon) : undefined;
  const all = records.map((record) => {
    const { pipeline_id } = record;
    return { ...record, reconcile: found.get(pipeline_id), ...(health && { health: health.get(pipeline_id) }) };
  });
  return show(invocation, all, () => {
    const rows = rowsOf(records, snapshot);
    if (health === undefined) return columns(headings, rows, invocation.terminal);
    const wide = rows.map((row) => beforeMessage(row, figuresOf(health.get(row[0]!))));
    return columns(beforeMessage(headings, figures), wide, invocation.terminal);
  });
}

async function healthOfAll(daemon: ControlClient): Promise<Map<string, PipelineHealth>> {
  const all = (await daemon.get("/control/v1/health")) as PipelineHealth[];
  return new Map(all.map((one) => [one.pipeline_id, one]));
}

const figures = ["ROWS/S", "WAITS", "FRESHNESS", "DEAD LETTERS"];

/** A row of the table with more cells before its last one, which is the longest. */
function beforeMessage(row: readonly string[], more: readonly string[]): string[] {
  return [...row.slice(0, -1), ...more, row.at(-1)!];
}

/** `WAITS`: the events of its stream, or the offsets of its topics, that are not settled. */
function figuresOf(one: PipelineHealth | undefined): string[] {
  if (one === undefined) return figures.map(() => "");
  const waits = one.source === undefined ? one.stream?.messages : one.source.lag;
  return [
    String(Math.round(one.rows_per_second * 10) / 10),
    String(waits ?? "unknown"),
    freshnessText(one),
    String(one.dead_letters.total_messages),
  ];
}

/** Seconds, rounded up, so that only what has nothing that waits is 0. */
export function freshnessText({ freshness_seconds: seconds }: PipelineHealth): string {
  return seconds === undefined ? "unknown" : `${Math.ceil(seconds)} s`;
}

/** Prints the table, and then each row that has changed, until it is stopped. */
async function watch(invocation: Invocation, daemon: ControlClient): Promise<ExitCode> {
  const stopped = invocation.untilStopped();
  const watching = (signal: AbortSignal): Promise<ExitCode> => watchUntil(signal, invocation, daemon);
  const isTimed = invocation.settings.optional("watch_timeout") !== undefined;
  if (!isTimed) return watching(stopped);
  // Other commands that ask the daemon load nothing of the engine.
  const { withTimeLimit } = await import("../../../engine/language.ts");
  return withTimeLimit(stopped, invocation.settings.duration("watch_timeout"), watching);
}

async function watchUntil(signal: AbortSignal, invocation: Invocation, daemon: ControlClient): Promise<ExitCode> {
  // What is watched has no end that could be waited for.
  invocation.progress.end();
  let before = new Map<string, string>();
  for (;;) {
    const [records, snapshot] = await seen(daemon);
    const rows = rowsOf(records, snapshot);
    const texts = new Map(rows.map((row) => [row[0]!, row.join("\0")]));
    const changed = rows.filter(([id]) => texts.get(id!) !== before.get(id!));
    const gone = [...before.keys()].filter((id) => !texts.has(id));
    printChanged(invocation, changed, gone);
    before = texts;
    if (signal.aborted) return 0;
    await sleep(watchEvery, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return 0;
  }
}

/** With `--output json` a line of JSON for each row, and with `yaml` a document. */
function printChanged({ settings, terminal }: Invocation, changed: string[][], gone: readonly string[]): void {
  const output = settings.text("output");
  if (output === "text") {
    for (const id of gone) terminal.out(printable(`${id} is gone`));
    if (changed.length > 0) terminal.out(printableLines(columns(headings, changed, terminal)));
    return;
  }
  const rows = [...gone.map((name) => ({ name, gone: true })), ...changed.map(recordOf)];
  for (const row of rows) {
    terminal.out(printableLines(output === "json" ? JSON.stringify(row) : `---\n${documentOf(row, output)}`));
  }
}

const headings = ["NAME", "READY", "STATUS", "REASON", "REVISION", "SUSPENDED", "MESSAGE"];

function recordOf(row: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(headings.map((name, index) => [name.toLowerCase(), row[index] ?? ""]));
}

function seen(daemon: ControlClient): Promise<[PipelineRecord[], ReconcileSnapshot]> {
  return Promise.all([daemon.get("/api/v1/pipeline") as Promise<PipelineRecord[]>, snapshotOf(daemon)]);
}

/** The source, the pipelines of the engine, and those that only files describe. */
function rowsOf(records: readonly PipelineRecord[], snapshot: ReconcileSnapshot): string[][] {
  const found = new Map(snapshot.pipelines.map((one) => [one.pipeline_id, one]));
  const inEngine = new Set(records.map(({ pipeline_id }) => pipeline_id));
  // One that is to be moved is a row by the id of its file.
  const moves = new Set(snapshot.pipelines.flatMap(({ change }) => change.moved_from ?? []));
  const kept = records.filter(({ pipeline_id }) => !moves.has(pipeline_id) || found.has(pipeline_id));
  return [
    rowOf("source", "", { ...snapshot, suspended: snapshot.suspension !== undefined }),
    ...kept.map(({ pipeline_id, status }) => rowOf(pipeline_id, status, found.get(pipeline_id))),
    ...snapshot.pipelines
      .filter(({ pipeline_id }) => !inEngine.has(pipeline_id))
      .map((one) => rowOf(one.pipeline_id, one.status ?? "", one)),
  ];
}

type Observed = Pick<PipelineStatus, "conditions" | "lastAppliedRevision" | "suspended">;

/** `status`: in the engine. `observed` is undefined before the first look at the source. */
function rowOf(id: string, status: string, observed: Observed = { conditions: [], suspended: false }): string[] {
  const { conditions, lastAppliedRevision, suspended } = observed;
  const { status: ready, reason, message } = readyOf(conditions);
  return [id, ready, status, reason, short(lastAppliedRevision), String(suspended), message];
}

/** The condition `Ready`; unknown before the first look at the source has ended. */
function readyOf(conditions: readonly TimedCondition[]): Pick<TimedCondition, "status" | "reason" | "message"> {
  const found = conditions.find(({ type }) => type === "Ready");
  return found ?? { status: "Unknown", reason: "NotLookedAt", message: "the source was not looked at yet" };
}

/** `main@sha1:0123456789ab`. */
function short(revision = ""): string {
  return revision.replace(/(?<=:)[0-9a-f]{13,}$/, (digits) => digits.slice(0, shownDigits));
}

/** A line for each condition. What an earlier one says is not said again. */
export function conditionFacts(conditions: readonly TimedCondition[]): [string, string][] {
  return conditions.map(({ type, status, reason, message, lastTransitionTime }, index) => {
    const earlier = message !== "" && conditions.slice(0, index).find((one) => one.message === message);
    const said = earlier ? `, as ${earlier.type} says` : message === "" ? "" : `: ${message}`;
    return [type, `${status}, ${reason} since ${lastTransitionTime}${said}`];
  });
}

function statusLines(one: PipelineStatus, health: PipelineHealth | undefined): string[] {
  const { conditions, change, outcome, suspension } = one;
  const lines = facts([
    ["file", one.file],
    ["applied revision", one.lastAppliedRevision],
    ["oldest event not yet a row", health && freshnessText(health)],
    ...conditionFacts(conditions),
    ["suspended by", suspension && [suspension.by, suspension.reason].filter(Boolean).join(": ")],
    ["last result", outcome && `${outcome.kind}: ${outcome.result}`],
    ["next attempt", outcome?.next_attempt],
  ]).split("\n");
  const isHeldBack = change.cause === "Suspended" && change.fields.length > 0;
  const isPending = isHeldBack || (change.kind !== "no-op" && outcome?.result !== "applied");
  if (!isPending) return lines;
  const isReasonSaid = conditions.some(({ message }) => message.endsWith(reasonText(change.why)));
  const asked = printChange(change, isReasonSaid);
  return asked === "" ? lines : [...lines, "what the file asks for:", ...asked.split("\n")];
}
