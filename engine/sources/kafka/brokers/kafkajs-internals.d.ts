/** The parts of kafkajs that it does not export. Because of them kafkajs is pinned to one version. */
declare module "kafkajs/src/protocol/requests/index.js" {
  /** The requests that are used here, by kafkajs's names. */
  export type RequestName =
    | "DescribeGroups"
    | "Fetch"
    | "GroupCoordinator"
    | "Heartbeat"
    | "JoinGroup"
    | "LeaveGroup"
    | "ListOffsets"
    | "Metadata"
    | "OffsetCommit"
    | "OffsetFetch"
    | "SyncGroup";
  export const requests: Readonly<Record<RequestName, unknown>>;
  export function lookup(versions: object): (key: number, request: unknown) => unknown;
}

declare module "kafkajs/src/protocol/requests/saslHandshake/v0/response.js" {
  const response: {
    /** Throws for an error code. */
    parse: (answer: { enabledMechanisms: string[] }) => Promise<object>;
  };
  export default response;
}

declare module "kafkajs/src/protocol/requests/apiKeys.js" {
  import type { RequestName } from "kafkajs/src/protocol/requests/index.js";

  const apiKeys: Readonly<Record<RequestName | "OffsetForLeaderEpoch", number>>;
  export default apiKeys;
}

declare module "kafkajs/src/protocol/error.js" {
  export function createErrorFromCode(code: number): Error & { type: string; retriable: boolean };
}

declare module "kafkajs/src/protocol/encoder.js" {
  /** A request, as the connection takes it. */
  export default class Encoder {
    writeBufferInternal(bytes: Buffer): void;
  }
}

/** The parts of its connections that are patched here. */
declare module "kafkajs/src/network/connection.js" {
  import type { Socket } from "node:net";
  import type { ISocketFactory } from "kafkajs";
  import type RequestQueue from "kafkajs/src/network/requestQueue/index.js";

  export default class Connection {
    socket: Socket | undefined;
    /** Of the client, which all its connections have. */
    socketFactory: ISocketFactory;
    /** What takes the answers of a login; null where none is under way. */
    authHandlers: { onSuccess(bytes: Buffer): void } | null;
    /** Whether these answers begin with their length. */
    authExpectResponse: boolean;
    requestQueue: RequestQueue;
    /** When it logged in, as `process.hrtime` gives it; null where it has not. */
    authenticatedAt: [number, number] | null;
    /** For how many milliseconds the login holds; 0 for ever. */
    sessionLifetime: { toNumber(): number };
    /** Its login; null where it has none. */
    sasl: object | null;
    /** The versions of requests that the broker knows; null until they are known. */
    versions: object | null;
    isConnected(): boolean;
    /** Whether it is logged in; where it is not, it logs in before the next request. */
    isAuthenticated: (this: Connection) => boolean;
    /** Takes what the socket received. */
    processData: (this: Connection, data: Buffer) => void;
    /** Ends all requests that were sent or wait to be sent. */
    rejectRequests: (this: Connection, error: Error) => void;
    connect: (this: Connection) => Promise<boolean>;
  }
}

declare module "kafkajs/src/network/requestQueue/index.js" {
  export interface SocketRequest {
    /** In milliseconds. */
    requestTimeout: number;
    timeoutRequest(): void;
  }

  export default class RequestQueue {
    /** Requests that were sent and not yet answered, and those that wait to be sent. */
    inflight: Map<number, SocketRequest>;
    pending: SocketRequest[];
    requestTimeoutIntervalId: NodeJS.Timeout | undefined;
    isConnected(): boolean;
    /** Sends nothing for so many milliseconds. */
    maybeThrottle: (this: RequestQueue, milliseconds: number | null | undefined) => void;
    /** Gives an answer to the request that it names; one that nobody awaits is dropped. */
    fulfillRequest(answer: { size: number; correlationId: number; payload: Buffer }): void;
    createSocketRequest: (this: RequestQueue, pushed: { requestTimeout?: number | null }) => SocketRequest;
    sendSocketRequest: (this: RequestQueue, request: SocketRequest) => void;
    scheduleRequestTimeoutCheck: (this: RequestQueue) => void;
    scheduleCheckPendingRequests: (this: RequestQueue) => void;
  }
}

/** The login by SCRAM. */
declare module "kafkajs/src/broker/saslAuthenticator/scram.js" {
  interface Digest {
    length: number;
    type: string;
  }

  const scram: {
    SCRAM: {
      /** Derives the key from the password, in as many iterations as the broker asks for. */
      hi: (this: void, password: string, salt: Buffer, iterations: number, digest: Digest) => Promise<Buffer>;
    };
  };
  export default scram;
}

/** The connections to one address: one for fetches, one for all else. */
declare module "kafkajs/src/network/connectionPool.js" {
  import type Connection from "kafkajs/src/network/connection.js";

  export default class ConnectionPool {
    host: string;
    port: number;
    setSupportAuthenticationProtocol(isSupported: boolean | null): void;
    map(work: (connection: Connection) => void): void;
    send(request: object): Promise<unknown>;
  }
}

declare module "kafkajs/src/broker/index.js" {
  import type ConnectionPool from "kafkajs/src/network/connectionPool.js";

  type Lookup = (key: number, request: unknown) => unknown;

  export default class Broker {
    /** The versions that it has said to support, by API key; known once it is connected. */
    versions: Readonly<Record<number, { minVersion: number; maxVersion: number }>> | null;
    /** Finds the version of a request that both sides support. Throws where there is none. */
    lookupRequest: Lookup;
    connectionPool: ConnectionPool;
    isConnected: (this: Broker) => boolean;
    connect: (this: Broker) => Promise<void>;
    disconnect(): Promise<void>;
    apiVersions(): Promise<Readonly<Record<number, { minVersion: number; maxVersion: number }>>>;
  }
}
