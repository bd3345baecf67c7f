import { isObject } from "../../schemas/index.ts";
import { accountOf, elements, idOf, object, textOf } from "./answers.ts";
import type { Comment, Comments } from "./comments.ts";
import { Rest, RestError } from "./rest.ts";

/** A merge request on GitLab. */
export interface GitLabMergeRequest {
  /** Of the API, such as `https://gitlab.com/api/v4`. */
  address: string;
  token: string;
  /** The id of the project, and the number of the merge request in it. */
  project: string;
  number: string;
  /** The address of the project for people. */
  page?: string;
}

/** The notes of a merge request. */
export class GitLabNotes implements Comments {
  readonly #rest: Rest;
  readonly #notes: string;
  readonly #page: string | undefined;
  #account: Promise<string> | undefined;

  constructor({ address, token, project, number, page }: GitLabMergeRequest) {
    this.#rest = new Rest({ address, headers: { "private-token": token } });
    this.#notes = `/projects/${encodeURIComponent(project)}/merge_requests/${encodeURIComponent(number)}/notes`;
    this.#page = page === undefined ? undefined : `${page}/-/merge_requests/${number}`;
  }

  async *list(): AsyncIterable<Comment> {
    for await (const one of elements(this.#rest, this.#notes)) yield await this.#commentOf(one);
  }

  async create(body: string): Promise<Comment> {
    return this.#commentOf(object((await this.#rest.call("POST", this.#notes, { body })).body, this.#notes));
  }

  async replace(id: string, body: string): Promise<Comment> {
    const path = `${this.#notes}/${id}`;
    return this.#commentOf(object((await this.#rest.call("PUT", path, { body })).body, path));
  }

  async remove(id: string): Promise<void> {
    await this.#rest.call("DELETE", `${this.#notes}/${id}`);
  }

  async #commentOf(found: Record<string, unknown>): Promise<Comment> {
    const { body, author } = found;
    const id = idOf(found) ?? "";
    const isOwn = isObject(author) && idOf(author) === (await this.#accountId());
    return { id, body: textOf(body), isOwn, ...(this.#page !== undefined && { address: `${this.#page}#note_${id}` }) };
  }

  #accountId(): Promise<string> {
    this.#account ??= accountOf(this.#rest).then((account) => {
      if (account !== undefined) return account;
      throw new RestError("GET /user: expected the account of the token: give it the scope api", 403);
    });
    return this.#account;
  }
}
