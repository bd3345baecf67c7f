import { userInfo } from "node:os";
import type { Status } from "../../../engine/index.ts";
import type { Rollback, SuspensionResult } from "../../operator.ts";
import type { WaitingCommit } from "../../git/revision.ts";
import { stateIn, type StopHold } from "../../holds/hold.ts";
import type { SourceChange } from "../../holds/source-change.ts";
import type { PipelineRecord } from "../../api/routes.ts";
import { daemonOf, pipelineUrl } from "../control/client.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { printable, printableLines } from "../invocation/terminal.ts";
import { showCarriedOut } from "./reconcile.ts";
import { CliError } from "../invocation/cli-error.ts";

/** `sluice suspend [ID]`: the reconciler no longer changes a pipeline, or any. */
export async function suspend(invocation: Invocation, id?: string): Promise<ExitCode> {
  const reason = invocation.settings.optional("suspend_reason");
  const body = { ...asker(invocation), ...(reason !== undefined && { reason }) };
  const done = (await daemonOf(invocation).post(urlOf("suspend", id), body)) as SuspensionResult;
  const text = (): string => {
    const what = id === undefined ? "Everything is suspended: nothing is" : `${id} is suspended: it is not`;
    const way = id === undefined ? "sluice resume" : `sluice resume ${id}`;
    return [`${what} changed until "${way}". What runs goes on running.`, ...underWay(done)].join("\n");
  };
  return showCarriedOut(invocation, done, text, { awaited: "a turn" });
}

/** `sluice stop ID`: stops a pipeline for a time, without a commit. */
export function stop(invocation: Invocation, id?: string): Promise<ExitCode> {
  return endFor(invocation, "stop", id);
}

/** `sluice terminate ID`: ends a pipeline at once, and drops what it holds and what no prepared batch names. */
export function terminate(invocation: Invocation, id?: string): Promise<ExitCode> {
  return endFor(invocation, "terminate", id);
}

async function endFor(invocation: Invocation, verb: "stop" | "terminate", id?: string): Promise<ExitCode> {
  if (id === undefined) throw new CliError(`expected the ID of a pipeline to ${verb}`);
  const reason = invocation.settings.optional("stop_reason");
  const milliseconds = invocation.settings.duration("stop_for");
  const body = { ...asker(invocation), milliseconds, ...(reason !== undefined && { reason }) };
  const url = pipelineUrl(id, `/${verb}`).replace("/api/v1/", "/control/v1/");
  const done = (await daemonOf(invocation).post(url, body)) as SuspensionResult & { hold: StopHold };
  const until = `until ${done.hold.until}, or "sluice resume ${id}"`;
  const how = verb === "stop" ? "stopped" : "terminated";
  const text = (): string => printable(`${id} is ${how} ${until}. Its file stays as it is.`);
  const leftOver = (): Promise<string | undefined> => notEnded(invocation, id, verb);
  return showCarriedOut(invocation, done, text, { awaited: "a turn", leftOver });
}

/** What a pipeline that should be stopped or terminated is, where it is not. */
async function notEnded(invocation: Invocation, id: string, verb: "stop" | "terminate"): Promise<string | undefined> {
  // Other commands that ask the daemon load nothing of the engine.
  const { isAtRest } = await import("../../../engine/language.ts");
  const records = (await daemonOf(invocation).get("/api/v1/pipeline")) as PipelineRecord[];
  const status = records.find(({ pipeline_id }) => pipeline_id === id)?.status;
  const isEnded = verb === "stop" ? isAtRest(status as Status) : status === "Terminated";
  if (status === undefined || isEnded) return undefined;
  return `It is not ${verb === "stop" ? "stopped" : "terminated"} yet, but ${status}: "sluice get ${id}" says why.`;
}

