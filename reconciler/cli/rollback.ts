import type { Rollback } from "../operator.ts";
import { CliError } from "./cli-error.ts";
import { asker } from "./hold.ts";
import { daemonOf } from "./inspect-pipelines.ts";
import type { ExitCode, Invocation } from "./invocation.ts";
import { show } from "./show.ts";
import { printable, printableLines } from "./terminal.ts";

/** `sluice rollback REVISION`: pins a commit until the followed ref moves on, or says with `--dry-run` what that does. */
export async function rollback(invocation: Invocation, revision?: string): Promise<ExitCode> {
  const { settings } = invocation;
  const [isCancel, dry_run] = [settings.isOn("rollback_cancel"), settings.isOn("rollback_dry_run")];
  if (isCancel === (revision !== undefined) || (isCancel && dry_run)) {
    throw new CliError("expected a REVISION to go back to, or --cancel to follow the newest one again");
  }
  if (isCancel) return cancel(invocation);
  const body = { ...asker(invocation), revision, dry_run };
  const done = (await daemonOf(invocation).post("/control/v1/rollback", body)) as Rollback;
  return show(invocation, done, () => {
    const { author, subject, head } = done;
    const what = dry_run ? "Would roll back to" : "Rolled back to";
    const whose = [author, subject].filter((text) => text !== undefined).join(": ");
    const until = dry_run ? "" : `\nIt stays until the branch moves on from ${head}, or "sluice rollback --cancel".`;
    return `${what} ${printable(`${done.revision} (${whose})`)}.${until}\n${printableLines(done.plan)}`;
  });
}

async function cancel(invocation: Invocation): Promise<ExitCode> {
  const lifted = (await daemonOf(invocation).post("/control/v1/rollback/cancel", asker(invocation))) as {
    revision: string;
  };
  return show(invocation, lifted, () => `The newest revision is followed again, instead of ${lifted.revision}.`);
}
