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
 * after the request, and after all changes under way: with 0 if everything matches the files then and is ready, 1 if
 * something differs, 2 if a pipeline is not ready or no file describes one, and 3 after `--timeout`.
 */
export async function reconcile(invocation: Invocation): Promise<ExitCode> {
  const asked = await requested(invocation);
  if (!invocation.settings.isOn("reconcile_wait")) {
    const token = asked.requested_at;
    return show(invocation, asked, () => `Requested. When it is done, lastHandledReconcileAt is ${token} or later.`);
  }
  const answer = await ended(invocation, asked.requested_at);
  show(invocation, answer, () => lines(answer).map(printable).join("\n"));
  return codes[endingOf(answer)];
}

/** What `--wait` waits for: that a turn has ended, whether the source can be read or not; or that all is as the files say. */
type Awaited = "a turn" | "the files";

const paths: Readonly<Record<Awaited, string>> = { "a turn": "/control/v1/turn", "the files": "/control/v1/reconcile" };

/** What `--wait` of a verb waits for and judges. */
interface Waiting {
  awaited: Awaited;
  /** What was not done by the turn. */
  leftOver?: () => Promise<string | undefined>;
  /** The one pipeline that is judged, by its file. */
  only?: string;
  /** The commit by which all are judged, whether or not a newer one can be fetched. */
  revision?: string;
}

/**
 * Shows what an operator asked for; with `--wait` after a turn that carried it out, with what that turn found. Ends where
 * `the files` are awaited as `sluice reconcile --wait` does, else with 1 if `leftOver` gives what was not done.
 */
export async function showCarriedOut(
  invocation: Invocation,
  done: object,
  text: () => string,
  { awaited, leftOver, only, revision }: Waiting,
): Promise<ExitCode> {
  if (!invocation.settings.isOn("wait")) return show(invocation, done, text);
  let answer: ReconcileAnswer;
  try {
    answer = await ended(invocation, (await requested(invocation, awaited)).requested_at, awaited);
  } catch (error) {
    // It is asked for all the same.
    show(invocation, done, text);
    throw error;
  }
  const showWith = (found: readonly string[]): ExitCode =>
    show(invocation, { ...done, reconcile: answer }, () => [text(), ...found.map(printable)].join("\n"));
  if (only !== undefined) {
    const own = answer.open.find(({ name }) => name === only);
    const state = own === undefined ? `${only} is ready.` : `${own.name}: ${own.reason}: ${own.message}`;
    showWith([state, ...notFollowed(answer)]);
    return own === undefined ? 0 : codes["not ready"];
  }
  if (awaited === "the files" || revision !== undefined) {
    const isUnfetched = answer.revision === revision && answer.error !== undefined;
    const judged = isUnfetched ? withoutSource(answer) : answer;
    showWith(lines(judged));
    return codes[endingOf(judged)];
  }
  const left = await leftOver?.();
  showWith([left ?? "It is carried out.", ...notFollowed(answer)]);
  return left === undefined ? 0 : 1;
}

/** Where a turn is awaited alone, or one pipeline, the files may be unreadable. */
function notFollowed({ error }: ReconcileAnswer): string[] {
  return error === undefined ? [] : [`The files were not followed: ${error}`];
}

/** How the pipelines are, where the source cannot be read. */
function withoutSource(answer: ReconcileAnswer): ReconcileAnswer {
  const open = answer.open.filter(({ name }) => name !== "source");
  return { ...answer, open, result: "success" };
}

async function requested(
  invocation: Invocation,
  awaited: Awaited = "the files",
): Promise<Pick<ReconcileAnswer, "requested_at">> {
  return (await daemonOf(invocation).post(paths[awaited])) as Pick<ReconcileAnswer, "requested_at">;
}

/** How the last turn left things. */
type Ending = "ready" | "differs" | "not ready" | "empty";

const codes: Readonly<Record<Ending, ExitCode>> = { ready: 0, differs: 1, "not ready": 2, empty: 2 };

function endingOf({ result, open, documents }: ReconcileAnswer): Ending {
  if (result !== "success") return "differs";
  if (documents === 0) return "empty";
  return open.length > 0 ? "not ready" : "ready";
}

async function ended(invocation: Invocation, token: string, awaited: Awaited = "the files"): Promise<ReconcileAnswer> {
  const { settings } = invocation;
  const until = performance.now() + settings.duration("reconcile_timeout");
  for (let pause = pauses.first; ; pause = Math.min(pause * 2, pauses.longest)) {
    const answer = (await daemonOf(invocation).get(`${paths[awaited]}/${token}`)) as ReconcileAnswer;
    if (answer.state === "ended" && starting(answer).length === 0) return answer;
    invocation.progress.step(awaitedIn(answer));
    if (performance.now() + pause > until) throw late(settings.text("reconcile_timeout"), answer);
    await sleep(pause);
  }
}

/** Pipelines that a change has started and that do not run yet. */
function starting({ result, open }: ReconcileAnswer): string[] {
  return result === "success" ? open.flatMap(({ name, reason }) => (reason === "Progressing" ? [name] : [])) : [];
}

function late(timeout: string, answer: ReconcileAnswer): CliError {
  const goesOn = `the reconciler goes on without this command; "sluice health" shows how the pipelines are, or give a longer --timeout`;
  return new CliError(`after ${timeout}: ${awaitedIn(answer)}; ${goesOn}`, { exitCode: 3 });
}

function awaitedIn(answer: ReconcileAnswer): string {
  if (answer.state === "waiting") return "no turn that began after the request has ended";
  const under_way = [...answer.under_way, ...starting(answer)];
  return `still under way: ${under_way.length === 0 ? "a turn" : listed(under_way).join(", ")}`;
}

function lines(answer: ReconcileAnswer): string[] {
  const { result, revision, error, problems } = answer;
  const ending = endingOf(answer);
  const open = answer.open.filter(({ name }) => ending !== "empty" || name !== "source");
  const summaries: Readonly<Record<Ending, string>> = {
    ready: "Everything is as the files say",
    differs: `Not everything is as the files say: ${result}`,
    "not ready": "Everything is applied, but not all of it is ready",
    empty: "No file describes a pipeline: check --path, or the folder",
  };
  const at = revision === undefined ? "" : ` (${revision})`;
  return [
    `${summaries[ending]}${at}.`,
    ...(error === undefined ? [] : [error]),
    ...listed(open.map(({ name, reason, message }) => `${name}: ${reason}: ${message}`)),
    ...listed(problems),
  ];
}

function listed(texts: readonly string[]): string[] {
  const more = texts.length > shownAtMost ? [`and ${texts.length - shownAtMost} more`] : [];
  return [...texts.slice(0, shownAtMost), ...more];
}
