import type { HistoryPage, OperationRecord } from "../../apply/history.ts";
import { columns, facts } from "../invocation/terminal.ts";
import { daemonOf, pipelineUrl } from "../control/client.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/** `sluice history [ID]`: what was done to the pipelines, or to one of them, newest first. */
export async function history(invocation: Invocation, id?: string): Promise<ExitCode> {
  const url = id === undefined ? "/api/v1/history" : pipelineUrl(id, "/history");
  const page = (await daemonOf(invocation).get(url)) as HistoryPage;
  return show(invocation, page, () => (id === undefined ? table(page.records) : page.records.map(story).join("\n\n")));
}

function table(records: readonly OperationRecord[]): string {
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
      subject.slice(0, 60),
    ]),
  );
}

/** A change as it was planned, and its outcome. */
function story({ plan, measured, ...record }: OperationRecord): string {
  const { held } = plan;
  return facts([
    ["change", `${plan.kind} (${plan.effect}), because of ${plan.cause}`],
    ["revision", record.revision],
    ["author", record.author],
    ["subject", record.subject],
    ["planned", plan.reason],
    ["calls planned", plan.calls.join(", ")],
    ["fields", plan.fields.join(", ")],
    ["events held before", held?.events],
    ["pending batches before", held?.pending_batches],
    ["dead letters before", held?.dead_letters],
    ["began", record.began],
    ["ended", record.ended],
    ["result", record.result],
    ["message", record.message],
    ["seconds", measured.seconds],
    ["pause", pauseOf(measured.pause_ms)],
    ["events drained", measured.events_drained],
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
