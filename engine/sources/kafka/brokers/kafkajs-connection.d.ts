/** The parts of kafkajs's connections that are mended here. */
declare module "kafkajs/src/network/connection.js" {
  import type { Socket } from "node:net";

  export default class Connection {
    socket: Socket | undefined;
    /** The part of an answer that has come so far. */
    chunks: Buffer[];
    bytesBuffered: number;
    bytesNeeded: number;
    isConnected(): boolean;
    connect: (this: Connection) => Promise<boolean>;
  }
}

declare module "kafkajs/src/network/requestQueue/index.js" {
  interface SocketRequest {
    sentAt: number;
    requestTimeout: number;
    timeoutRequest(): void;
  }

  export default class RequestQueue {
    /** Requests that were sent and not answered, and those that wait to be sent. */
    inflight: Map<number, SocketRequest>;
    pending: SocketRequest[];
    requestTimeoutIntervalId: NodeJS.Timeout | undefined;
    isConnected(): boolean;
    sendSocketRequest: (this: RequestQueue, request: SocketRequest) => void;
    scheduleRequestTimeoutCheck: (this: RequestQueue) => void;
    scheduleCheckPendingRequests: (this: RequestQueue) => void;
  }
}
