import type { Socket } from "node:net";
import {
  type ConnectionInjector,
  type handleClientStreamingCall,
  type handleUnaryCall,
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerReadableStream,
  type ServiceDefinition,
  status,
  type StatusObject,
} from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import type { Caller, Signal } from "../../../core/push.ts";
import { type BeginRequest, type RequestProgress, unobserved } from "../../../http/request-progress.ts";
import { maxBody } from "../decoding/decode.ts";
import { pipelineNamed, type Received, type Receiver } from "./receiver.ts";
import { type Origin, type Place, Places } from "../../../flow/places.ts";
import { answerTo, encodeResponse, encodeStatus, type Outcome, outcomeOf, Refused } from "./outcome.ts";

const services: Record<Signal, string> = {
  logs: "opentelemetry.proto.collector.logs.v1.LogsService",
  traces: "opentelemetry.proto.collector.trace.v1.TraceService",
  metrics: "opentelemetry.proto.collector.metrics.v1.MetricsService",
};

/** Milliseconds. A quiet connection gets keep-alive pings; one without calls for a while is closed. */
const times = {
  "grpc.keepalive_time_ms": 60_000,
  "grpc.keepalive_timeout_ms": 20_000,
  "grpc.max_connection_idle_ms": 300_000,
};

const limits = { "grpc.max_receive_message_length": maxBody, "grpc.max_concurrent_streams": 100 };

/**
 * OTLP over gRPC: the three Export services and `grpc.health.v1`, on connections that another server accepted. Requests
 * may be compressed with gzip. Answers are not: they are small, and servers of this library cannot compress.
 */
export class OtlpGrpc {
  readonly #server = new Server({ ...times, ...limits, "grpc.enable_channelz": 0 });
  readonly #receiver: Receiver;
  readonly #health = new HealthImplementation({ "": "SERVING" });
  readonly #connections: ConnectionInjector;
  /** Open connections, by address and port of their peers: the library shows of that of a call its peer alone. */
  readonly #peers = new Map<string, Connection>();

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
    const calls = new ExportCalls(receiver, (peer) => this.#peers.get(peer) ?? gone);
    for (const [signal, name] of Object.entries(services) as [Signal, string][]) {
      this.#server.addService(definition(name), { Export: calls.of(signal) });
      this.#health.setStatus(name, "SERVING");
    }
    this.#addHealth();
    this.#connections = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
  }

  /** Serves an accepted connection. `begins` is called with each call on it. */
  accept(socket: Socket, begins?: BeginRequest): void {
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      if (code === "ERR_HTTP2_ERROR") this.#receiver.port.refused(notHttp2);
    });
    this.#note(socket, begins);
    this.#connections.injectConnection(socket);
  }

  /** From now on checks of health say that it does not serve, although it still takes all that comes. */
  leaving(): void {
    for (const name of ["", ...Object.values(services)]) this.#health.setStatus(name, "NOT_SERVING");
  }

  /** Refuses new calls, waits up to `grace` milliseconds for running ones, then closes the connections. */
  drain(grace: number): void {
    this.leaving();
    this.#connections.drain(grace);
  }

  /** Closes every connection at once. */
  close(): void {
    this.#connections.drain(0);
    this.#server.forceShutdown();
  }

  /**
   * A check of health is a request too, which its library answers. An interceptor would see it as well, but wraps each
   * call, and all that goes through it.
   */
  #addHealth(): void {
    this.#health.addToServer({
      addService: (service, handlers) => {
        const observed = Object.entries(handlers).map(([name, handle]) => [name, this.#observed(handle as Probed)]);
        this.#server.addService(service, Object.fromEntries(observed) as Record<string, Probed>);
      },
    });
  }

  #observed(handle: Probed): Probed {
    return (call, answer) => {
      this.#peers.get(call.getPeer())?.begins().ended();
      handle(call, answer);
    };
  }

  #note(socket: Socket, begins: BeginRequest = () => unobserved): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    const connection = new Connection(socket, begins);
    this.#peers.set(peer, connection);
    socket.once("close", () => this.#peers.get(peer) === connection && this.#peers.delete(peer));
  }
}

/** The connection of a call. */
class Connection implements Origin {
  readonly #socket: Pick<Socket, "bytesRead">;
  /** Tells the listener of a call on it. */
  readonly begins: BeginRequest;

  constructor(socket: Pick<Socket, "bytesRead">, begins: BeginRequest) {
    this.#socket = socket;
    this.begins = begins;
  }

  get sent(): number {
    return this.#socket.bytesRead;
  }
}

/** That of a call whose connection is closed. */
const gone = new Connection({ bytesRead: 0 }, () => unobserved);

/** Such as HTTP/1.1, or TLS on a port without it: Node's server ends such a connection without a call. */
const notHttp2 = { reason: "malformed", message: "expected HTTP/2" } as const;

/** A handler of the service of health. One that answers with a stream takes a call alone. */
type Probed = handleUnaryCall<unknown, unknown>;

const asItIs = (bytes: Buffer): Buffer => bytes;

/** Its one method takes and returns bytes, which the receiver decodes itself. */
function definition(service: string): ServiceDefinition {
  return {
    Export: {
      path: `/${service}/Export`,
      // On the wire a single message looks the same as a stream. As a stream, a call can be refused before its message
      // has arrived.
      requestStream: true,
      responseStream: false,
      requestSerialize: asItIs,
      requestDeserialize: asItIs,
      responseSerialize: asItIs,
      responseDeserialize: asItIs,
    },
  };
}

type Call = ServerReadableStream<Buffer, Buffer>;

