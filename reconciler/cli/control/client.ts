import { type IncomingMessage, request } from "node:http";
import { CliError } from "../invocation/cli-error.ts";
import { controlPath, fitsSocket, socketPath } from "./address.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** An answer of the daemon that is not a success. */
export class RefusedError extends CliError {}

/** A client of the daemon that owns a data dir, over its control socket. */
export class ControlClient {
  readonly #dataDir: string;
  readonly #signal: AbortSignal | undefined;

  /** Requests end when `signal` aborts. */
  constructor(dataDir: string, signal?: AbortSignal) {
    this.#dataDir = dataDir;
    this.#signal = signal;
  }

  async get(path: string): Promise<unknown> {
    return JSON.parse(await this.#ask("GET", path)) as unknown;
  }

  async post(path: string, body?: unknown): Promise<unknown> {
    return JSON.parse(await this.#ask("POST", path, body)) as unknown;
  }

  /** For answers that are not JSON. */
  postForText(path: string, body: unknown): Promise<string> {
    return this.#ask("POST", path, body);
  }

  /** Throws RefusedError with the daemon's message, or CliError if no daemon answers. */
  async #ask(method: string, path: string, body?: unknown): Promise<string> {
    const socket = await socketPath(this.#dataDir);
    if (!fitsSocket(socket))
      throw new CliError(`the path ${socket} is too long for a socket: use a shorter --data-dir`);
    let answer: Answer;
    try {
      answer = await exchange(socket, method, path, body, this.#signal);
    } catch (error) {
      throw this.#unreachable(error as NodeJS.ErrnoException);
    }
    if (answer.status >= 300) throw new RefusedError(messageOf(answer));
    return answer.text;
  }

  #unreachable(error: NodeJS.ErrnoException): CliError {
    const looked = `data dir "${this.#dataDir}" (looked for ${controlPath(this.#dataDir)})`;
    switch (error.code) {
      case "ENOENT":
      case "ECONNREFUSED":
      case "ENOTDIR":
        return new CliError(
          `no sluice is running on ${looked}: start one with "sluice run", or name another --data-dir`,
        );
      case "EACCES":
      case "EPERM":
        return new CliError(`the sluice on ${looked} belongs to another user: ask as that user`);
      default:
        return new CliError(`the sluice on ${looked} did not answer: ${error.message}`);
    }
  }
}

interface Answer {
  status: number;
  text: string;
}

function exchange(
  socket: string,
  method: string,
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const options = {
      socketPath: socket,
      method,
      path,
      headers,
      agent: false,
      ...(signal !== undefined && { signal }),
    };
    const asked = request(options, (response) => {
      readText(response).then((answer) => resolve({ status: response.statusCode ?? 0, text: answer }), reject);
    });
    asked.once("error", reject);
    asked.end(text);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function messageOf({ status, text }: Answer): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // The answer is not from a route of the daemon, so only its status is known.
  }
  return `the daemon answered with status ${status}`;
}

export function daemonOf({ settings }: Invocation): ControlClient {
  return new ControlClient(settings.text("data_dir"));
}

/** The URL of a pipeline at the daemon. */
export function pipelineUrl(id: string, rest = ""): string {
  return `/api/v1/pipeline/${encodeURIComponent(id)}${rest}`;
}
