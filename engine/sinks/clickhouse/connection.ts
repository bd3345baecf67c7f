import type { Agent } from "node:http";
import { addAbortSignal } from "node:stream";
import type { ClickHouseClient, ClickHouseSettings } from "@clickhouse/client";
import type { SinkConnection } from "../../../schemas/pipeline.ts";
import { bodyOf, clientFor, readAnswer } from "./client.ts";
import type { Target } from "./client.ts";
import { isFar } from "./distance.ts";
import { endpointOf } from "./endpoint.ts";
import type { Endpoint } from "./endpoint.ts";
import { isOutOfTime } from "./time-limit.ts";
import type { Trouble } from "./trouble.ts";
import { clipped, parseClientError, parseServerError, TroubleError } from "./trouble.ts";

/** Where the embedded ClickHouse is reached. */
export interface EmbeddedServer {
  url: string;
  username: string;
  password: string;
}

export interface Request {
  signal: AbortSignal;
  settings?: ClickHouseSettings;
  /** Rows for an INSERT that ends in its FORMAT. */
  body?: Buffer;
  /** The session of the server that the statement belongs to: statements of one session see its temporary tables. */
  session?: string;
}

export interface ConnectionOptions {
  /** Where `host: embedded` is reached; a function where that may change. */
  embedded?: EmbeddedServer | (() => EmbeddedServer);
  /** What makes the sockets; by default an agent of its own. */
  agent?: Agent;
  /** Whether bodies are compressed; by default, where the server is reached over the internet. */
  far?: boolean;
}

const nativePort = /is for clickhouse-client program/;

/**
 * The HTTP connection to one ClickHouse: one client, made when first needed, and made anew when the embedded server
 * came back at another address. Knows the password and never shows it.
 */
export class Connection {
  readonly #params: SinkConnection;
  readonly #embedded: (() => EmbeddedServer) | undefined;
  readonly #endpoint: Endpoint | string | undefined;
  readonly #agent: Agent | undefined;
  #far: Promise<boolean> | undefined;
  #client: { target: Target; client: ClickHouseClient } | undefined;

  constructor(params: SinkConnection, { embedded, agent, far }: ConnectionOptions = {}) {
    this.#agent = agent;
    this.#far = far === undefined ? undefined : Promise.resolve(far);
    this.#params = params;
    this.#embedded = typeof embedded === "object" ? () => embedded : embedded;
    this.#endpoint = params.host === "embedded" ? undefined : endpointOf(params);
  }

  /** Said once where the port was guessed. */
  get warning(): string | undefined {
    return typeof this.#endpoint === "object" ? this.#endpoint.warning : undefined;
  }

  /** For messages: `clickhouse.example:8123`, or `the embedded ClickHouse`. */
  get name(): string {
    if (this.#endpoint === undefined) return "the embedded ClickHouse";
    return typeof this.#endpoint === "object" ? this.#endpoint.url.replace(/^https?:\/\//, "") : this.#params.host;
  }

  /** Who speaks to the server. */
  get username(): string {
    return this.#client?.target.username ?? this.#params.username ?? "default";
  }

  /** The text without the password, should a server ever repeat it. */
  redact(text: string): string {
    const secrets = [this.#params.password, this.#client?.target.password].filter((secret) => secret !== undefined);
    return secrets.reduce((clean, secret) => (secret === "" ? clean : clean.replaceAll(secret, "***")), text);
  }

  /** Runs a statement and resolves with the text of its answer. Throws a TroubleError for whatever goes wrong. */
  async run(statement: string, request: Request): Promise<string> {
    if (request.signal.aborted) {
      throw new TroubleError({ from: "network", sent: false, text: "given up before it was sent" });
    }
    const { status, header, text } = await this.#exchange(statement, request);
    const isError = header !== undefined || status >= 300 || (request.body !== undefined && text !== "");
    if (!isError) return text;
    // Before it is cut: of a secret across the cut a part would be left.
    const said = this.redact(text);
    if (nativePort.test(said)) throw new TroubleError({ from: "protocol", text: clipped(said) });
    throw new TroubleError(parseServerError(said, header) ?? { from: "http", status, text: clipped(said) });
  }

  async close(): Promise<void> {
    const open = this.#client;
    this.#client = undefined;
    await open?.client.close();
  }

  async #exchange(
    statement: string,
    request: Request,
  ): Promise<{ status: number; header: string | undefined; text: string }> {
    const { signal, settings, body, session } = request;
    const client = this.#open();
    try {
      const answer = await client.exec({
        query: statement,
        abort_signal: signal,
        ignore_error_response: true,
        ...(settings === undefined ? {} : { clickhouse_settings: settings }),
        ...(session === undefined ? {} : { session_id: session }),
        ...(body === undefined ? {} : await bodyOf(body, await this.#isFar())),
      });
      const header = answer.response_headers["x-clickhouse-exception-code"];
      const text = await readAnswer(addAbortSignal(signal, answer.stream));
      return {
        status: answer.http_status_code ?? 200,
        header: header === undefined ? undefined : String(header),
        text,
      };
    } catch (error) {
      throw new TroubleError(request.signal.aborted ? givenUp(request.signal) : parseClientError(error));
    }
  }

  /** Looked up once: a server does not move between networks while a pipeline runs. */
  #isFar(): Promise<boolean> {
    return (this.#far ??= this.#endpoint === undefined ? Promise.resolve(false) : isFar(this.#params.host));
  }

  #open(): ClickHouseClient {
    const target = this.#target();
    const current = this.#client?.target;
    if (this.#client !== undefined && current?.url === target.url && current.password === target.password) {
      return this.#client.client;
    }
    void this.#client?.client.close();
    const client = clientFor(target, this.#agent);
    this.#client = { target, client };
    return client;
  }

  #target(): Target {
    const { username, password, skip_certificate_verification: skip, secure } = this.#params;
    if (typeof this.#endpoint === "string") throw new TroubleError({ from: "settings", text: this.#endpoint });
    if (this.#endpoint !== undefined) {
      return {
        url: this.#endpoint.url,
        username: username ?? "default",
        password: password ?? "",
        skipCertificate: secure && skip,
      };
    }
    if (this.#embedded === undefined) {
      throw new TroubleError({
        from: "settings",
        text: "connection_params.host is embedded, but no embedded ClickHouse runs here",
      });
    }
    try {
      return { ...this.#embedded(), skipCertificate: false };
    } catch (error) {
      throw new TroubleError({ ...parseClientError(error), from: "network", sent: false });
    }
  }
}

/** A limit that ran out, or a caller that waits no longer. The statement may have reached the server. */
function givenUp(signal: AbortSignal): Trouble {
  return { from: "network", sent: true, text: isOutOfTime(signal) ? "it took too long" : "given up while it ran" };
}
