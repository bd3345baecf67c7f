import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

interface Stored {
  id: number;
  body: string;
  author: number;
}

export interface HostOptions {
  kind: "github" | "gitea" | "gitlab";
  /** The number of the pull request. */
  number: number;
  /** Answers that come before those of the host, one for each call whose `METHOD PATH` matches. */
  first?: FirstAnswer[];
}

export interface FirstAnswer {
  call: RegExp;
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** Who writes by the token; who else there is has the id 2. */
export const [ownAccount, strangersAccount] = [41_898_282, 2];
export const token = "ghs_0123456789abcdef";

/**
 * A Git host as far as comments on one pull request go: GitHub with pages of comments and a token that is nobody's, Gitea
 * with all comments at once and a token of an account, GitLab with notes.
 */
export class GitHost {
  readonly comments: Stored[] = [];
  /** What it was asked, `METHOD PATH`, in order. */
  readonly asked: string[] = [];
  /** Bodies that code scanning was given. */
  readonly sarifs: { commit_sha: string; ref: string; sarif: string }[] = [];
  readonly #options: HostOptions;
  readonly #server: Server;
  #next = 100;

  private constructor(options: HostOptions, server: Server) {
    this.#options = options;
    this.#server = server;
  }

  static async start(options: HostOptions): Promise<GitHost> {
    const server = createServer();
    const host = new GitHost(options, server);
    server.on("request", (request, response) => void host.#answer(request, response).catch(() => response.destroy()));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return host;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Variables of a job for its pull request, whose event is in `event`. */
  env(event: string): Record<string, string> {
    const { kind, number } = this.#options;
    if (kind === "gitlab") {
      return {
        GITLAB_CI: "true",
        CI_API_V4_URL: this.address,
        CI_PROJECT_ID: "9",
        CI_MERGE_REQUEST_PROJECT_ID: "7",
        CI_MERGE_REQUEST_IID: String(number),
        CI_MERGE_REQUEST_PROJECT_URL: "https://git.example/data/config",
      };
    }
    return {
      GITHUB_ACTIONS: "true",
      GITHUB_API_URL: this.address,
      GITHUB_REPOSITORY: "data/config",
      GITHUB_EVENT_PATH: event,
    };
  }

  add(body: string, author: number): Stored {
    const comment = { id: this.#next++, body, author };
    this.comments.push(comment);
    return comment;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url!, this.address);
    const call = `${request.method} ${url.pathname}`;
    this.asked.push(call);
    const { first = [] } = this.#options;
    const given = first.find((one) => one.call.test(call));
    if (given !== undefined) {
      first.splice(first.indexOf(given), 1);
      response.writeHead(given.status, given.headers ?? {}).end(given.body ?? "");
      return;
    }
    const { authorization, "private-token": privateToken } = request.headers;
    if (authorization !== `Bearer ${token}` && privateToken !== token) {
      response.writeHead(401).end('{"message":"Bad credentials"}');
      return;
    }
    this.#carryOut(call, url, Buffer.concat(chunks).toString(), response);
  }

  #carryOut(call: string, url: URL, text: string, response: ServerResponse): void {
    const { kind, number } = this.#options;
    const json = (status: number, value: unknown, headers: Record<string, string> = {}): void =>
      void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
    const of =
      kind === "gitlab" ? `/projects/7/merge_requests/${number}/notes` : `/repos/data/config/issues/${number}/comments`;
    const one = kind === "gitlab" ? `${of}/` : "/repos/data/config/issues/comments/";
    const body = text === "" ? {} : (JSON.parse(text) as { body: string });
    if (call === "GET /user") {
      if (kind === "github") return json(403, { message: "Resource not accessible by integration" });
      return json(200, { id: ownAccount, login: "bot" });
    }
    if (call === `GET ${of}`) return this.#list(url, json);
    if (call === `POST ${of}`) return json(201, this.#shown(this.add((body as { body: string }).body, ownAccount)));
    if (call === "POST /repos/data/config/code-scanning/sarifs" && kind === "github") {
      this.sarifs.push(body as never);
      return json(202, { id: "1" });
    }
    const comment = this.comments.find(({ id }) => call.endsWith(` ${one}${id}`));
    if (comment === undefined) return json(404, { message: "Not Found" });
    if (call.startsWith("DELETE")) {
      this.comments.splice(this.comments.indexOf(comment), 1);
      return void response.writeHead(204).end();
    }
    if (!call.startsWith(kind === "gitlab" ? "PUT" : "PATCH")) return json(405, { message: "Method Not Allowed" });
    comment.body = (body as { body: string }).body;
    return json(200, this.#shown(comment));
  }

  #list({ searchParams }: URL, json: (status: number, value: unknown, headers?: Record<string, string>) => void): void {
    // Gitea knows no pages of comments.
    if (this.#options.kind === "gitea")
      return json(
        200,
        this.comments.map((one) => this.#shown(one)),
      );
    const [size, page] = [Number(searchParams.get("per_page")), Number(searchParams.get("page"))];
    const shown = this.comments.slice((page - 1) * size, page * size).map((one) => this.#shown(one));
    const hasNext = page * size < this.comments.length;
    json(
      200,
      shown,
      hasNext ? { link: `<${this.address}/?page=${page + 1}>; rel="next", <${this.address}/>; rel="last"` } : {},
    );
  }

  #shown({ id, body, author }: Stored): Record<string, unknown> {
    if (this.#options.kind === "gitlab") return { id, body, system: false, author: { id: author } };
    const type = author === ownAccount ? "Bot" : "User";
    return {
      id,
      body,
      html_url: `https://git.example/data/config/pull/${this.#options.number}#c-${id}`,
      user: { id: author, type },
    };
  }
}
