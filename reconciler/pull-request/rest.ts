import { setTimeout as sleep } from "node:timers/promises";

/** The REST API of a Git host. */
export interface RestOptions {
  /** Such as `https://api.github.com`. */
  address: string;
  /** Headers of every call, the token among them. */
  headers: Readonly<Record<string, string>>;
  /** Milliseconds that one call may take. */
  timeout?: number;
  /** Milliseconds before the first repetition; each further one waits twice as long. */
  pause?: number;
  /** The most bytes of an answer; by default those of thirty comments of the largest size. */
  mostBytes?: number;
}

/** The answer to a call. */
export interface RestAnswer {
  /** Parsed JSON; undefined where there is none. */
  body: unknown;
  /** Whether there is another page. */
  hasNext: boolean;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

const defaults = { timeout: 20_000, pause: 1_000, mostBytes: 16 * 1024 * 1024 };
/** Characters of what a host says that are shown. */
const shown = 300;
const tries = 3;
/** The longest wait that a host may ask for, in seconds. */
const longestWait = 30;
const overloaded: readonly number[] = [502, 503, 504];

/** A call that failed. The message names host, path and answer, and holds no token. */
export class RestError extends Error {
  /** Of the answer; undefined where there was none. */
  readonly status: number | undefined;

  constructor(message: string, status?: number, cause?: unknown) {
    super(message, { cause });
    this.name = "RestError";
    this.status = status;
  }

  /** Whether the token may not do this. */
  get isForbidden(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** Calls a REST API: bounded in time and bytes, and repeated where the host is overloaded and nothing was done yet. */
export class Rest {
  readonly #options: Required<RestOptions>;

  constructor(options: RestOptions) {
    this.#options = { ...defaults, ...options };
  }

  /** Throws a RestError for any answer that is not 2xx. */
  async call(method: Method, path: string, body?: unknown): Promise<RestAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#send(method, path, body);
      if (answer.ok) return { body: await this.#parsed(answer, path), hasNext: hasNext(answer) };
      const wait = attempt < tries && mayRepeat(method, answer.status) ? this.#waitOf(answer, attempt) : undefined;
      if (wait === undefined) throw await this.#refused(method, path, answer);
      await answer.body?.cancel();
      await sleep(wait);
    }
  }

  async #send(method: Method, path: string, body: unknown): Promise<Response> {
    const { address, headers, timeout } = this.#options;
    try {
      return await fetch(`${address.replace(/\/$/, "")}${path}`, {
        method,
        headers: {
          accept: "application/json",
          ...headers,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // Wherever it leads to would be sent the token.
        redirect: "error",
        signal: AbortSignal.timeout(timeout),
      });
    } catch (error) {
      throw new RestError(`${method} ${address}${path}: expected an answer: ${reasonOf(error)}`, undefined, error);
    }
  }

  async #parsed(answer: Response, path: string): Promise<unknown> {
    const text = await this.#text(answer, path);
    if (text === "") return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw new RestError(`${this.#options.address}${path}: expected JSON: ${reasonOf(error)}`, answer.status, error);
    }
  }

  async #text(answer: Response, path: string): Promise<string> {
    const { mostBytes } = this.#options;
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of answer.body ?? []) {
        const bytes = chunk as Uint8Array;
        size += bytes.length;
        if (size > mostBytes) throw new Error(`expected at most ${mostBytes} bytes`);
        chunks.push(bytes);
      }
    } catch (error) {
      throw new RestError(
        `${this.#options.address}${path}: the answer cannot be read: ${reasonOf(error)}`,
        undefined,
        error,
      );
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  /** Milliseconds until a repetition; undefined where the host wants a longer wait than a job should take. */
  #waitOf(answer: Response, attempt: number): number | undefined {
    const asked = answer.headers.get("retry-after");
    if (asked === null) return this.#options.pause * 2 ** (attempt - 1);
    const seconds = Number(asked);
    return seconds >= 0 && seconds <= longestWait ? 1_000 * seconds : undefined;
  }

  async #refused(method: Method, path: string, answer: Response): Promise<RestError> {
    const text = await this.#text(answer, path).catch(() => "");
    const said = messageIn(text).slice(0, shown);
    const why = said === "" ? "" : `: ${said}`;
    return new RestError(`${method} ${this.#options.address}${path}: answered ${answer.status}${why}`, answer.status);
  }
}

/** A call that was done, but whose answer did not arrive, must not be done twice; one that was refused may be. */
function mayRepeat(method: Method, status: number): boolean {
  return status === 429 || (method !== "POST" && overloaded.includes(status));
}

function hasNext({ headers }: Response): boolean {
  return /;\s*rel="?next"?/.test(headers.get("link") ?? "");
}

/** What a host says about a refusal: GitHub, Gitea and GitLab name it differently. */
function messageIn(text: string): string {
  try {
    const { message, error } = JSON.parse(text) as { message?: unknown; error?: unknown };
    const said = message ?? error ?? "";
    return typeof said === "string" ? said : JSON.stringify(said);
  } catch {
    return text.trim();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
