import { randomUUID } from "node:crypto";
import type { Agent } from "node:http";
import { addAbortSignal } from "node:stream";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { ClickHouseClient, ClickHouseSettings } from "@clickhouse/client";
import { readHost } from "../../../../schemas/addresses/host.ts";
import type { SinkConnection } from "../../../../schemas/pipeline.ts";
import { AnswerRoom } from "../../../peers/answer-room.ts";
import { type Hide, hiding } from "../../../peers/hidden-secrets.ts";
import { isNear, TargetPolicy, type TargetRules } from "../../../peers/targets.ts";
import { agentFor, bodyOf, clientFor, isAnswering, readAnswer, type Target } from "./client.ts";
import { type Endpoint, endpointOf } from "./endpoint.ts";
import { type HttpResponse, failureOf } from "./response.ts";
import { SentRequests } from "./sent-requests.ts";
import { isOutOfTime } from "../../../flow/time-limit.ts";
import { parseClientError, type RequestFailure, RequestError } from "./request-error.ts";

/** The address of the embedded ClickHouse. */
export interface EmbeddedServer {
  url: string;
  /** The Unix socket where it listens, instead of the host and the port of `url`. */
  socketPath?: string;
  username: string;
  password: string;
  /** The identity of what it remembers of inserts. */
  memory?: string;
}

export interface Request {
  signal: AbortSignal;
  settings?: ClickHouseSettings;
  /** Rows for an INSERT that ends in its FORMAT. */
  body?: Buffer;
  /** The server session of the statement: statements of one session see its temporary tables. */
  session?: string;
}

export interface ConnectionOptions {
  /** The address for `host: embedded`; a function where it may change. */
  embedded?: EmbeddedServer | (() => EmbeddedServer);
  /** The agent for HTTP connections; by default one of its own. */
  agent?: Agent;
  /** Which servers may be connected to; without it, the defaults. */
  targets?: TargetRules;
  /** Whether bodies are compressed; by default only if the server is reached over the internet. */
  compress?: boolean;
}

/**
 * The HTTP connection to one ClickHouse: one client, made when first needed, and made anew when the address of the
 * embedded server has changed. Never shows the password.
 */
export class Connection {
  readonly #params: SinkConnection;
  readonly #embedded: (() => EmbeddedServer) | undefined;
  readonly #endpoint: Endpoint | string | undefined;
  readonly #agent: Agent | undefined;
  readonly #policy: TargetPolicy;
  readonly #requests = new SentRequests();
  readonly #room = new AnswerRoom();
  #compressed: Promise<boolean> | undefined;
  #client: { target: Target; client: ClickHouseClient; agent: Agent } | undefined;
  #hide: Hide;

  constructor(params: SinkConnection, { embedded, agent, targets, compress }: ConnectionOptions = {}) {
    this.#agent = agent;
    this.#policy = new TargetPolicy(targets);
    this.#compressed = compress === undefined ? undefined : Promise.resolve(compress);
    this.#params = params;
    this.#hide = hiding([params.password]);
    this.#embedded = typeof embedded === "object" ? () => embedded : embedded;
    this.#endpoint = params.host === "embedded" ? undefined : endpointOf(params);
  }

  /** The warning that the port was guessed, to be logged once; undefined if it was not. */
  get warning(): string | undefined {
    return typeof this.#endpoint === "object" ? this.#endpoint.warning : undefined;
  }

  /** The identity of what the embedded ClickHouse remembers of inserts; undefined for another server. */
  get memory(): string | undefined {
    return this.#endpoint === undefined ? this.#embedded?.().memory : undefined;
  }

