import RequestQueue from "kafkajs/src/network/requestQueue/index.js";

/** How often the requests of a connection that are under way are looked at, in milliseconds. */
const every = 1_000;

let isDone = false;

/**
 * Takes idle timers from kafkajs, in this process and for good: it looks ten times a second at each connection for
 * requests that are late, also where there are none, which in simulated time is most of what there is to do. Requests
 * that are late are still found, by the wall clock, and within a second.
 */
export function quietKafkajs(): void {
  if (isDone) return;
  isDone = true;
  const { sendSocketRequest } = RequestQueue.prototype;
  Object.assign(RequestQueue.prototype, {
    sendSocketRequest(this: RequestQueue, request: Parameters<typeof sendSocketRequest>[0]): void {
      sendSocketRequest.call(this, request);
      if (this.requestTimeoutIntervalId === undefined) this.scheduleRequestTimeoutCheck();
    },
    scheduleRequestTimeoutCheck(this: RequestQueue): void {
      clearTimeout(this.requestTimeoutIntervalId);
      this.requestTimeoutIntervalId = setTimeout(() => {
        this.requestTimeoutIntervalId = undefined;
        for (const request of this.inflight.values()) {
          if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
        }
        // As kafkajs does: what is under way when a connection is given up is looked at no more.
        if (this.isConnected() && this.inflight.size > 0) this.scheduleRequestTimeoutCheck();
      }, every);
    },
  });
}
