import { Registry } from "prom-client";
import { Engine, EngineError, type EngineSettings, type Log, sleep } from "../../../engine/index.ts";
import { PureCalls } from "../../api/pure/pure-calls.ts";
import { statusApi } from "../../api/status-api.ts";
import { FileThread } from "../../desired/file-thread.ts";
import { Hook, type HookOptions } from "../../hook/hook.ts";
import { levels } from "../../plan/level.ts";
import { Reconciler, type ReconcilerOptions } from "../../reconciler.ts";
import { FileAndEnvSecrets } from "../../secrets/file-and-env.ts";
import { PermittedSecrets } from "../../secrets/permitted-secrets.ts";
import { createHookTelemetry } from "../../status/hook-telemetry.ts";
import { exposeBuild, exposeProcess } from "../../status/metrics.ts";
import { CliError } from "../invocation/cli-error.ts";
import { controlApi } from "../control/routes.ts";
import { listenControl, type ControlServer } from "../control/server.ts";
import { desiredSource, exposedCredentials } from "./desired-source.ts";
import {
  hookSecrets,
  kafkaSettings,
  ownHosts,
  ownSecrets,
  permissionsIn,
  quotas,
  secretsOfSluice,
  targetRules,
} from "./daemon-settings.ts";
import type { ExitCode, Invocation } from "../invocation/invocation.ts";
import type { Settings } from "../invocation/settings.ts";
import { hasColours } from "../invocation/terminal.ts";
import { variableReader } from "../invocation/variables.ts";
import { Listeners } from "./listeners.ts";
import { CrashReport } from "./crash-report.ts";
import { createLog, standardError } from "./log.ts";
import { ResourceStack } from "./resource-stack.ts";
import { processInfo } from "../../api/info.ts";

/**
 * `sluice run`: the daemon. All its resources are opened here, and closed in the opposite order when it
 * stops or when one of them cannot be opened: the reconciler first, then the listeners, the engine last.
 */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { settings, env } = invocation;
  const references = new FileAndEnvSecrets(env);
  const source = desiredSource(invocation, references);
  const permissions = permissionsIn(invocation);
  const secrets = new PermittedSecrets({ secrets: references, permissions, own: ownSecrets(settings) });
  const variables = variableReader(settings);
  await variables();
  const log = logOf(invocation);
  const registry = new Registry();
  exposeProcess(registry);
  const resources = new ResourceStack();
  const crash = resources.add(new CrashReport({ log, exit: (code) => process.exit(code) }));
  crash.hides(() => secretsOfSluice(settings, references));
  try {
    const dataDir = settings.text("data_dir");
    const readHookSecrets = await hookSecrets(settings, references);
    const listeners = resources.add(await Listeners.prepare({ settings, env, secrets: references, log, registry }));
    const otlp = otlpSettings(listeners);
    const drainLimit = settings.duration("drain_limit");
    const ofPipelines = {
      targets: targetRules(settings),
      kafka: kafkaSettings(settings),
      otlp,
      drainLimit,
      pushMaxWait: settings.duration("push_max_wait"),
      ...quotas(settings),
    };
    const options = { dataDir, log, registry, secrets, ...ofPipelines };
    const reader = resources.add(new FileThread());
    // Until the files are read, pipelines go by what they were: the thread that reads them loads meanwhile.
    if (!settings.isOn("standby")) reader.warm();
    const standby = settings.isOn("standby") ? invocation.untilStopped() : undefined;
    const engine = resources.add(await openEngine(options, standby));
    crash.hides(() => engine.secrets());
    const stopping = standby ?? invocation.untilStopped();
    const interval = settings.duration("interval");
    const maxDeletions = settings.text("max_deletions");
    const wishes = { source, variables, interval, maxDeletions, ...approvalIn(settings) };
    const reconciler = new Reconciler({ ...wishes, reader, engine, dataDir, log, registry });
    // Senders do not wait for the streams and pipelines of others.
    resources.add(await listeners.http("events", engine.handleEvents, engine.unreadEvents));
    const grpc = { accept: engine.handleOtlpGrpc, drain: engine.drainOtlpGrpc };
    resources.add(await listeners.grpc("otlp_grpc", grpc));
    resources.add(await listeners.http("otlp_http", engine.handleOtlpHttp, engine.unreadOtlpHttp));
    await engine.restore();
    const info = processInfo(engine.dataDirId, listeners.addresses, listeners.insecure);
    exposeBuild(registry, info());
    const sources = { engine, reconciler, registry, log, info };
    const control = resources.add(await openControl(dataDir, controlApi(sources))).path;
    const pure = resources.add(new PureCalls());
    const { isReader } = listeners;
    const readers = { hosts: ownHosts("api", settings), ...(isReader !== undefined && { isReader }) };
    resources.add(await listeners.http("api", statusApi({ ...sources, pure, stopping, ...readers })));
    const hook = resources.add(hookOf(reconciler, { source, log, registry, secrets: readHookSecrets }));
    resources.add(await listeners.http("hook", hook.handle));
    log.info({ ...source.description, ...listeners.addresses, control }, "Sluice is running.");
    const exposed = exposedCredentials(settings);
    if (exposed !== undefined) log.warn({ warning: exposed }, "The command line shows a secret.");
    for (const warning of source.warnings ?? []) log.warn({ warning }, "The connection to the source is not secure.");
    await reconciler.run(afterDelay(stopping, settings.duration("stop_delay"), { engine, log }));
    log.info({}, "Sluice is stopping.");
    await listeners.stop();
  } catch (error) {
    if (error instanceof StandbyEnded) return 0;
    throw error instanceof EngineError ? new CliError(error.message, { cause: error }) : error;
  } finally {
    await resources.close();
  }
  return 0;
}

