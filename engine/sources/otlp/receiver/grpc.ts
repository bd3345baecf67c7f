import type { Duplex } from "node:stream";
import { Server, ServerCredentials, type ConnectionInjector, type ServiceDefinition } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import type { Signal } from "../../../core/push.ts";
import { ExportCalls } from "./grpc-call.ts";
import { maxBody, type Receiver } from "./receiver.ts";

const services: Record<Signal, string> = {
  logs: "opentelemetry.proto.collector.logs.v1.LogsService",
  traces: "opentelemetry.proto.collector.trace.v1.TraceService",
  metrics: "opentelemetry.proto.collector.metrics.v1.MetricsService",
};

/** Milliseconds. A connection that is quiet is asked whether it lives; one without a call for a while is let go of. */
const times = {
  "grpc.keepalive_time_ms": 60_000,
  "grpc.keepalive_timeout_ms": 20_000,
  "grpc.max_connection_idle_ms": 300_000,
};

const limits = { "grpc.max_receive_message_length": maxBody, "grpc.max_concurrent_streams": 100 };

/**
 * OTLP over gRPC: the three Export services and `grpc.health.v1`, on connections that somebody else has accepted. Requests may be
 * compressed with gzip. The answers are too small for that, and no server of this library compresses.
 */
export class OtlpGrpc {
  readonly #server = new Server({ ...times, ...limits, "grpc.enable_channelz": 0 });
  readonly #health = new HealthImplementation({ "": "SERVING" });
  readonly #connections: ConnectionInjector;

  constructor(receiver: Receiver) {
    const calls = new ExportCalls(receiver);
    for (const [signal, name] of Object.entries(services) as [Signal, string][]) {
      this.#server.addService(definition(name), { Export: calls.of(signal) });
      this.#health.setStatus(name, "SERVING");
    }
    this.#health.addToServer(this.#server);
    this.#connections = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
  }

  /** Takes a connection over. */
  accept(socket: Duplex): void {
    this.#connections.injectConnection(socket);
  }

  /** Lets calls under way end, for `grace` milliseconds, and takes no new ones; closes the connections then. */
  drain(grace: number): void {
    for (const name of ["", ...Object.values(services)]) this.#health.setStatus(name, "NOT_SERVING");
    this.#connections.drain(grace);
  }

  /** Closes every connection at once. */
  close(): void {
    this.#connections.drain(0);
    this.#server.forceShutdown();
  }
}

const asItIs = (bytes: Buffer): Buffer => bytes;

/** Its one method takes and gives bytes, which the receiver reads itself. */
function definition(service: string): ServiceDefinition {
  return {
    Export: {
      path: `/${service}/Export`,
      // A single message looks the same on its way; so read, a call can be refused before its message is there.
      requestStream: true,
      responseStream: false,
      requestSerialize: asItIs,
      requestDeserialize: asItIs,
      responseSerialize: asItIs,
      responseDeserialize: asItIs,
    },
  };
}
