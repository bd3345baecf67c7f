import { consume, discard, purge, reprocess } from "./change-dead-letters.ts";
import { deadLetterList, deadLetterState } from "./inspect-dead-letters.ts";
import { history } from "./history.ts";
import { get, health, info } from "./inspect-pipelines.ts";
import { rotateToken, showToken } from "./inspect-token.ts";
import { resume, suspend } from "./hold.ts";
import { init } from "./init.ts";
import type { ExitCode, Invocation } from "./invocation.ts";
import { sql } from "./query.ts";
import { reconcile } from "./reconcile.ts";
import { rollback } from "./rollback.ts";

/** Is given a text for each argument of its command, a list of texts for one that takes many. */
export type Action = (invocation: Invocation, ...args: never[]) => Promise<ExitCode>;

// The engine is loaded by the commands that need it: the others shall answer at once.
const run: Action = async (invocation) => (await import("./run.ts")).run(invocation);
const validate: Action = async (invocation, paths: string[]) =>
  (await import("./validate.ts")).validate(invocation, paths);
const migrate: Action = async (invocation, paths: string[]) =>
  (await import("./migrate.ts")).migrate(invocation, paths);

/** One command of `sluice`. Its settings are those that name it in the table of settings. */
export interface Command {
  /** Two words for a command of a group, such as `dlq list`. */
  name: string;
  /** Arguments in commander's notation: `<ID>` is needed, `[ID]` is not, `[PATH...]` takes many. */
  args: string;
  description: string;
  act: Action;
}

function command(name: string, args: string, description: string, act: Action): Command {
  return { name, args, description, act };
}

export const groups: Readonly<Record<string, string>> = {
  dlq: "look at the dead letters of a pipeline, and deal with them",
  token: "look at or replace the access token of a webhook pipeline",
};

export const commands: readonly Command[] = [
  command("run", "", "follow a repository and run its pipelines, until Ctrl-C", run),
  command("validate", "[PATH...]", "check pipeline files without running anything", validate),
  command("migrate", "<FILE...>", "convert pipeline files of version v2 to v3", migrate),
  command("init", "[DIR]", "make a repository of pipelines to start from", init),
  command("get", "[ID]", "list the pipelines of the running daemon, or show one", get),
  command("health", "[ID]", "show how the pipelines are, or one of them", health),
  command("info", "", "show what the running daemon is and where it listens", info),
  command("reconcile", "", "look at the source now, instead of at the next poll", reconcile),
  command(
    "suspend",
    "[ID]",
    "let the reconciler leave a pipeline, or everything, as it is; what runs goes on",
    suspend,
  ),
  command("resume", "[ID]", "let the reconciler change a pipeline, or everything, again; starts no pipeline", resume),
  command("rollback", "[REVISION]", "keep the pipelines at an earlier commit until the branch moves on", rollback),
  command("history", "[ID]", "tell what was done to the pipelines, or to one, newest first", history),
  command("dlq state", "<ID>", "count the dead letters", deadLetterState),
  command("dlq list", "<ID> [CURSOR]", "show dead letters, oldest first, taking nothing out", deadLetterList),
  command("dlq consume", "<ID>", "take the oldest dead letters out and print them", consume),
  command("dlq purge", "<ID>", "take every dead letter out", purge),
  command("dlq discard", "<ID> [MESSAGE_ID...]", "take some dead letters out", discard),
  command("dlq reprocess", "<ID> [MESSAGE_ID...]", "send dead letters through the pipeline again", reprocess),
  command("token show", "<ID>", "tell when the token was made and last used", showToken),
  command("token rotate", "<ID>", "make a new token and print it, once", rotateToken),
  command("sql", "<QUERY>", "ask the embedded ClickHouse", sql),
];
