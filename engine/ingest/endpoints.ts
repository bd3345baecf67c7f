import type { Socket } from "node:net";
import type { CatalogEntry } from "../catalog/catalog.ts";
import type { AccessTokens } from "../catalog/access-tokens.ts";
import { type RequestRefusal, unknownPipeline } from "../core/refusals.ts";
import type { BeginRequest } from "../http/request-progress.ts";
import { Probes } from "../http/probes.ts";
import type { HttpRefusal } from "../http/refusal.ts";
import { BackPressure, IngestGate } from "./gate.ts";
import { type PushRates, RateLimits } from "./rate-limits.ts";
import type { PipelineRegistry } from "../catalog/registry.ts";
import type { OtlpGrpc } from "../sources/otlp/receiver/grpc.ts";
import { OtlpHttp } from "../sources/otlp/receiver/http.ts";
import { type Answered, type OtlpPort, Receiver } from "../sources/otlp/receiver/receiver.ts";
import type { RowRules } from "../sources/otlp/rows/rows.ts";
import { keptAsNull } from "../sources/otlp/unrecorded.ts";
import type { OtlpSettings } from "../sources/otlp/receiver/settings.ts";
import { WebhookIntake, type WebhookPort } from "../sources/webhook/intake.ts";
import type { Streams } from "../streams/streams.ts";
import type { Recorder } from "../telemetry/recorder.ts";
import type { Push, Signal } from "../core/push.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

interface IngestEndpointsOptions {
  registry: PipelineRegistry;
  openStream: (entry: CatalogEntry) => Promise<void>;
  tokens: AccessTokens;
  streams: Streams;
  recorder: Recorder;
  otlp: OtlpSettings;
  rates: PushRates;
}

/** The endpoints that events are pushed to. Their listeners are opened by the owner of the engine. */
export class IngestEndpoints {
  readonly webhook: WebhookIntake;
  readonly otlpHttp: OtlpHttp;
  readonly #gate: IngestGate;
  readonly #backPressure: BackPressure;
  readonly #receiver: Receiver;
  readonly #rates: RateLimits;
  readonly #probes = new Probes();
  readonly #telemetry: Pick<Telemetry, "grpcNotLoaded">;
  #otlpGrpc: Promise<OtlpGrpc> | undefined;

  constructor({ registry, openStream, tokens, streams, recorder, otlp, rates }: IngestEndpointsOptions) {
    this.#rates = new RateLimits(rates);
    this.#telemetry = recorder;
    this.#backPressure = new BackPressure({ registry, streams, telemetry: recorder });
    const gate = new IngestGate({
      registry,
      streams,
      openStream,
      backPressure: this.#backPressure,
      rates: this.#rates,
    });
    this.#gate = gate;
    this.webhook = new WebhookIntake(new WebhookEndpoint({ gate, tokens, telemetry: recorder }), this.#probes);
    const receiver = new Receiver(new OtlpEndpoint({ gate, telemetry: recorder }), otlp);
    this.#receiver = receiver;
    this.otlpHttp = new OtlpHttp(receiver, this.#probes);
  }

  /**
   * Takes over a connection of OTLP over gRPC, whose calls `begins` is told of. gRPC is loaded with the first one: that takes
   * a tenth of a start, and many have no sender that speaks it.
   */
  acceptOtlpGrpc(connection: Socket, begins?: BeginRequest): void {
    // Until gRPC has it, nothing else listens to it, and a peer may reset it.
    connection.on("error", () => undefined);
    this.#loadedGrpc().then(
      (grpc) => connection.destroyed || grpc.accept(connection, begins),
      (error: Error) => {
        connection.destroy();
        this.#telemetry.grpcNotLoaded({ error: error.message });
      },
    );
  }

  /** Rejects where its files are not there any more, as during an upgrade; the next connection tries again. */
  async #loadedGrpc(): Promise<OtlpGrpc> {
    this.#otlpGrpc ??= import("../sources/otlp/receiver/grpc.ts").then(({ OtlpGrpc }) => {
      const grpc = new OtlpGrpc(this.#receiver);
      if (!this.#probes.isReady) grpc.leaving();
      return grpc;
    });
    try {
      return await this.#otlpGrpc;
    } catch (error) {
      this.#otlpGrpc = undefined;
      throw error;
    }
  }

  /** From now on probes say that the process is not ready, although it still takes all that comes. */
  leaving(): void {
    this.#probes.leaving();
    void this.#otlpGrpc?.then((grpc) => grpc.leaving());
  }

