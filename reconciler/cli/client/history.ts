import { accuracyOf, type Accuracy, type Deviation, type OffChange } from "../../apply/accuracy.ts";
import type { HistoryPage, OperationRecord } from "../../apply/history.ts";
import { columns, facts, type Terminal } from "../invocation/terminal.ts";
import { daemonOf, pipelineUrl } from "../control/client.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/**
 * `sluice history [ID]`: what was planned and done for the pipelines, or for one of them, newest first. With `--accuracy`: how far
 * the plans were off.
 */
export async function history(invocation: Invocation, id?: string): Promise<ExitCode> {
  const url = id === undefined ? "/api/v1/history" : pipelineUrl(id, "/history");
  if (invocation.settings.isOn("accuracy")) return accuracy(invocation, url);
  const page = (await daemonOf(invocation).get(url)) as HistoryPage;
  return show(invocation, page, () =>
    id === undefined ? table(page.records, invocation.terminal) : page.records.map(story).join("\n\n"),
  );
}

/** Records of a page, and pages that are read: more than are kept. */
const [pageSize, mostPages] = [1_000, 10];

/** How far the plans of all changes that are kept were off. */
async function accuracy(invocation: Invocation, url: string): Promise<ExitCode> {
  const records: OperationRecord[] = [];
  let cursor = "";
  for (let page = 0; page < mostPages; page += 1) {
    const { records: found, next_cursor } = (await daemonOf(invocation).get(
      `${url}?limit=${pageSize}${cursor}`,
    )) as HistoryPage;
    records.push(...found);
    if (next_cursor === undefined) break;
    cursor = `&cursor=${next_cursor}`;
  }
  const found = accuracyOf(records);
  return show(invocation, found, () => accuracyText(found));
}

function accuracyText({ changes, applied, calls, off, ...figures }: Accuracy): string {
  if (changes === 0) return "There are no changes yet whose plan can be compared.";
  const rows: [string, string, Deviation][] = [
    ["events drained", "", figures.drained],
    ["pause", " ms", figures.pause_ms],
    ["dead letters dropped", "", figures.dead_letters_dropped],
  ];
  return [
    facts([
      ["changes", changes],
      ["carried out", `${applied} of ${changes}`],
      ["calls as planned", `${calls} of ${applied}`],
    ]),
    columns(
      ["FIGURE", "CHANGES", "PREDICTED", "HAPPENED", "OFF (MEDIAN)", "OFF (MOST)"],
      rows.map(([name, unit, one]) => [
        name,
        String(one.changes),
        ...[one.predicted, one.happened, one.median_off, one.most_off].map((value) => `${value}${unit}`),
      ]),
    ),
    ...(off.length === 0 ? [] : [offTable(off)]),
  ].join("\n\n");
}

/** Changes in a table; the document has all. */
const mostOff = 50;

function offTable(off: readonly OffChange[]): string {
  const shown = columns(
    ["ID", "REVISION", "RESULT", "PLANNED", "MADE", "MESSAGE"],
    off
      .slice(0, mostOff)
      .map(({ pipeline_id, revision, result, planned, made, message = "" }) => [
        pipeline_id,
        shortened(revision),
        result,
        planned.join(", "),
        made.join(", "),
        message.slice(0, 100),
      ]),
  );
  const more = off.length - mostOff;
  return more > 0 ? `${shown}\n… and ${more} more` : shown;
}

function table(records: readonly OperationRecord[], terminal: Pick<Terminal, "width">): string {
  if (records.length === 0) return "There are no changes yet.";
  return columns(
    ["ENDED", "ID", "CHANGE", "RESULT", "SECONDS", "PAUSE", "DRAINED", "REVISION", "AUTHOR", "SUBJECT"],
    records.map(({ ended, pipeline_id, plan, result, measured, revision, author = "", subject = "" }) => [
      ended,
      pipeline_id,
      plan.kind,
      result,
      measured.seconds.toFixed(1),
      pauseOf(measured.pause_ms) ?? "",
      String(measured.events_drained),
      shortened(revision),
      author,
      subject,
    ]),
    terminal,
  );
}

/** A change as it was planned, and its outcome. */
function story({ plan, measured, ...record }: OperationRecord): string {
  const { held } = plan;
  return facts([
    ["change", `${plan.kind}, because of ${plan.cause}`],
    ["revision", record.revision],
    ["author", record.author],
    ["subject", record.subject],
    ["planned", plan.reason],
    ["calls planned", plan.calls.join(", ")],
    ["fields", plan.fields.join(", ")],
    ["class planned", plan.level],
    ...(plan.costs ?? []).map((text): [string, string] => ["cost planned", text]),
    ["loss planned", plan.losses?.join("; ")],
    ["events held before", held?.events],
    ["pending batches before", held?.pending_batches],
    ["dead letters before", held?.dead_letters],
    ["lag before", held?.lag],
    ["keys before", held?.keys],
    ["events in the join before", held?.join_events],
    ["joined rows to write before", held?.join_rows],
    ["events to drain", plan.expects?.drained],
    ["dead letters to drop", plan.expects?.dead_letters_dropped || undefined],
    ["began", record.began],
    ["ended", record.ended],
    ["result", record.result],
    ["message", record.message],
    ["seconds", measured.seconds],
    ["pause", pauseOf(measured.pause_ms)],
    ["events drained", measured.events_drained],
    ["dead letters dropped", measured.dead_letters_dropped || undefined],
    [
      "calls made",
      measured.calls.map(({ call, result, seconds }) => `${call} ${result} ${seconds.toFixed(3)} s`).join(", "),
    ],
    ["calls that failed", measured.errors || undefined],
    ["retries", measured.retries || undefined],
    [
      "interrupted",
      record.interrupted === undefined ? undefined : `${record.interrupted} times, and completed after each`,
    ],
  ]);
}

function pauseOf(pause: number | undefined): string | undefined {
  return pause === undefined ? undefined : `${pause} ms`;
}

/** `main@sha1:0123456789ab` is enough to find a commit. */
function shortened(revision: string): string {
  return revision.replace(/(:[0-9a-f]{12})[0-9a-f]+$/, "$1");
}
