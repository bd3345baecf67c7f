import type { DeadLetter, DeadLetterPage, DeadLetterState, Discarded, Reprocessed } from "../../../engine/index.ts";
import { columns, facts, printable, type Terminal } from "../invocation/terminal.ts";
import { daemonOf, pipelineUrl } from "../control/client.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { CliError } from "../invocation/cli-error.ts";

/** Characters of an event that a line of the table shows. `--output json` shows all. */
const shownOfMessage = 60;

/** `sluice dlq state ID`. */
export async function deadLetterState(invocation: Invocation, id: string): Promise<ExitCode> {
  const state = (await daemonOf(invocation).get(pipelineUrl(id, "/dlq/state"))) as DeadLetterState;
  return show(invocation, state, () =>
    facts([
      ["dead letters", state.total_messages],
      ["not yet consumed", state.unconsumed_messages],
      ["pauses at", state.max_messages],
      ["bytes", state.bytes],
      ["pauses at bytes", state.max_bytes],
      ["last received", state.last_received_at ?? "never"],
      ["last consumed", state.last_consumed_at ?? "never"],
    ]),
  );
}

/** `sluice dlq list ID [CURSOR]`: a page of dead letters, oldest first. Takes nothing out. */
export async function deadLetterList(invocation: Invocation, id: string, cursor?: string): Promise<ExitCode> {
  const filter = filterOf(invocation);
  const page = await pageOf(invocation, id, filter, cursor);
  const code = show(invocation, page, () => letterTable(page, invocation.terminal));
  if (page.next_cursor !== undefined) {
    const flags = Object.entries(filter).map(([name, value]) => ` --${name} ${value}`);
    invocation.terminal.err(printable(`There are more: sluice dlq list ${id} ${page.next_cursor}${flags.join("")}`));
  }
  return code;
}

/** What the flags ask for, with times in ISO 8601. */
function filterOf({ settings }: Invocation): Record<string, string> {
  const [component, reason] = [settings.optional("dlq_component"), settings.optional("dlq_reason")];
  const [since, until] = [settings.moment("dlq_since"), settings.moment("dlq_until")];
  return {
    ...(component !== undefined && { component }),
    ...(reason !== undefined && { reason }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

/** A page as long as it was asked for, if there are so many: where few are as the filter says, an answer may have fewer. */
async function pageOf(
  invocation: Invocation,
  id: string,
  filter: Record<string, string>,
  first?: string,
): Promise<DeadLetterPage> {
  const [daemon, most] = [daemonOf(invocation), invocation.settings.number("dlq_limit")];
  const messages: DeadLetter[] = [];
  for (let cursor = first; ;) {
    const limit = String(most - messages.length);
    const query = new URLSearchParams({ ...filter, limit, ...(cursor && { cursor }) });
    const url = `/control/v1/pipeline/${encodeURIComponent(id)}/dlq/list?${query.toString()}`;
    const page = (await daemon.get(url)) as DeadLetterPage;
    messages.push(...page.messages);
    if (page.next_cursor === undefined || messages.length >= most) return { ...page, messages };
    cursor = page.next_cursor;
  }
}

/** Dead letters as a table for people. */
function letterTable({ messages }: Pick<DeadLetterPage, "messages">, terminal: Pick<Terminal, "width">): string {
  if (messages.length === 0) return "There are no dead letters.";
  return columns(
    ["ID", "RECEIVED", "COMPONENT", "REASON", "ERROR", "EVENT"],
    messages.map((letter) => [
      letter.message_id,
      letter.received_at,
      letter.component,
      letter.reason,
      letter.error,
      shorten(letter.encoding === undefined ? letter.original_message : `base64: ${letter.original_message}`),
    ]),
    terminal,
  );
}

function shorten(text: string): string {
  return text.length > shownOfMessage ? `${text.slice(0, shownOfMessage)}…` : text;
}

/** `sluice dlq consume ID`: takes the oldest dead letters out and prints them. What is printed is gone from the queue. */
export async function consume(invocation: Invocation, id: string): Promise<ExitCode> {
  const limit = invocation.settings.text("dlq_limit");
  const letters = (await daemonOf(invocation).post(`${urlOf(id)}/consume?limit=${limit}`)) as DeadLetter[];
  return show(invocation, letters, () => letterTable({ messages: letters }, invocation.terminal));
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
  terminal.err(
    `No such dead letter, or it is being reprocessed, or it holds only the beginning of its event: ${unknown.join(", ")}`,
  );
  return 1;
}

function urlOf(id: string): string {
  return `/control/v1/pipeline/${encodeURIComponent(id)}/dlq`;
}
