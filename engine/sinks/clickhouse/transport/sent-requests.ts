import type { Agent, ClientRequest } from "node:http";
import type { Socket } from "node:net";

/** The time limit for making a connection, including its TLS handshake, in milliseconds. */
const connectTimeout = 10_000;

/** A request on its way. */
export interface SentRequest {
  /**
   * Whether it may have reached the server: it got an open connection, with TLS after the handshake. While it is false,
   * no byte of the request was written, not even of its headers.
   */
  mayHaveArrived: boolean;
}

/** The method of an agent that `http.request` calls, which its type does not have. */
type RequestingAgent = Agent & { addRequest(request: ClientRequest, ...options: unknown[]): void };

/**
 * Records whether any part of a request was sent. Neither its error nor the client says this: a reset gives the same
 * error before the connection is made and after the whole body was sent.
 */
export class SentRequests {
  readonly #requests = new Map<string, SentRequest>();

  /** The agent, with its requests recorded. A connection that is not made in time ends with an error. */
  watch(agent: Agent): Agent {
    const watched = Object.create(agent) as RequestingAgent;
    watched.addRequest = (request, ...options) => {
      request.once("socket", (socket) => this.#follow(socket, this.#requests.get(queryIdOf(request))));
      (agent as RequestingAgent).addRequest(request, ...options);
    };
    return watched;
  }

  /** Runs `work`, which sends a request with this `query_id`. */
  async during<Result>(queryId: string, work: (request: SentRequest) => Promise<Result>): Promise<Result> {
    const request = { mayHaveArrived: false };
    this.#requests.set(queryId, request);
    try {
      return await work(request);
    } finally {
      this.#requests.delete(queryId);
    }
  }

  /** No part of the request is written before this. */
  #follow(socket: Socket & { secureConnecting?: boolean }, request: SentRequest | undefined): void {
    if (socket.destroyed) return;
    const arrive = (): void => {
      if (request !== undefined) request.mayHaveArrived = true;
    };
    if (socket.secureConnecting === true) whenOpen(socket, "secureConnect", arrive);
    else if (socket.connecting) whenOpen(socket, "connect", arrive);
    else arrive();
  }
}

function whenOpen(socket: Socket, event: "connect" | "secureConnect", arrive: () => void): void {
  const late = `no connection within ${connectTimeout / 1000} s`;
  const timer = setTimeout(() => socket.destroy(new Error(late)), connectTimeout);
  socket.once(event, arrive);
  for (const over of [event, "close"]) socket.once(over, () => clearTimeout(timer));
}

function queryIdOf({ path }: ClientRequest): string {
  return /[?&]query_id=([\w-]+)/.exec(path)?.[1] ?? "";
}