/**
 * Aborts `delay` milliseconds after `stopping`. Meanwhile probes say that the process is not ready, and all else goes on: load
 * balancers need that long to send no more to it.
 */
function afterDelay(stopping: AbortSignal, delay: number, { engine, log }: { engine: Engine; log: Log }): AbortSignal {
  const stopped = new AbortController();
  const begin = (): void => {
    engine.leaving();
    if (delay > 0) log.info({ seconds: delay / 1000 }, "Sluice is not ready any more, and stops after a delay.");
    void sleep(delay).then(() => stopped.abort());
  };
  if (stopping.aborted) begin();
  else stopping.addEventListener("abort", begin, { once: true });
  return stopped.signal;
}

/** Such as `class>=forget`. */
function approvalIn(settings: Settings): Pick<ReconcilerOptions, "approve"> {
  const text = settings.optional("approve");
  const approve = levels.find((level) => text === `class>=${level}`);
  return approve === undefined ? {} : { approve };
}

function otlpSettings({ isSender }: Listeners): NonNullable<EngineSettings["otlp"]> {
  return isSender === undefined ? {} : { isSender };
}

/** A file system that stores files may still not support sockets. */
async function openControl(...[dataDir, answer]: Parameters<typeof listenControl>): Promise<ControlServer> {
  try {
    return await listenControl(dataDir, answer);
  } catch (error) {
    const text = (error as Error).message;
    throw new CliError(
      `data dir ${dataDir}: its control socket cannot be made (${text}): correct that, or choose another --data-dir`,
      { cause: error },
    );
  }
}

function hookOf(
  reconciler: Reconciler,
  {
    source,
    log,
    registry,
    secrets,
  }: Pick<HookOptions, "secrets"> & Pick<ReconcilerOptions, "source" | "log" | "registry">,
): Hook {
  return new Hook({
    secrets,
    branch: () => source.description.branch,
    followed: () => reconciler.tip,
    onPush: () => reconciler.trigger("webhook"),
    telemetry: createHookTelemetry(log, registry),
  });
}

/** The process was stopped while it waited for the data dir. */
class StandbyEnded extends Error {}

/** With `standby`, waits for the data dir until that signal ends it. Without it, a signal ends the process at once. */
async function openEngine(options: EngineSettings, standby: AbortSignal | undefined): Promise<Engine> {
  if (standby === undefined) return Engine.begin(options);
  const waits = (holder: string, seconds: number): void => {
    const fields = { data_dir: options.dataDir, holder, waited_seconds: Math.round(seconds) };
    options.log.info(fields, "Standing by until the data dir is free.");
  };
  try {
    return await Engine.begin({ ...options, standby: { signal: standby, waits } });
  } catch (error) {
    if (standby.aborted) throw new StandbyEnded("the wait for the data dir was ended", { cause: error });
    throw error;
  }
}

function logOf({ settings, env }: Invocation): Log {
  const format = settings.text("log_format") === "json" ? "json" : "text";
  const colour = hasColours(process.stderr.isTTY, env);
  return createLog({ format, level: settings.text("log_level"), colour }, standardError());
}
