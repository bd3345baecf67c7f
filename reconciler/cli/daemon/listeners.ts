import type { RequestListener } from "node:http";
import type { Registry } from "prom-client";
import type { Log } from "../../../engine/index.ts";
import { type TokenCheck, tokenCheck } from "../../listeners/bearer.ts";
import { Certificate } from "../../listeners/certificate.ts";
import { refusalReasons } from "../../listeners/connection-limit.ts";
import type { ReferenceReader } from "../../secrets/file-and-env.ts";
import { createListenersTelemetry, type ListenersTelemetry } from "../../status/listener-telemetry.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Settings } from "../invocation/settings.ts";
import { certificateFiles, secretLines } from "./daemon-settings.ts";
import {
  type Connections,
  type Listener,
  type ListenerName,
  type HttpListenOptions,
  type ListenOptions,
  listenGrpc,
  listenHttp,
} from "./listen.ts";
import { passedSockets } from "./passed-sockets.ts";

interface ListenersOptions {
  env: Readonly<Record<string, string | undefined>>;
  settings: Settings;
  secrets: ReferenceReader;
  log: Log;
  registry: Registry;
}

/** Opens the listeners of the daemon with what protects them: TLS, tokens and limits, which the settings give. */
export class Listeners {
  /** What each listener is bound to, such as `127.0.0.1:8081`; `off` where there is none. */
  readonly addresses: Record<string, string> = {};
  /** The names of those that are plain and not on loopback. */
  readonly insecure: string[] = [];
  /** Who may read the status API, and who may send over OTLP; undefined for all. */
  readonly isReader: TokenCheck | undefined;
  readonly isSender: TokenCheck | undefined;
  readonly #settings: Settings;
  readonly #certificate: Certificate | undefined;
  readonly #telemetry: ListenersTelemetry;
  readonly #sockets: ReadonlyMap<ListenerName, number>;
  readonly #all: Listener[] = [];

  private constructor(
    settings: Settings,
    telemetry: ListenersTelemetry,
    found: Pick<Listeners, "isReader" | "isSender"> & {
      certificate: Certificate | undefined;
      sockets: ReadonlyMap<ListenerName, number>;
    },
  ) {
    this.#settings = settings;
    this.#telemetry = telemetry;
    this.#certificate = found.certificate;
    this.#sockets = found.sockets;
    this.isReader = found.isReader;
    this.isSender = found.isSender;
  }

  /** Reads certificate and tokens once. Throws CliError, which never holds a secret. */
  static async prepare({ settings, secrets, log, registry, env }: ListenersOptions): Promise<Listeners> {
    const telemetry = createListenersTelemetry(log, registry, refusalReasons);
    const check = async (name: "api_token" | "otlp_token"): Promise<TokenCheck | undefined> => {
      const read = await secretLines(name, settings, secrets);
      return read && tokenCheck(read, (error) => telemetry.tokensUnreadable(name, (error as Error).message));
    };
    const [isReader, isSender] = [await check("api_token"), await check("otlp_token")];
    return new Listeners(settings, telemetry, {
      isReader,
      isSender,
      sockets: passedSockets(env, process.pid),
      certificate: await certificateOf(settings, telemetry),
    });
  }

  /** `unread` is called with each request that is refused before it can be answered. */
  async http(
    name: Exclude<ListenerName, "otlp_grpc">,
    answer: RequestListener,
    unread?: HttpListenOptions["unread"],
  ): Promise<Listener> {
    return this.#opened(name, await listenHttp(name, this.#settings, answer, { ...this.#optionsOf(name), unread }));
  }

  async grpc(name: "otlp_grpc", connections: Connections): Promise<Listener> {
    return this.#opened(name, await listenGrpc(name, this.#settings, connections, this.#optionsOf(name)));
  }

  /** Closes all at the same time. Resolves when no request is under way at any of them. */
  async stop(): Promise<void> {
    await Promise.all(this.#all.map((listener) => listener.close()));
  }

  async close(): Promise<void> {
    await this.#certificate?.close();
  }

  #optionsOf(listener: ListenerName): ListenOptions {
    const certificate = this.#certificate;
    const telemetry: ListenersTelemetry["of"] = (name, size) => this.#telemetry.of(name, size);
    return { ...(certificate !== undefined && { certificate }), telemetry, fd: this.#sockets.get(listener) };
  }

  #opened(name: ListenerName, listener: Listener): Listener {
    const { address, isLocal } = listener;
    this.#all.push(listener);
    this.addresses[name] = address;
    if (isLocal) return listener;
    if (this.#certificate === undefined) {
      this.insecure.push(name);
      this.#telemetry.insecure(name, address);
    }
    const check = { api: this.isReader, otlp_grpc: this.isSender, otlp_http: this.isSender };
    if (name in check && check[name as keyof typeof check] === undefined) this.#telemetry.open(name, address);
    return listener;
  }
}

async function certificateOf(settings: Settings, telemetry: ListenersTelemetry): Promise<Certificate | undefined> {
  const files = certificateFiles(settings);
  if (files === undefined) return undefined;
  try {
    return await Certificate.open(files, {
      reloaded: (subject, until) => telemetry.certificateReloaded(subject, until),
      refused: (error) => telemetry.certificateRefused(error),
    });
  } catch (error) {
    throw new CliError(`${settings.origin("tls_cert")}: ${(error as Error).message}`, { cause: error });
  }
}
