import { readFile, stat } from "node:fs/promises";
import { type Placed, placeComment } from "../../pull-request/comments.ts";
import { commentsOfJob, UnknownJob } from "../../pull-request/host.ts";
import { RestError } from "../../pull-request/rest.ts";
import { CliError } from "../invocation/cli-error.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { printable } from "../invocation/terminal.ts";

/** The most bytes of a comment: GitHub takes 65,535 characters, others more. */
const mostBytes = 1024 * 1024;
/** The variables that a token may be in, the first that is set. */
const tokens = ["SLUICE_COMMENT_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN"] as const;
const marker = /^<!-- .+ -->\r?\n/;

/**
 * `sluice comment FILE`: makes Markdown the one comment with its first line on the pull request, or merge request, that a job
 * of CI runs for.
 */
export async function comment(invocation: Invocation, file: string): Promise<ExitCode> {
  const { env, settings, progress } = invocation;
  const body = await textOf(file);
  const name = tokens.find((one) => env[one]);
  if (name === undefined) throw new CliError(`expected a token in one of ${tokens.join(", ")}, found none`);
  progress.step("asking the Git host");
  const placed = await expected(async () => {
    const comments = await commentsOfJob(env, env[name]!);
    if (comments === undefined) throw new UnknownJob("this job runs for no pull request, and no merge request");
    return placeComment(comments, body, !settings.isOn("comment_existing"));
  });
  return show(invocation, placed, () => sentenceOf(placed));
}

async function textOf(file: string): Promise<string> {
  let text: string;
  try {
    const { size } = await stat(file);
    if (size > mostBytes) throw new Error(`expected at most ${mostBytes} bytes, found ${size}`);
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new CliError(`${file}: expected a file of Markdown: ${(error as Error).message}`, { cause: error });
  }
  if (marker.test(text)) return text;
  throw new CliError(
    `${file}: expected a first line such as <!-- my-plan -->, by which the comment is found again, as \`sluice plan --format markdown\` writes it`,
  );
}

async function expected<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RestError || error instanceof UnknownJob)) throw error;
    throw new CliError(printable(error.message), { cause: error });
  }
}

const sentences: Readonly<Record<Placed["kind"], string>> = {
  created: "made a comment",
  replaced: "replaced the comment",
  same: "the comment says the same already",
  none: "no comment is there to replace",
};

function sentenceOf({ kind, address }: Placed): string {
  return address === undefined ? sentences[kind] : `${sentences[kind]}: ${address}`;
}
