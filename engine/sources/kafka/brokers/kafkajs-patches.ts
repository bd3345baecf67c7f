import type { ISocketFactory, Kafka } from "kafkajs";
import type Broker from "kafkajs/src/broker/index.js";
import type Connection from "kafkajs/src/network/connection.js";
import type RequestQueue from "kafkajs/src/network/requestQueue/index.js";
import type { SocketRequest } from "kafkajs/src/network/requestQueue/index.js";
import { type BrokerAddress, readBrokerAddress } from "../../../../schemas/addresses/broker-address.ts";
import { AnswerRoom } from "../../../peers/answer-room.ts";
import { Answers, longestAnswer, longestOfLogin, lookForRoom, noRoom, waitForRoom } from "./answers.ts";
import { mismatch } from "./failures.ts";
import { kafkajs } from "./kafkajs.ts";

const lengthBytes = Int32Array.BYTES_PER_ELEMENT;

let isPatched = false;

/** Patches faults of kafkajs 2.2.4 in this process, for good. */
export function patchKafkajs(): void {
  if (isPatched) return;
  isPatched = true;
  forgetPartsOfAnswers();
  endAtUnreadableAnswers();
  lookOnlyForRequestsThatWait();
  lookForLateAnswersWhenDue();
  giveLessTimeWhereAsked();
  obeyThrottlingForAWhile();
  deriveKeysInFewIterations();
  askForVersionsAgain();
  renewLoginsInTime();
  nameMechanisms();
  tellListenersWithLogin();
}

/** The clusters of a client, by a method that kafkajs names with a symbol. */
type Clusters = Record<symbol, (options: object) => { connectionPoolBuilder: { build: Build } }>;
type Build = (address?: BrokerAddress & { rack?: string }) => Promise<object>;

/**
 * The clusters of a client begin with these brokers, in turn. kafkajs would split their texts at each colon: an address of
 * IPv6 is the host "[" then.
 */
export function beginWith(brokers: readonly string[], kafka: Kafka): Kafka {
  const clusters = kafka as unknown as Clusters;
  const symbol = Object.getOwnPropertySymbols(kafka).find((one) => one.description?.includes("createCluster"))!;
  const create = clusters[symbol]!;
  clusters[symbol] = (options) => {
    const cluster = create(options);
    const { build } = cluster.connectionPoolBuilder;
    let begun = 0;
    cluster.connectionPoolBuilder.build = async (address) =>
      build(address ?? addressOf(brokers[begun++ % brokers.length]!));
    return cluster;
  };
  return kafka;
}

function addressOf(broker: string): BrokerAddress {
  const address = readBrokerAddress(broker);
  if (address === undefined) throw new Error(`brokers: expected host:port, such as kafka-1:9092, found "${broker}"`);
  return address;
}

/** The answers that connections receive. */
const answersOf = new WeakMap<Connection, Answers>();

/** The room for answers of each client, whose connections have one factory of sockets. */
const rooms = new WeakMap<ISocketFactory, AnswerRoom>();

/** How many answers each connection has received since it was made. */
const answered = new WeakMap<Connection, number>();

/** The connections by their requests. */
const connectionOf = new WeakMap<RequestQueue, Connection>();

/**
 * A connection that breaks within an answer leaves the first part of it in a buffer. kafkajs would append the bytes of
 * the next connection to it, misread every answer from then on, and end the process where a length does not fit.
 */
function forgetPartsOfAnswers(): void {
  const { prototype } = kafkajs().Connection;
  const { connect } = prototype;
  prototype.connect = function (this: Connection): Promise<boolean> {
    connectionOf.set(this.requestQueue, this);
    if (!this.isConnected()) {
      // Bytes that the previous connection still delivers belong to requests that were given up.
      if (this.socket?.connecting === false) this.socket.removeAllListeners("data");
      answersOf.get(this)?.drop();
      answersOf.delete(this);
      answered.delete(this);
    }
    return connect.call(this);
  };
}

/**
 * A length that no answer has makes kafkajs throw in the listener of the socket, which ends the thread of all pipelines,
 * read the same bytes for ever, or keep up to 2 GiB. Here it ends the connection, as any error of the socket does.
 */
function endAtUnreadableAnswers(): void {
  kafkajs().Connection.prototype.processData = function (this: Connection, data: Buffer): void {
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
    authHandlers.onSuccess(Buffer.from(data));
    return;
  }
  const answers = answersOf.get(connection) ?? beginAnswers(connection);
  answers.read(data, lengthsNow(connection), (answer) => handOver(connection, answer));
  if (answers.waiting !== undefined) waitUntilRoom(connection, answers);
}

function beginAnswers(connection: Connection): Answers {
  const { socket, socketFactory } = connection;
  const room = rooms.get(socketFactory) ?? new AnswerRoom();
  rooms.set(socketFactory, room);
  const answers = new Answers(room);
  answersOf.set(connection, answers);
  socket?.once("close", () => answers.drop());
  return answers;
}

