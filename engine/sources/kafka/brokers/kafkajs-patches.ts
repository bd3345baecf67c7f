import Connection from "kafkajs/src/network/connection.js";
import RequestQueue, { type SocketRequest } from "kafkajs/src/network/requestQueue/index.js";

let isPatched = false;

/** Patches faults of kafkajs 2.2.4 in this process, for good. */
export function patchKafkajs(): void {
  if (isPatched) return;
  isPatched = true;
  forgetPartsOfAnswers();
  endAtUnreadableAnswers();
  lookOnlyForRequestsThatWait();
  lookForLateAnswersWhenDue();
}

/**
 * A connection that breaks within an answer leaves the first part of it in a buffer. kafkajs would append the bytes of
 * the next connection to it, misread every answer from then on, and end the process where a length does not fit.
 */
function forgetPartsOfAnswers(): void {
  const { connect } = Connection.prototype;
  Connection.prototype.connect = function (this: Connection): Promise<boolean> {
    if (!this.isConnected()) {
      // Bytes that the previous connection still delivers belong to requests that were given up.
      if (this.socket?.connecting === false) this.socket.removeAllListeners("data");
      this.chunks = [];
      this.bytesBuffered = 0;
      this.bytesNeeded = Int32Array.BYTES_PER_ELEMENT;
    }
    return connect.call(this);
  };
}

/** An answer has at most as many bytes as a fetch asks for, or one batch of messages, which a broker sends whole. */
const longestAnswer = 256 * 1024 * 1024;
const lengthBytes = Int32Array.BYTES_PER_ELEMENT;

/**
 * A length that no answer has makes kafkajs throw in the listener of the socket, which ends the thread of all pipelines,
 * read the same bytes for ever, or keep up to 2 GiB. Here it ends the connection, as any error of the socket does.
 */
function endAtUnreadableAnswers(): void {
  Connection.prototype.processData = function (this: Connection, data: Buffer): void {
    try {
      takeAnswers(this, data);
    } catch (error) {
      this.socket?.destroy(error as Error);
    }
  };
}

/** What kafkajs does with bytes that a connection received: an answer that is complete goes to who waits for it. */
function takeAnswers(connection: Connection, data: Buffer): void {
  const { authHandlers } = connection;
  if (authHandlers !== null && !connection.authExpectResponse) {
    authHandlers.onSuccess(data);
    return;
  }
  connection.chunks.push(data);
  connection.bytesBuffered += data.length;
  while (connection.bytesNeeded <= connection.bytesBuffered) {
    const buffer = connection.chunks.length > 1 ? Buffer.concat(connection.chunks) : connection.chunks[0]!;
    const size = buffer.readInt32BE(0);
    // An answer to a login may be empty; any other begins with the number of its request.
    const shortest = authHandlers === null ? lengthBytes : 0;
    if (size < shortest || size > longestAnswer) {
      const wayOut = "is it a Kafka broker, and is its listener with TLS or without as protocol says?";
      throw new Error(
        `expected an answer of ${shortest} to ${longestAnswer} bytes, found the length ${size}: ${wayOut}`,
      );
    }
    const end = lengthBytes + size;
    if (end > buffer.length) {
      [connection.chunks, connection.bytesNeeded] = [[buffer], end];
      return;
    }
    const rest = buffer.subarray(end);
    [connection.chunks, connection.bytesBuffered, connection.bytesNeeded] = [[rest], rest.length, lengthBytes];
    if (authHandlers !== null) {
      authHandlers.onSuccess(buffer.subarray(0, end));
      return;
    }
    const [correlationId, payload] = [buffer.readInt32BE(lengthBytes), buffer.subarray(2 * lengthBytes, end)];
    connection.requestQueue.fulfillRequest({ size, correlationId, payload });
  }
}

/**
 * After the first answer on a connection, kafkajs checks every millisecond for requests to send, even if none wait: the
 * nine connections of an idle pipeline with three brokers cost 3.7 % of a core.
 */
function lookOnlyForRequestsThatWait(): void {
  const { scheduleCheckPendingRequests } = RequestQueue.prototype;
  RequestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/**
 * kafkajs looks ten times a second at each connection for answers that are late, by the wall clock, also where none is
 * awaited. Here it looks when the first answer is due, by the monotonic clock.
 */
function lookForLateAnswersWhenDue(): void {
  const dueTimes = new WeakMap<SocketRequest, number>();
  // A request that was sent before this patch counts from now on.
  const dueTime = (request: SocketRequest): number =>
    dueTimes.get(request) ?? performance.now() + request.requestTimeout;
  const { sendSocketRequest } = RequestQueue.prototype;
  RequestQueue.prototype.sendSocketRequest = function (this: RequestQueue, request): void {
    dueTimes.set(request, performance.now() + request.requestTimeout);
    sendSocketRequest.call(this, request);
    this.scheduleRequestTimeoutCheck();
  };
  RequestQueue.prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue): void {
    clearTimeout(this.requestTimeoutIntervalId);
    if (this.inflight.size === 0) return;
    const check = (): void => {
      const now = performance.now();
      for (const request of this.inflight.values()) if (dueTime(request) <= now) request.timeoutRequest();
      this.scheduleRequestTimeoutCheck();
    };
    const due = Math.min(...Array.from(this.inflight.values(), dueTime));
    this.requestTimeoutIntervalId = setTimeout(check, Math.ceil(due - performance.now())).unref();
  };
}
