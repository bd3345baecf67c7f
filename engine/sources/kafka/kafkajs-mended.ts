import Connection from "kafkajs/src/network/connection.js";
import RequestQueue from "kafkajs/src/network/requestQueue/index.js";

let isMended = false;

/** Mends two faults of kafkajs 2.2.4 in this process, for good. */
export function mendKafkajs(): void {
  if (isMended) return;
  isMended = true;
  forgetPartsOfAnswers();
  lookOnlyForRequestsThatWait();
}

/**
 * A connection that breaks within an answer leaves the first part of it, and kafkajs would take what the next connection
 * brings for the rest: nothing that comes by it is understood any more, and one that seems too short for its length ends
 * the process.
 */
function forgetPartsOfAnswers(): void {
  const { connect } = Connection.prototype;
  Connection.prototype.connect = function (this: Connection): Promise<boolean> {
    if (!this.isConnected()) {
      // What the connection before still brings belongs to requests that were given up.
      if (this.socket?.connecting === false) this.socket.removeAllListeners("data");
      this.chunks = [];
      this.bytesBuffered = 0;
      this.bytesNeeded = Int32Array.BYTES_PER_ELEMENT;
    }
    return connect.call(this);
  };
}

/**
 * Once a connection had an answer, kafkajs looks each millisecond for requests that wait to be sent, also where there are
 * none: nine connections, as a pipeline has with three brokers, cost 3.7 % of a core while nothing comes.
 */
function lookOnlyForRequestsThatWait(): void {
  const { scheduleCheckPendingRequests } = RequestQueue.prototype;
  RequestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}
