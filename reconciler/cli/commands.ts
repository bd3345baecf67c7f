import type { ExitCode, Invocation } from "./invocation/invocation.ts";

/** Receives a text for each argument of its command, or a list of texts for one that takes many. */
export type Action = (invocation: Invocation, ...args: never[]) => Promise<ExitCode>;

/** One command of `sluice`. Its settings are those that name it in the table of settings. */
export interface Command {
  /** Two words for a command of a group, such as `dlq list`. */
  name: string;
  /** Arguments in commander's notation: `<ID>` is needed, `[ID]` is not, `[PATH...]` takes many. */
  args: string;
  description: string;
  /** Loads only what the command needs, so that checking a file does not load the engine. */
  load: () => Promise<Action>;
}

function command(name: string, args: string, description: string, load: Command["load"]): Command {
  return { name, args, description, load };
}

const pipelines = () => import("./client/pipelines.ts");
const suspension = () => import("./client/suspend.ts");
const deadLetters = () => import("./client/dead-letters.ts");
const token = () => import("./client/token.ts");

export const groups: Readonly<Record<string, string>> = {
  dlq: "show, take out or reprocess the dead letters of a pipeline",
  token: "show or replace the access token of a webhook pipeline",
};

export const commands: readonly Command[] = [
  command(
    "run",
    "",
    "follow a repository and run its pipelines, until Ctrl-C",
    async () => (await import("./daemon/run.ts")).run,
  ),
  command(
    "validate",
    "[PATH...]",
    "check pipeline files without running them; - is standard input",
    async () => (await import("./files/validate.ts")).validate,
  ),
  command(
    "test",
    "[PATH...]",
    "run the tests beside pipeline files: events in, rows and dead letters out",
    async () => (await import("./tests/test.ts")).test,
  ),
  command(
    "plan",
    "[PATH]",
    "show what a change of pipeline files would do once it is merged, from a commit, or what runs, to the files as they are",
    async () => {
      const [{ planFiles }, { withTests }] = await Promise.all([
        import("./files/plan.ts"),
        import("./tests/tests-of-plan.ts"),
      ]);
      return (invocation, path) => planFiles(invocation, path, withTests);
    },
  ),
  command(
    "comment",
    "<FILE>",
    "make Markdown the one comment of its kind on the pull request of a CI job",
    async () => (await import("./files/comment.ts")).comment,
  ),
  command(
    "schema",
    "",
    "print the JSON Schema of pipeline files, or of files with tests, for editors",
    async () => (await import("./files/schema.ts")).schema,
  ),
  command(
    "migrate",
    "<FILE...>",
    "convert pipeline files of version v2 to v3",
    async () => (await import("./files/migrate.ts")).migrate,
  ),
  command(
    "import",
    "[FILE...]",
    "make the files of a repository from the pipelines of another engine, of version v2 or v3",
    async () => (await import("./files/import.ts")).importPipelines,
  ),
  command(
    "export",
    "<DIR>",
    "make the files of a repository from what runs",
    async () => (await import("./files/export.ts")).exportPipelines,
  ),
  command(
    "init",
    "[DIR]",
    "make a repository of pipelines to start from",
    async () => (await import("./files/init.ts")).init,
  ),
  command(
    "get",
    "[ID]",
    "list the source and the pipelines with what keeps them from being ready, or show one with its file",
    async () => (await import("./client/get.ts")).get,
  ),
  command("health", "[ID]", "show the health of the pipelines, or of one", async () => (await pipelines()).health),
  command(
    "info",
    "",
    "show the version of the running daemon and where it listens",
    async () => (await pipelines()).info,
  ),
  command(
    "reconcile",
    "",
    "poll the source now instead of after the interval",
    async () => (await import("./client/reconcile.ts")).reconcile,
  ),
  command(
    "suspend",
    "[ID]",
    "stop applying changes to a pipeline, or to all; running pipelines run on",
    async () => (await suspension()).suspend,
  ),
  command("stop", "<ID>", "stop a pipeline for a time, whatever its file says", async () => (await suspension()).stop),
  command(
    "terminate",
    "<ID>",
    "end a pipeline at once for a time: accepted events that are not written, and the keys of dedup, are dropped",
    async () => (await suspension()).terminate,
  ),
  command(
    "resume",
    "[ID]",
    "apply changes to a pipeline, or to all, again; starts no pipeline",
    async () => (await suspension()).resume,
  ),
  command(
    "approve",
    "[COMMIT]",
    "follow another source than before, and delete the pipelines that it lacks; or a commit that waits for it",
    async () => (await suspension()).approve,
  ),
  command(
    "rollback",
    "[REVISION]",
    "keep the pipelines at an earlier commit until the branch moves on",
    async () => (await suspension()).rollback,
  ),
  command(
    "rewind",
    "<ID>",
    "let a pipeline read its Kafka topics again, from a time or from offsets on",
    async () => (await import("./client/rewind.ts")).rewind,
  ),
  command(
    "history",
    "[ID]",
    "list the changes of the pipelines, or of one, newest first",
    async () => (await import("./client/history.ts")).history,
  ),
  command("dlq state", "<ID>", "count the dead letters", async () => (await deadLetters()).deadLetterState),
  command(
    "dlq list",
    "<ID> [CURSOR]",
    "show dead letters, oldest first, taking nothing out",
    async () => (await deadLetters()).deadLetterList,
  ),
  command(
    "dlq consume",
    "<ID>",
    "take the oldest dead letters out and print them",
    async () => (await deadLetters()).consume,
  ),
  command("dlq purge", "<ID>", "take every dead letter out", async () => (await deadLetters()).purge),
  command(
    "dlq discard",
    "<ID> [MESSAGE_ID...]",
    "take some dead letters out",
    async () => (await deadLetters()).discard,
  ),
  command(
    "dlq reprocess",
    "<ID> [MESSAGE_ID...]",
    "send dead letters through the pipeline again",
    async () => (await deadLetters()).reprocess,
  ),
  command(
    "sample",
    "<ID>",
    "print dead letters, or events of the stream or the topics, as the events of a test, taking nothing out",
    async () => (await import("./client/sample.ts")).sample,
  ),
  command("token show", "<ID>", "show when the token was made and last used", async () => (await token()).showToken),
  command("token rotate", "<ID>", "make a new token and print it, once", async () => (await token()).rotateToken),
  command("completion", "<SHELL>", "print what completes commands and ids in bash, zsh or fish", async () => {
    const { completion } = await import("./completion/completion.ts");
    return completion(commands, groups);
  }),
  command("sql", "<QUERY>", "run a query on the embedded ClickHouse", async () => (await pipelines()).sql),
];
