import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, request, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { dirname } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { listenPrivately, shortSocketPath } from "../../engine/index.ts";
import type { Refusal } from "./outcome.ts";

/** A listener for pushed events on a socket that only this user reaches, and its sender. */
export class PrivateListener {
  readonly #server: Server;
  readonly #socketPath: string;

  private constructor(server: Server, socketPath: string) {
    this.#server = server;
    this.#socketPath = socketPath;
  }

  static async open(handle: RequestListener): Promise<PrivateListener> {
    const server = createServer(handle);
    const socketPath = await shortSocketPath("events");
    await listenPrivately(server, socketPath);
    return new PrivateListener(server, socketPath);
  }

  /** Sends JSON; resolves with the refusal, of all of it or of some spans, or with nothing where all was taken. */
  async post(path: string, body: Buffer, headers: Record<string, string>): Promise<Refusal | undefined> {
    const all = { "content-type": "application/json", "content-length": String(body.length), ...headers };
    const sent = request({ socketPath: this.#socketPath, path, method: "POST", headers: all, agent: false });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const [status, text] = [response.statusCode ?? 0, await textOf(response)];
    if (status >= 300) return { status, message: messageIn(text) };
    const refused = partialSuccessIn(text);
    return refused === undefined ? undefined : { status, message: refused };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(dirname(this.#socketPath), { recursive: true, force: true });
  }
}

/** Why some of an OTLP request was refused; undefined where all of it was taken. */
function partialSuccessIn(text: string): string | undefined {
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { errorMessage: string } };
    return partialSuccess?.errorMessage;
  } catch {
    return undefined;
  }
}

function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message : text;
  } catch {
    return text;
  }
}