/** Who waits for the answer to a call: it has gone when the call is cancelled, or at the deadline that its `grpc-timeout` sets. */
class GrpcCaller implements Caller {
  readonly #call: Call;
  readonly #deadline: number;

  constructor(call: Call) {
    this.#call = call;
    this.#deadline = Number(call.getDeadline());
  }

  get isGone(): boolean {
    // While this thread is busy, its library notes a deadline late.
    return this.#call.cancelled || this.isLate;
  }

  get isLate(): boolean {
    return Date.now() + early >= this.#deadline;
  }
}

/** The timer by which the library ends a call at its deadline may be so many milliseconds before it by the wall clock. */
const early = 2;

/** How long a message may take to arrive, in milliseconds. */
const messageTimeout = 15_000;

/**
 * The most calls whose message is arriving: each holds up to a whole message, before and after decompression. Of those that
 * wait for this, nothing is read.
 */
const mostArriving = 50;

interface Asked {
  /** The pipeline that a call names. */
  asked: string | undefined;
  signal: Signal;
  progress: RequestProgress;
  connection: Connection;
}

/** Answers the calls of the Export services. */
class ExportCalls {
  readonly #receiver: Receiver;
  readonly #connectionOf: (peer: string) => Connection;
  readonly #arriving: Places;

  constructor(receiver: Receiver, connectionOf: (peer: string) => Connection) {
    this.#receiver = receiver;
    this.#connectionOf = connectionOf;
    this.#arriving = new Places(mostArriving, receiver.maxWait);
  }

  /** The handler of one signal's service. */
  of(signal: Signal): handleClientStreamingCall<Buffer, Buffer> {
    return (call, answer) => void this.#answer(signal, call, answer);
  }

  async #answer(signal: Signal, call: Call, answer: sendUnaryData<Buffer>): Promise<void> {
    const started = performance.now();
    const connection = this.#connectionOf(call.getPeer());
    const progress = connection.begins();
    const asked = pipelineNamed((name) => call.metadata.get(name)[0]?.toString());
    const size = { bytesIn: 0 };
    let received: Received;
    try {
      received = await this.#receive(call, { asked, signal, progress, connection }, size);
    } catch (error) {
      received = { outcome: outcomeOf(error) };
    }
    this.#receiver.answered(received, { asked, signal, transport: "grpc", started, ...size });
    if (received.outcome.kind === "stored") answer(null, encodeResponse(received.outcome));
    else answer(statusOf(received.outcome));
    progress.ended();
  }

  async #receive(
    call: Call,
    { asked, signal, progress, connection }: Asked,
    size: { bytesIn: number },
  ): Promise<Received> {
    await this.#receiver.admit(call.metadata.get("authorization")[0]?.toString());
    const pipeline_id = this.#receiver.pipelineFor(asked, signal);
    const caller = new GrpcCaller(call);
    const place = await this.#arriving.take(caller, connection);
    let body: Buffer;
    try {
      body = await readMessage(call, place);
    } finally {
      place.giveBack();
    }
    progress.received();
    size.bytesIn = body.length;
    return this.#receiver.take({ pipeline_id, signal, encoding: "protobuf", body, isCompressed: false, caller });
  }
}

/**
 * The one message of a call, decompressed. Throws Refused where there is no message or a second one, where it is slow or
 * breaks off, and where its place is needed. The library itself answers a message that is too large or cannot be decompressed.
 */
function readMessage(call: Call, place: Place): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let message: Buffer | undefined;
    const finish = (error?: Refused): void => {
      clearTimeout(timer);
      call.off("data", onData).off("end", onEnd).off("cancelled", onBreak).pause();
      if (error !== undefined) reject(error);
      else if (message === undefined) reject(new Refused("malformed", "expected one message, found none"));
      else resolve(message);
    };
    const onData = (bytes: Buffer): void => {
      if (message === undefined) message = bytes;
      else finish(new Refused("malformed", "expected one message, found another one"));
    };
    // The message of a sender that leaves ends too, and its call is cancelled right after.
    const onEnd = (): void => (message === undefined ? void setImmediate(finish) : finish());
    const onBreak = (): void => finish(whyCancelled(call));
    if (call.cancelled) return reject(new Refused("broken_off", "the call broke off"));
    const timer = setTimeout(() => finish(new Refused("slow", "the message did not arrive in time")), messageTimeout);
    place.onNeeded = () => finish(new Refused("slow", "nothing of the message comes, and others wait"));
    call.on("error", () => undefined);
    call.on("data", onData).on("end", onEnd).on("cancelled", onBreak);
  });
}

/** The peer of a call whose stream is closed. */
const closed = "unknown";

/** Why a call has no message. The library cancels those that it answers itself too, while their streams are still open. */
function whyCancelled(call: Call): Refused {
  const isLeft = call.getPeer() === closed || new GrpcCaller(call).isLate;
  if (isLeft) return new Refused("broken_off", "the call broke off");
  return new Refused("malformed", `expected a message of at most ${maxBody} bytes, as it is or in gzip`);
}

/** The status of a refused call. Exporters retry RESOURCE_EXHAUSTED only where a RetryInfo is attached. */
function statusOf(outcome: Outcome): Partial<StatusObject> {
  const { grpc, retryAfter } = answerTo(outcome);
  const code = status[grpc];
  const { message: details } = outcome;
  const metadata = new Metadata();
  if (retryAfter !== undefined) {
    metadata.set("grpc-status-details-bin", encodeStatus({ code, message: details }, retryAfter));
  }
  return { code, details, metadata };
}
