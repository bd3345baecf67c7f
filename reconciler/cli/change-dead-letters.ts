import type { DeadLetter, Discarded, Reprocessed } from "../../engine/index.ts";
import { CliError } from "./cli-error.ts";
import { letterTable } from "./inspect-dead-letters.ts";
import { daemonOf } from "./inspect-pipelines.ts";
import type { ExitCode, Invocation } from "./invocation.ts";
import { show } from "./show.ts";

/** `sluice dlq consume ID`: takes the oldest dead letters out and prints them. What is printed is gone from the queue. */
export async function consume(invocation: Invocation, id: string): Promise<ExitCode> {
  const limit = invocation.settings.text("dlq_limit");
  const letters = (await daemonOf(invocation).post(`${urlOf(id)}/consume?limit=${limit}`)) as DeadLetter[];
  return show(invocation, letters, () => letterTable({ messages: letters }));
}

/** `sluice dlq purge ID`: takes every dead letter out. */
export async function purge(invocation: Invocation, id: string): Promise<ExitCode> {
  const purged = (await daemonOf(invocation).post(`${urlOf(id)}/purge`)) as { purged_count: number };
  return show(invocation, purged, () => `Purged ${purged.purged_count} dead letters of ${id}.`);
}

/** `sluice dlq discard ID [MESSAGE_ID...]`: takes some dead letters out, or with `--all` every one. */
export async function discard(invocation: Invocation, id: string, message_ids: string[]): Promise<ExitCode> {
  const body = selection(invocation, message_ids);
  const discarded = (await daemonOf(invocation).post(`${urlOf(id)}/discard`, body)) as Discarded;
  const code = show(invocation, discarded, () => `Discarded ${discarded.discarded_count} dead letters of ${id}.`);
  return tellUnknown(invocation, discarded.unknown, code);
}

/** `sluice dlq reprocess ID [MESSAGE_ID...]`: sends events through the pipeline again. */
export async function reprocess(invocation: Invocation, id: string, message_ids: string[]): Promise<ExitCode> {
  const body = selection(invocation, message_ids);
  const accepted = (await daemonOf(invocation).post(`${urlOf(id)}/reprocess`, body)) as Reprocessed;
  const code = show(
    invocation,
    accepted,
    () => `${accepted.accepted_count} dead letters of ${id} go through the pipeline again (${accepted.request_id}).`,
  );
  return tellUnknown(invocation, accepted.unknown, code);
}

function selection({ settings }: Invocation, message_ids: string[]): object {
  const isAll = settings.isOn("dlq_all");
  if (isAll === message_ids.length > 0) {
    throw new CliError(
      `expected ids of dead letters, or --all${isAll ? ", not both" : ": sluice dlq list names them"}`,
    );
  }
  return isAll ? { mode: "all" } : { mode: "selected", message_ids };
}

function tellUnknown({ terminal }: Invocation, unknown: readonly string[], code: ExitCode): ExitCode {
  if (unknown.length === 0) return code;
  terminal.err(`No such dead letter, or it is being reprocessed: ${unknown.join(", ")}`);
  return 1;
}

function urlOf(id: string): string {
  return `/control/v1/pipeline/${encodeURIComponent(id)}/dlq`;
}