/** `sluice resume [ID]`: the reconciler applies the files again. */
export async function resume(invocation: Invocation, id?: string): Promise<ExitCode> {
  const done = (await daemonOf(invocation).post(urlOf("resume", id), asker(invocation))) as SuspensionResult;
  const text = (): string => {
    const { since, by, reason } = done.hold;
    const who = by === undefined ? "" : ` by ${by}`;
    const why = reason === undefined ? "" : `: ${reason}`;
    const hold = done.hold as Partial<StopHold>;
    const what = hold.until === undefined ? "suspended" : stateIn(hold).toLowerCase();
    return printable(`${id ?? "Everything"} is resumed. It was ${what} since ${since}${who}${why}`);
  };
  const waiting = id === undefined ? ({ awaited: "the files" } as const) : ({ awaited: "a turn", only: id } as const);
  return showCarriedOut(invocation, done, text, waiting);
}

/**
 * `sluice approve [COMMIT]`: another source than before is followed, also where pipelines are deleted by that; or a
 * commit that does not descend from the last one.
 */
export async function approve(invocation: Invocation, commit?: string): Promise<ExitCode> {
  const body = { ...asker(invocation), ...(commit !== undefined && { commit }) };
  const change = (await daemonOf(invocation).post("/control/v1/approve", body)) as SourceChange | WaitingCommit;
  if (!("removes" in change)) {
    const { from, to } = change;
    const followed = (): string => printable(`${to} is followed, which does not descend from ${from}.`);
    return showCarriedOut(invocation, change, followed, { awaited: "the files" });
  }
  const { removes } = change;
  const deleted =
    removes.length === 0 ? "" : `; what it lacks is deleted where nothing else keeps it: ${removes.join(", ")}`;
  const text = (): string => printable(`The source is followed${deleted}`);
  return showCarriedOut(invocation, change, text, { awaited: "the files" });
}

/** Who asks, for the status and the log. It is not verified: only the owner of the data dir can ask. */
export function asker({ env }: Invocation): { by: string } {
  return { by: env["SUDO_USER"] || userName() };
}

/** In a container a user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}

function urlOf(verb: "suspend" | "resume", id: string | undefined): string {
  if (id === undefined) return `/control/v1/${verb}`;
  return pipelineUrl(id, `/${verb}`).replace("/api/v1/", "/control/v1/");
}

function underWay({ under_way }: SuspensionResult): string[] {
  if (under_way.length === 0) return [];
  const more = under_way.length > 5 ? `, and ${under_way.length - 5} more` : "";
  return [`Changes under way are completed: ${under_way.slice(0, 5).join(", ")}${more}.`];
}

/**
 * `sluice rollback REVISION`: pins a commit until the followed ref moves on, or shows with `--dry-run` the plan for
 * that.
 */
export async function rollback(invocation: Invocation, revision?: string): Promise<ExitCode> {
  const { settings } = invocation;
  const [isCancel, dry_run] = [settings.isOn("rollback_cancel"), settings.isOn("rollback_dry_run")];
  if (dry_run && settings.isOn("wait")) {
    throw new CliError("--dry-run and --wait exclude each other: a plan that is only shown is not carried out");
  }
  if (isCancel === (revision !== undefined) || (isCancel && dry_run)) {
    throw new CliError("expected a REVISION to go back to, or --cancel to follow the newest one again");
  }
  if (isCancel) return cancel(invocation);
  const body = { ...asker(invocation), revision, dry_run };
  const done = (await daemonOf(invocation).post("/control/v1/rollback", body)) as Rollback;
  const said = (): string => {
    const { author, subject, head } = done;
    const what = dry_run ? "Would roll back to" : "Rolled back to";
    const whose = [author, subject].filter((text) => text !== undefined).join(": ");
    const until = dry_run ? "" : `\nIt stays until the branch moves on from ${head}, or "sluice rollback --cancel".`;
    return `${what} ${printable(`${done.revision} (${whose})`)}.${until}\n${printableLines(done.plan)}`;
  };
  if (dry_run) return show(invocation, done, said);
  return showCarriedOut(invocation, done, said, { awaited: "a turn", revision: done.revision });
}

async function cancel(invocation: Invocation): Promise<ExitCode> {
  const lifted = (await daemonOf(invocation).post("/control/v1/rollback/cancel", asker(invocation))) as {
    revision: string;
  };
  const text = (): string => `The newest revision is followed again, instead of ${lifted.revision}.`;
  return showCarriedOut(invocation, lifted, text, { awaited: "the files" });
}