  /** Closes those connections, each when its calls have ended, or after `grace` milliseconds. */
  drainOtlpGrpc(grace: number): void {
    void this.#otlpGrpc?.then((grpc) => grpc.drain(grace));
  }

  /** Resolves when every event that a pipeline has accepted is on disk. */
  stored(pipeline_id: string): Promise<void> {
    return this.#gate.stored(pipeline_id);
  }

  /** From now on a pipeline is being recreated, or no more: meanwhile senders are asked to try again. */
  recreating(pipeline_id: string, isOn: boolean): void {
    this.#gate.recreating(pipeline_id, isOn);
  }

  /** Drops what is known of the senders of a deleted pipeline. */
  forget(pipeline_id: string): void {
    this.#rates.forget(pipeline_id);
  }

  close(): void {
    this.#backPressure.close();
    void this.#otlpGrpc?.then((grpc) => grpc.close());
    void this.#receiver.close();
  }
}

interface WebhookEndpointOptions {
  gate: IngestGate;
  tokens: AccessTokens;
  telemetry: Pick<Telemetry, "eventAccepted" | "eventRefused">;
}

const isWebhook = (type: string): boolean => type === "webhook";

/** What the webhook source needs of the engine: it finds a pipeline, checks its token and stores an event. */
class WebhookEndpoint implements WebhookPort {
  readonly #options: WebhookEndpointOptions;

  constructor(options: WebhookEndpointOptions) {
    this.#options = options;
  }

  admits(pipeline_id: string): "yes" | "unknown" | "over" | "later" {
    const { gate } = this.#options;
    if (gate.isBetween(pipeline_id)) return "later";
    if (!gate.hasSource(pipeline_id, isWebhook)) return "unknown";
    return gate.isOver(pipeline_id) ? "over" : "yes";
  }

  isToken(pipeline_id: string, token: string): boolean {
    const { gate, tokens } = this.#options;
    // A start amid a recreation does not know the token: all senders are asked to try again, as they would lose events.
    return tokens.accepts(pipeline_id, token) || (gate.isBetween(pipeline_id) && !tokens.isKnown(pipeline_id));
  }

  store(pipeline_id: string, push: Push): Promise<void> {
    return this.#options.gate.store(pipeline_id, push, "ingestor");
  }

  stored(pipeline_id: string, bytes: number): void {
    this.#options.telemetry.eventAccepted({ pipeline_id, bytes });
  }

  // A caller may send any id: only ids of pipelines become metric labels.
  refused(pipeline_id = unknownPipeline, refusal: HttpRefusal): void {
    this.#options.telemetry.eventRefused({ pipeline_id, ...refusal });
  }
}

interface OtlpEndpointOptions {
  gate: IngestGate;
  telemetry: Pick<Telemetry, "exportAnswered" | "noExportRefused">;
}

const isOtlp = (type: string): boolean => type.startsWith("otlp.");

/** What the OTLP receiver needs of the engine: it finds a pipeline and stores what was pushed. */
class OtlpEndpoint implements OtlpPort {
  readonly #options: OtlpEndpointOptions;

  constructor(options: OtlpEndpointOptions) {
    this.#options = options;
  }

  admits(pipeline_id: string, signal: Signal): "yes" | "unknown" | "other signal" | "over" | "later" {
    const { gate } = this.#options;
    if (gate.isBetween(pipeline_id)) return "later";
    if (!gate.hasSource(pipeline_id, isOtlp)) return "unknown";
    if (gate.isOver(pipeline_id)) return "over";
    return gate.hasSource(pipeline_id, (type) => type === `otlp.${signal}`) ? "yes" : "other signal";
  }

  rulesOf(pipeline_id: string, signal: Signal): RowRules {
    const config = signal === "metrics" ? this.#options.gate.configOf(pipeline_id) : undefined;
    return config === undefined ? {} : { keptAsNull: keptAsNull(config) };
  }

  store(pipeline_id: string, push: Push): Promise<void> {
    return this.#options.gate.store(pipeline_id, push, "otlp-receiver");
  }

  answered({ pipeline_id = unknownPipeline, outcome: { kind, message }, ...answered }: Answered): void {
    // A caller may send any id: only ids of pipelines become metric labels.
    const refusal = kind === "stored" ? {} : { refusal: { reason: kind, message } };
    this.#options.telemetry.exportAnswered({ pipeline_id, ...answered, ...refusal });
  }

  refused(refusal: RequestRefusal): void {
    this.#options.telemetry.noExportRefused(refusal);
  }
}