  /** For messages: `clickhouse.example:8123`, or `the embedded ClickHouse`. */
  get name(): string {
    if (this.#endpoint === undefined) return "the embedded ClickHouse";
    return typeof this.#endpoint === "object" ? this.#endpoint.url.replace(/^https?:\/\//, "") : this.#params.host;
  }

  /** The user of the connection. */
  get username(): string {
    return this.#client?.target.username ?? this.#params.username ?? "default";
  }

  /** The text without the password in any spelling, in case a server repeats it. Call it before the text is cut. */
  redact(text: unknown): string {
    return this.#hide(text);
  }

  /** Runs a statement and resolves with the text of its answer. Throws a RequestError for any failure. */
  async run(statement: string, request: Request): Promise<string> {
    if (request.signal.aborted) {
      throw new RequestError({ from: "network", sent: false, text: "aborted before it was sent" });
    }
    const response = await this.#exchange(statement, request);
    const failure = failureOf(response, request.body !== undefined, (text) => this.redact(text));
    if (failure !== undefined) throw new RequestError(failure);
    return response.text;
  }

  /** Whether the server answers at all. */
  async isAnswering(signal: AbortSignal): Promise<boolean> {
    try {
      const { target, agent } = this.#open();
      return await isAnswering(target.url, agent, signal);
    } catch (error) {
      if (error instanceof RequestError) return false;
      throw error;
    }
  }

  async close(): Promise<void> {
    const open = this.#client;
    this.#client = undefined;
    await open?.client.close();
  }

  #exchange(statement: string, request: Request): Promise<HttpResponse> {
    const { signal, settings, body, session } = request;
    const queryId = randomUUID();
    const { client } = this.#open();
    return this.#requests.during(queryId, async (sent) => {
      try {
        const answer = await client.exec({
          query: statement,
          query_id: queryId,
          abort_signal: signal,
          ignore_error_response: true,
          decompress_response_stream: false,
          ...(settings === undefined ? {} : { clickhouse_settings: settings }),
          ...(session === undefined ? {} : { session_id: session }),
          ...(body === undefined ? {} : await bodyOf(body, await this.#compresses())),
        });
        const headers = answer.response_headers;
        const text = await readAnswer(
          addAbortSignal(signal, answer.stream),
          this.#room,
          headers["content-encoding"]?.toString(),
        );
        return { queryId, status: answer.http_status_code ?? 0, headers, text };
      } catch (error) {
        const { mayHaveArrived } = sent;
        throw new RequestError(
          signal.aborted
            ? givenUp(signal, mayHaveArrived)
            : parseClientError(error, mayHaveArrived, (text) => this.redact(text)),
        );
      }
    });
  }

  /** Looked up once: a server does not move between networks while a pipeline runs. */
  #compresses(): Promise<boolean> {
    return (this.#compressed ??=
      this.#endpoint === undefined ? Promise.resolve(false) : isOverInternet(this.#params.host));
  }

  #open(): { client: ClickHouseClient; agent: Agent; target: Target } {
    const target = this.#target();
    const current = this.#client?.target;
    if (this.#client !== undefined && isSame(current, target)) return this.#client;
    void this.#client?.client.close();
    const agent = this.#requests.watch(this.#agent ?? agentFor(target, this.#policy));
    this.#hide = hiding([target.password, loginOf(target)]);
    this.#client = { target, agent, client: clientFor(target, agent) };
    return this.#client;
  }

  #target(): Target {
    const { username, password, skip_certificate_verification: skip, secure } = this.#params;
    if (typeof this.#endpoint === "string") throw new RequestError({ from: "settings", text: this.#endpoint });
    if (this.#endpoint !== undefined) {
      return {
        url: this.#endpoint.url,
        username: username ?? "default",
        password: password ?? "",
        skipCertificate: secure && skip,
      };
    }
    if (this.#embedded === undefined) {
      throw new RequestError({
        from: "settings",
        text: "connection_params.host is embedded, but no embedded ClickHouse runs here",
      });
    }
    try {
      return { ...this.#embedded(), skipCertificate: false };
    } catch (error) {
      throw new RequestError({ ...parseClientError(error, false), from: "network", sent: false });
    }
  }
}

function isSame(current: Target | undefined, { url, socketPath, password }: Target): boolean {
  return current?.url === url && current.socketPath === socketPath && current.password === password;
}

/** User and password as the header of a request holds them. */
function loginOf({ username, password }: Target): string | undefined {
  return password === "" ? undefined : Buffer.from(`${username}:${password}`).toString("base64");
}

/** A request that took too long, or that its caller aborted. */
function givenUp(signal: AbortSignal, sent: boolean): RequestFailure {
  return { from: "network", sent, text: isOutOfTime(signal) ? "it took too long" : "aborted while it ran" };
}

/**
 * Whether a server is reached over the internet. Compressing a body costs 18 ms of CPU per MB: worth it where the network
 * is slow or billed by the byte, not within a machine or a private network. A name that is not found counts as private.
 */
export async function isOverInternet(host: string): Promise<boolean> {
  const name = readHost(host) ?? host;
  const found = isIP(name) === 0 ? await lookup(name).catch(() => undefined) : { address: name };
  if (found === undefined) return false;
  return !isNear(found.address);
}
