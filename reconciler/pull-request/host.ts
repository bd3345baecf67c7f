import { readFile, stat } from "node:fs/promises";
import { isObject } from "../../schemas/index.ts";
import type { Comments } from "./comments.ts";
import { GitHubComments, githubRest, type GitHubRepository } from "./github.ts";
import { GitLabNotes } from "./gitlab.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The most bytes of the file in which GitHub describes what began a job. */
const mostEvent = 16 * 1024 * 1024;

/** What began a job of GitHub Actions, as far as it matters here. */
export interface JobEvent {
  /** The number of the pull request. */
  pullRequest?: number;
  /** The commit that a change would be merged into, as it was at the last push to its branch. */
  base?: string;
  /** The branch that it would be merged into. */
  branch?: string;
  /** The newest commit of the change. */
  head?: string;
}

/** A job that cannot tell what it is for, with the variable that is missing. */
export class UnknownJob extends Error {
  override readonly name = "UnknownJob";
}

/**
 * The comments of the pull request, or merge request, that a job of GitHub Actions, Gitea, Forgejo or GitLab CI runs for;
 * undefined for a job that runs for none. `token` writes them. Throws UnknownJob elsewhere.
 */
export async function commentsOfJob(env: Environment, token: string): Promise<Comments | undefined> {
  if (env["GITLAB_CI"] === "true") return gitlabNotes(env, token);
  if (env["GITHUB_ACTIONS"] === "true") {
    const { pullRequest } = await jobEvent(env);
    if (pullRequest === undefined) return undefined;
    const repository = githubRepository(env, token);
    return new GitHubComments(githubRest(repository), repository.repository, pullRequest);
  }
  throw new UnknownJob(
    "expected a job of GitHub Actions, Gitea, Forgejo or GitLab CI: neither GITHUB_ACTIONS nor GITLAB_CI is true",
  );
}

/** The repository that a job of GitHub Actions is for. Throws UnknownJob. */
export function githubRepository(env: Environment, token: string): GitHubRepository {
  return { address: needed(env, "GITHUB_API_URL"), token, repository: needed(env, "GITHUB_REPOSITORY") };
}

function gitlabNotes(env: Environment, token: string): Comments | undefined {
  const number = env["CI_MERGE_REQUEST_IID"];
  if (!number) return undefined;
  const page = env["CI_MERGE_REQUEST_PROJECT_URL"];
  const project = env["CI_MERGE_REQUEST_PROJECT_ID"] || needed(env, "CI_PROJECT_ID");
  return new GitLabNotes({ address: needed(env, "CI_API_V4_URL"), token, project, number, ...(page && { page }) });
}

/** Reads the file that GITHUB_EVENT_PATH names. Throws UnknownJob where it cannot be read. */
export async function jobEvent(env: Environment): Promise<JobEvent> {
  const file = needed(env, "GITHUB_EVENT_PATH");
  let event: unknown;
  try {
    const { size } = await stat(file);
    if (size > mostEvent) throw new Error(`expected at most ${mostEvent} bytes, found ${size}`);
    event = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnknownJob(`GITHUB_EVENT_PATH: expected a file with what began the job: ${why}`, { cause: error });
  }
  const pullRequest = memberOf(event, "pull_request");
  const number = memberOf(pullRequest, "number");
  const [into, from] = [memberOf(pullRequest, "base"), memberOf(pullRequest, "head")];
  const base = memberOf(into, "sha") ?? memberOf(memberOf(event, "merge_group"), "base_sha");
  const [branch, head] = [memberOf(into, "ref"), memberOf(from, "sha")];
  return {
    ...(typeof number === "number" && { pullRequest: number }),
    ...(typeof base === "string" && { base }),
    ...(typeof branch === "string" && { branch }),
    ...(typeof head === "string" && { head }),
  };
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function needed(env: Environment, name: string): string {
  const value = env[name];
  if (value) return value;
  throw new UnknownJob(`expected the variable ${name}, which such a job has, found none`);
}
