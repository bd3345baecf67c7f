import { Registry, collectDefaultMetrics } from "prom-client";
import { Engine, EngineError } from "../../engine/index.ts";
import type { EngineSettings, Log } from "../../engine/index.ts";
import { PureCalls } from "../api/pure/pure-calls.ts";
import { statusApi } from "../api/status-api.ts";
import { Reconciler } from "../reconciler.ts";
import { FileAndEnvSecrets } from "../secrets/file-and-env.ts";
import { exposeBuild } from "../status/metrics.ts";
import { CliError } from "./cli-error.ts";
import { controlApi } from "./control/routes.ts";
import { listenControl } from "./control/server.ts";
import { desiredSource } from "./desired-source.ts";
import type { ExitCode, Invocation } from "./invocation.ts";
import { kafkaSettings } from "./kafka-settings.ts";
import { listenGrpc, listenHttp } from "./listen.ts";
import { createLog, standardError } from "./log.ts";
import { Parts } from "./parts.ts";
import { processInfo } from "./process-info.ts";

/**
 * `sluice run`: the daemon. Everything it is made of is put together here, and is closed in the opposite order when it
 * is told to stop or when a part cannot start: the reconciler first, then the listeners, the engine last.
 */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { settings, env } = invocation;
  const secrets = new FileAndEnvSecrets(env);
  const source = desiredSource(invocation, secrets);
  const log = logOf(invocation);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const parts = new Parts();
  try {
    const dataDir = settings.text("data_dir");
    const otlp = { maxConcurrentRequests: settings.number("otlp_max_concurrent_requests") };
    const options = { dataDir, log, registry, secrets, kafka: kafkaSettings(settings), otlp };
    const engine = parts.add(await openEngine(options, settings.isOn("standby")));
    const signal = invocation.untilStopped();
    const interval = settings.duration("interval");
    const reconciler = new Reconciler({ source, engine, dataDir, log, registry, interval });
    const listeners: Record<string, string> = {};
    const info = processInfo(engine.dataDirId, listeners);
    exposeBuild(registry, info());
    const sources = { engine, reconciler, registry, log, info };
    const control = parts.add(await listenControl(dataDir, controlApi(sources))).path;
    const pure = parts.add(new PureCalls());
    listeners["api"] = parts.add(await listenHttp("api", settings, statusApi({ ...sources, pure }))).address;
    listeners["events"] = parts.add(await listenHttp("events", settings, engine.handleEvents)).address;
    const grpc = { accept: engine.handleOtlpGrpc, drain: engine.drainOtlpGrpc };
    listeners["otlp_grpc"] = parts.add(await listenGrpc("otlp_grpc", settings, grpc)).address;
    listeners["otlp_http"] = parts.add(await listenHttp("otlp_http", settings, engine.handleOtlpHttp)).address;
    log.info({ ...source.description, ...listeners, control }, "Sluice is running.");
    for (const warning of source.warnings ?? []) log.warn({ warning }, "The way to the source is not safe.");
    await reconciler.run(signal);
    log.info({}, "Sluice is stopping.");
  } catch (error) {
    throw error instanceof EngineError ? new CliError(error.message, { cause: error }) : error;
  } finally {
    await parts.close();
  }
  return 0;
}

/** A standby looks first, so that it can say for whom it waits. Until the data dir is its own, any signal just ends it. */
async function openEngine(options: EngineSettings, standby: boolean): Promise<Engine> {
  try {
    return await Engine.open(options);
  } catch (error) {
    if (!standby || !(error instanceof EngineError) || error.code !== "DATA_DIR_HELD") throw error;
    options.log.info(error.details, "Standing by until the data dir is free.");
    return Engine.open({ ...options, standby });
  }
}

function logOf({ settings, env }: Invocation): Log {
  const format = settings.text("log_format") === "json" ? "json" : "text";
  const colour = process.stderr.isTTY && !env["NO_COLOR"];
  return createLog({ format, level: settings.text("log_level"), colour }, standardError());
}
