import { Kafka, logLevel, type ISocketFactory, type KafkaConfig, type SASLOptions } from "kafkajs";
import type { KafkaConnection } from "../../../../schemas/pipeline.ts";
import type { Log } from "../../../telemetry/log.ts";
import Connection from "kafkajs/src/network/connection.js";
import RequestQueue, { type SocketRequest } from "kafkajs/src/network/requestQueue/index.js";

const connectionTimeout = 5_000;

/**
 * A client of the brokers, by the connection of a source with its secrets resolved. Nothing is connected yet.
 * `socketFactory` opens its connections; without one they are sockets of this machine.
 */
export function kafkaClient(
  connection: KafkaConnection,
  clientId: string,
  log: Log,
  socketFactory?: ISocketFactory,
): Kafka {
  patchKafkajs();
  const config: KafkaConfig = {
    clientId,
    brokers: connection.brokers,
    connectionTimeout,
    authenticationTimeout: connectionTimeout,
    requestTimeout: 30_000,
    // The callers retry and report failures: retries within the client would hide how long an outage lasts.
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 1_000 },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => log.debug({ client: clientId, reason: entry.log.message }, "Kafka client."),
  };
  const ssl = tlsOf(connection);
  if (ssl !== undefined) config.ssl = ssl;
  const sasl = saslOf(connection);
  if (sasl !== undefined) config.sasl = sasl;
  if (socketFactory !== undefined) config.socketFactory = socketFactory;
  return new Kafka(config);
}

/** TLS of at least version 1.2 where the protocol ends with SSL, with the system's CAs where no other is given. */
function tlsOf(connection: KafkaConnection): KafkaConfig["ssl"] {
  const { protocol, root_ca, client_cert, client_key, skip_tls_verification } = connection;
  if (!protocol.endsWith("SSL")) return undefined;
  return {
    minVersion: "TLSv1.2",
    rejectUnauthorized: !skip_tls_verification,
    ...(root_ca === undefined ? {} : { ca: [pemOf(root_ca)] }),
    ...(client_cert === undefined ? {} : { cert: pemOf(client_cert) }),
    ...(client_key === undefined ? {} : { key: pemOf(client_key) }),
  };
}

/** SASL is used where there is a mechanism. */
function saslOf({ mechanism, username = "", password = "" }: KafkaConnection): SASLOptions | undefined {
  switch (mechanism) {
    case "PLAIN":
      return { mechanism: "plain", username, password };
    case "SCRAM-SHA-256":
      return { mechanism: "scram-sha-256", username, password };
    case "SCRAM-SHA-512":
      return { mechanism: "scram-sha-512", username, password };
    default:
      return undefined;
  }
}

/** PEM text, given as it is or in base64. */
function pemOf(text: string): string {
  return text.includes("-----BEGIN") ? text : Buffer.from(text, "base64").toString("utf8");
}

let isPatched = false;

/** Patches faults of kafkajs 2.2.4 in this process, for good. */
export function patchKafkajs(): void {
  if (isPatched) return;
  isPatched = true;
  forgetPartsOfAnswers();
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
