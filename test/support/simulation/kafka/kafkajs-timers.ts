import RequestQueue from "kafkajs/src/network/requestQueue/index.js";

/** How often the requests of a connection that are under way are looked at, in milliseconds. */
const every = 1_000;

let isDone = false;

/**
 * Takes idle timers from kafkajs, in this process and for good. Once a connection had an answer, kafkajs looks each
 * millisecond for requests that wait to be sent, and ten times a second for some that are late, also where there are
 * none: in simulated time that is nearly all there is to do. What it does when there are some stays.
 */
export function quietKafkajs(): void {
  if (isDone) return;
  isDone = true;
  const { scheduleCheckPendingRequests, sendSocketRequest } = RequestQueue.prototype;
  Object.assign(RequestQueue.prototype, {
    scheduleCheckPendingRequests(this: RequestQueue): void {
      if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
    },
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
