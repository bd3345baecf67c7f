import { setTimeout as sleep } from "node:timers/promises";
import type { ReconcileAnswer } from "../../status/reconcile-request.ts";
import { CliError } from "../invocation/cli-error.ts";
import { daemonOf } from "../control/client.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { printable } from "../invocation/terminal.ts";

/** Milliseconds between two requests: short at first, since most turns are short. */
const pauses = { first: 10, longest: 250 };

const shownAtMost = 20;

/**
 * `sluice reconcile`: polls the source now instead of after the interval. With `--wait` it ends after a turn that began
 * after the request, and after all changes under way: with 0 if everything matches the files then, else with 1.
 */
export async function reconcile(invocation: Invocation): Promise<ExitCode> {
  const asked = (await daemonOf(invocation).post("/control/v1/reconcile")) as Pick<ReconcileAnswer, "requested_at">;
  if (!invocation.settings.isOn("reconcile_wait")) {
    const token = asked.requested_at;
    return show(invocation, asked, () => `Requested. When it is done, lastHandledReconcileAt is ${token} or later.`);
  }
  const answer = await ended(invocation, asked.requested_at);
  show(invocation, answer, () => lines(answer).map(printable).join("\n"));
  return answer.result === "success" ? 0 : 1;
}

async function ended(invocation: Invocation, token: string): Promise<ReconcileAnswer> {
  const { settings } = invocation;
  const until = performance.now() + settings.duration("reconcile_timeout");
  for (let pause = pauses.first; ; pause = Math.min(pause * 2, pauses.longest)) {
    const answer = (await daemonOf(invocation).get(`/control/v1/reconcile/${token}`)) as ReconcileAnswer;
    if (answer.state === "ended") return answer;
    if (performance.now() + pause > until) throw late(settings.text("reconcile_timeout"), answer);
    await sleep(pause);
  }
}

function late(timeout: string, { state, under_way }: ReconcileAnswer): CliError {
  const goesOn = `the reconciler goes on without this command; "sluice health" shows how the pipelines are, or give a longer --timeout`;
  const names = under_way.length === 0 ? "a turn" : listed(under_way).join(", ");
  const what = state === "waiting" ? "no turn that began after the request has ended" : `still under way: ${names}`;
  return new CliError(`after ${timeout}: ${what}; ${goesOn}`);
}

function lines({ result, revision, error, open, problems }: ReconcileAnswer): string[] {
  const at = revision === undefined ? "" : ` (${revision})`;
  const summary =
    result === "success" ? "Everything is as the files say" : `Not everything is as the files say: ${result}`;
  return [
    `${summary}${at}.`,
    ...(error === undefined ? [] : [error]),
    ...listed(open.map(({ name, reason, message }) => `${name}: ${reason}: ${message}`)),
    ...listed(problems),
  ];
}

function listed(texts: readonly string[]): string[] {
  const more = texts.length > shownAtMost ? [`and ${texts.length - shownAtMost} more`] : [];
  return [...texts.slice(0, shownAtMost), ...more];
}
