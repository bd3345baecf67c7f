import { gzipSync } from "node:zlib";
import { isObject } from "../../schemas/index.ts";
import { accountOf, elements, idOf, object, textOf } from "./answers.ts";
import type { Comment, Comments } from "./comments.ts";
import { Rest } from "./rest.ts";

/** A repository on GitHub, or on a host with the same calls, such as Gitea and Forgejo. */
export interface GitHubRepository {
  /** Of the API, such as `https://api.github.com`. */
  address: string;
  token: string;
  /** `owner/name`. */
  repository: string;
}

/** Calls of GitHub's REST API. */
export function githubRest({ address, token }: GitHubRepository): Rest {
  // Gitea takes `token` as well, and GitHub both.
  return new Rest({ address, headers: { authorization: `Bearer ${token}`, "user-agent": "sluice" } });
}

/** The comments of a pull request. */
export class GitHubComments implements Comments {
  readonly #rest: Rest;
  readonly #comments: string;
  readonly #all: string;
  #account: Promise<string | undefined> | undefined;

  constructor(rest: Rest, repository: string, pullRequest: number) {
    this.#rest = rest;
    this.#comments = `/repos/${repository}/issues/comments`;
    this.#all = `/repos/${repository}/issues/${pullRequest}/comments`;
  }

  async *list(): AsyncIterable<Comment> {
    for await (const one of elements(this.#rest, this.#all)) yield await this.#commentOf(one);
  }

  async create(body: string): Promise<Comment> {
    return this.#commentOf(object((await this.#rest.call("POST", this.#all, { body })).body, this.#all));
  }

  async replace(id: string, body: string): Promise<Comment> {
    const path = `${this.#comments}/${id}`;
    return this.#commentOf(object((await this.#rest.call("PATCH", path, { body })).body, path));
  }

  async remove(id: string): Promise<void> {
    await this.#rest.call("DELETE", `${this.#comments}/${id}`);
  }

  async #commentOf(found: Record<string, unknown>): Promise<Comment> {
    const { body, user, html_url } = found;
    const address = textOf(html_url);
    const isOwn = await this.#isOwn(user);
    return { id: idOf(found) ?? "", body: textOf(body), isOwn, ...(address !== "" && { address }) };
  }

  /** The token of a job belongs to no account: what it wrote is a bot's, which no author of a change can be. */
  async #isOwn(user: unknown): Promise<boolean> {
    this.#account ??= accountOf(this.#rest);
    const account = await this.#account;
    if (account !== undefined) return idOf(user) === account;
    return isObject(user) && user["type"] === "Bot";
  }
}

/** What a SARIF file is about. */
export interface Analysed {
  commit: string;
  /** Such as `refs/pull/7/merge`. */
  ref: string;
}

/** Gives GitHub's code scanning a SARIF file; needs `security-events: write`. Throws a RestError. */
export async function uploadSarif(
  rest: Rest,
  repository: string,
  { commit, ref }: Analysed,
  sarif: string,
): Promise<void> {
  const packed = gzipSync(sarif).toString("base64");
  const body = { commit_sha: commit, ref, sarif: packed, tool_name: "sluice" };
  await rest.call("POST", `/repos/${repository}/code-scanning/sarifs`, body);
}