/** Receives nothing more until there is room for an answer; ends the connection where there is none for long. */
function waitUntilRoom(connection: Connection, answers: Answers): void {
  const { socket } = connection;
  socket?.pause();
  const end = performance.now() + waitForRoom;
  const look = (): void => {
    const { waiting } = answers;
    if (waiting === undefined || socket?.destroyed !== false) return;
    if (performance.now() > end) {
      socket.destroy(noRoom(waiting));
      return;
    }
    try {
      answers.goOn(lengthsNow(connection), (answer) => handOver(connection, answer));
    } catch (error) {
      socket.destroy(error as Error);
      return;
    }
    if (answers.waiting === undefined) socket.resume();
    else setTimeout(look, lookForRoom).unref();
  };
  setTimeout(look, lookForRoom).unref();
}

/** An answer to a login may be empty; any other begins with the number of its request. */
function lengthsNow(connection: Connection): { shortest: number; longest: number } {
  return {
    shortest: connection.authHandlers === null ? lengthBytes : 0,
    longest: isBeforeLogin(connection) ? longestOfLogin : longestAnswer,
  };
}

function handOver(connection: Connection, answer: Buffer): void {
  answered.set(connection, (answered.get(connection) ?? 0) + 1);
  if (connection.authHandlers !== null) {
    connection.authHandlers.onSuccess(answer);
    return;
  }
  const [correlationId, payload] = [answer.readInt32BE(lengthBytes), answer.subarray(2 * lengthBytes)];
  connection.requestQueue.fulfillRequest({ size: answer.length - lengthBytes, correlationId, payload });
}

/** Whether nothing was asked for yet but which versions the broker knows, and the steps of a login. */
function isBeforeLogin({ versions, authHandlers, sasl, authenticatedAt }: Connection): boolean {
  return versions === null || authHandlers !== null || (sasl !== null && authenticatedAt === null);
}

/**
 * After the first answer on a connection, kafkajs checks every millisecond for requests to send, even if none wait: the
 * nine connections of an idle pipeline with three brokers cost 3.7 % of a core.
 */
function lookOnlyForRequestsThatWait(): void {
  const { prototype } = kafkajs().RequestQueue;
  const { scheduleCheckPendingRequests } = prototype;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
}

/**
 * kafkajs looks ten times a second at each connection for answers that are late, by the wall clock, also where none is
 * awaited. Here it looks when the first answer is due, by the monotonic clock. kafkajs also goes on with the connection:
 * where an answer came with a length that is too large, each later one is taken for a part of it, and is late too. Here
 * a late answer ends its connection.
 */
function lookForLateAnswersWhenDue(): void {
  const dueTimes = new WeakMap<SocketRequest, number>();
  // A request that was sent before this patch counts from now on.
  const dueTime = (request: SocketRequest): number =>
    dueTimes.get(request) ?? performance.now() + request.requestTimeout;
  const { prototype } = kafkajs().RequestQueue;
  const { sendSocketRequest } = prototype;
  prototype.sendSocketRequest = function (this: RequestQueue, request): void {
    dueTimes.set(request, performance.now() + request.requestTimeout);
    sendSocketRequest.call(this, request);
    this.scheduleRequestTimeoutCheck();
  };
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue): void {
    clearTimeout(this.requestTimeoutIntervalId);
    if (this.inflight.size === 0) return;
    const check = (): void => {
      const now = performance.now();
      const late = [...this.inflight.values()].filter((request) => dueTime(request) <= now);
      for (const request of late) request.timeoutRequest();
      if (late.length > 0) connectionOf.get(this)?.socket?.destroy(new Error("an answer did not come in time"));
      this.scheduleRequestTimeoutCheck();
    };
    const due = Math.min(...Array.from(this.inflight.values(), dueTime));
    this.requestTimeoutIntervalId = setTimeout(check, Math.ceil(due - performance.now())).unref();
  };
}

/**
 * kafkajs gives every request at least the time of its client. A heartbeat that is not answered would take a whole session,
 * after which the group has given the partitions away.
 */
function giveLessTimeWhereAsked(): void {
  const { prototype } = kafkajs().RequestQueue;
  const { createSocketRequest } = prototype;
  prototype.createSocketRequest = function (this: RequestQueue, pushed): SocketRequest {
    const made = createSocketRequest.call(this, pushed);
    made.requestTimeout = pushed.requestTimeout ?? made.requestTimeout;
    return made;
  };
}

/** The longest time for which a broker may have a client wait, in milliseconds: ten times what its quotas ask for. */
export const longestThrottle = 30_000;

/**
 * An answer says for how long the client must send nothing, up to 24 days. kafkajs obeys, also on the next connections to
 * that broker, and the requests that wait have no time limit: nothing is read, without an error.
 */
