/** A part of kafkajs that it does not export: the requests of one connection. */
declare module "kafkajs/src/network/requestQueue/index.js" {
  interface SocketRequest {
    sentAt: number;
    requestTimeout: number;
    timeoutRequest(): void;
  }

  export default class RequestQueue {
    inflight: Map<number, SocketRequest>;
    pending: SocketRequest[];
    requestTimeoutIntervalId: NodeJS.Timeout | undefined;
    isConnected(): boolean;
    destroy(): void;
    scheduleRequestTimeoutCheck(): void;
    scheduleCheckPendingRequests(): void;
    sendSocketRequest(request: SocketRequest): void;
  }
}
