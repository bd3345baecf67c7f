import type { DeadLetterPage, DeadLetterState } from "../../engine/index.ts";
import { columns, facts } from "./columns.ts";
import { daemonOf, pipelineUrl } from "./inspect-pipelines.ts";
import type { ExitCode, Invocation } from "./invocation.ts";
import { show } from "./show.ts";

/** Characters of an event that a line of the table shows. `--output json` shows all. */
const shownOfMessage = 60;

/** `sluice dlq state ID`. */
export async function deadLetterState(invocation: Invocation, id: string): Promise<ExitCode> {
  const state = (await daemonOf(invocation).get(pipelineUrl(id, "/dlq/state"))) as DeadLetterState;
  return show(invocation, state, () =>
    facts([
      ["dead letters", state.total_messages],
      ["not yet consumed", state.unconsumed_messages],
      ["last received", state.last_received_at ?? "never"],
      ["last consumed", state.last_consumed_at ?? "never"],
    ]),
  );
}

/** `sluice dlq list ID [CURSOR]`: a page of dead letters, oldest first. Takes nothing out. */
export async function deadLetterList(invocation: Invocation, id: string, cursor?: string): Promise<ExitCode> {
  const query = new URLSearchParams({ limit: invocation.settings.text("dlq_limit"), ...(cursor && { cursor }) });
  const url = `/control/v1/pipeline/${encodeURIComponent(id)}/dlq/list?${query.toString()}`;
  const page = (await daemonOf(invocation).get(url)) as DeadLetterPage;
  const code = show(invocation, page, () => letterTable(page));
  if (page.next_cursor !== undefined)
    invocation.terminal.err(`There are more: sluice dlq list ${id} ${page.next_cursor}`);
  return code;
}

/** Dead letters as a table for people. */
export function letterTable({ messages }: Pick<DeadLetterPage, "messages">): string {
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
  );
}

function shorten(text: string): string {
  return text.length > shownOfMessage ? `${text.slice(0, shownOfMessage)}…` : text;
}