function obeyThrottlingForAWhile(): void {
  const { prototype } = kafkajs().RequestQueue;
  const { maybeThrottle } = prototype;
  prototype.maybeThrottle = function (this: RequestQueue, milliseconds): void {
    maybeThrottle.call(this, milliseconds && Math.min(milliseconds, longestThrottle));
  };
}

/** A login takes less than 100 ms with so many; brokers take at most 16,384. */
const mostIterations = 100_000;

/**
 * The broker says in how many iterations a client derives its key: 2^31 of them take half an hour of a thread that the
 * whole process has four of, for files, compression and names.
 */
function deriveKeysInFewIterations(): void {
  const { SCRAM } = kafkajs().scram;
  const { hi } = SCRAM;
  SCRAM.hi = (password, salt, iterations, digest) => {
    if (iterations <= mostIterations) return hi(password, salt, iterations, digest);
    return Promise.reject(new Error(`expected at most ${mostIterations} iterations, found ${iterations}`));
  };
}

/**
 * kafkajs asks a broker once which requests it supports, and keeps the answer for good: a wrong one, and one from before
 * an upgrade. Here it asks again on each later connection, and after a request that is not supported. It also keeps a
 * connection on which no answer was readable, takes it for one that is ready, and sends nothing on it: here it is closed.
 */
function askForVersionsAgain(): void {
  const { prototype } = kafkajs().Broker;
  const { connect, isConnected } = prototype;
  // Its connections come back with the next request, also where nobody asked for the versions.
  prototype.isConnected = function (this: Broker): boolean {
    return this.versions !== null && isConnected.call(this);
  };
  prototype.connect = async function (this: Broker): Promise<void> {
    const isKnown = this.versions !== null && !this.isConnected();
    const before = this.lookupRequest;
    try {
      await connect.call(this);
      // Others send by the former answer meanwhile.
      if (isKnown) this.versions = await this.apiVersions();
    } catch (error) {
      this.versions = null;
      this.connectionPool.setSupportAuthenticationProtocol(null);
      endConnections(this, error as Error);
      throw error;
    }
    if (isKnown || this.lookupRequest !== before) this.lookupRequest = forgettingLookup(this);
  };
}

/** At once: a disconnect by kafkajs waits for the answers under way, and new requests are sent meanwhile. */
function endConnections({ connectionPool }: Broker, error: Error): void {
  connectionPool.map(({ socket }) => socket?.destroy(error));
}

/** Finds the version of a request. Where it is not supported, the versions are asked for again before the next request. */
function forgettingLookup(broker: Broker): Broker["lookupRequest"] {
  const find = kafkajs().lookup(broker.versions!);
  return (key, request) => {
    try {
      const found = find(key, request);
      if (typeof found === "function") return found;
      throw new Error(`the broker supports no version of request ${key} that is known here`);
    } catch (error) {
      broker.versions = null;
      throw error;
    }
  };
}

/** Before the end of a login that holds for longer, it is renewed, in milliseconds, as kafkajs has it. */
const renewedBefore = 10_000;
/** Brokers close a connection that renews its login sooner. */
const soonestRenewal = 1_000;

/**
 * A broker may say for how long a login holds (`connections.max.reauth.ms`). kafkajs renews it ten seconds before its end:
 * where that is before its begin, before each request, which brokers refuse within a second after the last login, so that
 * nothing is ever read. Here a login of less than twenty seconds is renewed after a half of them.
 */
function renewLoginsInTime(): void {
  kafkajs().Connection.prototype.isAuthenticated = function (this: Connection): boolean {
    if (this.authenticatedAt === null) return false;
    const lifetime = this.sessionLifetime.toNumber();
    const [seconds, nanoseconds] = process.hrtime(this.authenticatedAt);
    const age = seconds * 1000 + nanoseconds / 1e6;
    return lifetime === 0 || age < Math.max(lifetime - renewedBefore, lifetime / 2, soonestRenewal);
  };
}

/** A broker that refuses a mechanism names those that it takes, which kafkajs drops: here its error names them. */
function nameMechanisms(): void {
  for (const response of kafkajs().saslHandshakes) {
    const { parse } = response;
    response.parse = (answer) =>
      parse(answer).catch((error: Error) => {
        throw Object.assign(error, { mechanisms: answer.enabledMechanisms });
      });
  }
}

/**
 * A listener that asks for a login tells everybody which versions it speaks, and closes the connection at the next request
 * of a client that has not logged in: here the error says so.
 */
function tellListenersWithLogin(): void {
  const { prototype } = kafkajs().Connection;
  const { rejectRequests } = prototype;
  prototype.rejectRequests = function (this: Connection, error): void {
    const isClosed = error.name === "KafkaJSConnectionClosedError" && this.requestQueue.inflight.size > 0;
    if (isClosed && this.sasl === null && answered.get(this) === 1) mismatch(error, "LISTENER_WITH_LOGIN");
    rejectRequests.call(this, error);
  };
}
