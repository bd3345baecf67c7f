import { dirname, join, resolve } from "node:path";
import {
  EngineError,
  type EngineSettings,
  fewestCharacters,
  problemOfTargets,
  type TargetRules,
} from "../../../engine/index.ts";
import { readReference } from "../../../schemas/index.ts";
import type { CertificateFiles } from "../../listeners/certificate.ts";
import type { ReferenceReader } from "../../secrets/file-and-env.ts";
import { defaultPermissions, type Permission } from "../../secrets/permissions.ts";
import { permissionsGiven } from "../invocation/references.ts";
import type { OwnSecret } from "../../secrets/permitted-secrets.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { type Settings, textOf } from "../invocation/settings.ts";
import type { SettingName } from "../invocation/settings-table.ts";

/** Enough for two hosts with a secret each, while both secrets are being rotated. */
const mostSecrets = 4;

/** The valid secrets or tokens of a listener at this moment. */
export type SecretLines = () => Promise<readonly string[]>;

/**
 * The secrets of the push hook, read again at each call, one a line: during a rotation the old and the new one are
 * valid. Checks them once. Throws CliError, which never holds a secret.
 */
export async function hookSecrets(settings: Settings, secrets: ReferenceReader): Promise<SecretLines> {
  if (settings.listener("hook") === "off") return async () => [];
  const read = await secretLines("hook_secret", settings, secrets);
  if (read === undefined) {
    throw new CliError(
      `${settings.origin("hook")}: expected --hook-secret too, such as '\${file:/run/secrets/hook}': without a secret every sender could trigger a poll`,
    );
  }
  return read;
}

/**
 * Reads the lines of the secret that a setting names, anew at each call; undefined where it is not given. Checks it
 * once. Throws CliError, which never holds a secret.
 */
export async function secretLines(
  name: "hook_secret" | "api_token" | "otlp_token",
  settings: Settings,
  secrets: ReferenceReader,
): Promise<SecretLines | undefined> {
  const given = settings.optional(name);
  const origin = settings.origin(name);
  if (given === undefined) return undefined;
  if (readReference(given) === undefined) {
    throw new CliError(
      `${origin}: expected \${env:NAME} or \${file:/path}, found a text that is not exactly one reference`,
    );
  }
  const read: SecretLines = async () => secretsIn(await secrets.resolve(given), origin, given);
  try {
    await read();
  } catch (error) {
    if (error instanceof EngineError) throw new CliError(`${origin}: ${error.message}`, { cause: error });
    throw error;
  }
  return read;
}

function secretsIn(text: string, origin: string, given: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const found = lines.filter((line) => line !== "");
  const isLong = found.every((line) => line.length >= fewestCharacters);
  if (found.length >= 1 && found.length <= mostSecrets && isLong) return found;
  const expected = `1 to ${mostSecrets} lines of at least ${fewestCharacters} characters each`;
  throw new CliError(
    `${origin}: ${given}: expected ${expected}: one secret a line, such as "openssl rand -hex 32" gives`,
  );
}

/** The settings of the Kafka client for all pipelines. Throws CliError for settings that contradict each other. */
export function kafkaSettings(settings: Settings): NonNullable<EngineSettings["kafka"]> {
  const milliseconds = (name: SettingName): number => Math.ceil(settings.duration(name));
  const rack = settings.optional("kafka_rack");
  const kafka = {
    sessionTimeout: milliseconds("kafka_session_timeout"),
    heartbeatInterval: milliseconds("kafka_heartbeat_interval"),
    fetchMaxBytes: settings.size("kafka_fetch_size"),
    partitionMaxBytes: settings.size("kafka_partition_fetch_size"),
    fetchWait: milliseconds("kafka_fetch_wait"),
    metadataMaxAge: milliseconds("kafka_metadata_age"),
    ...(rack !== undefined && { rack }),
  };
  // One of two heartbeats may be lost or late without ending the session.
  if (kafka.heartbeatInterval * 2 >= kafka.sessionTimeout) {
    throw contradiction(settings, "kafka_heartbeat_interval", "less than half of", "kafka_session_timeout");
  }
  if (kafka.partitionMaxBytes > kafka.fetchMaxBytes) {
    throw contradiction(settings, "kafka_partition_fetch_size", "at most", "kafka_fetch_size");
  }
  return kafka;
}

/** What senders may store in one pipeline, and how fast, and what it may hold in dead letters. */
export function quotas(settings: Settings): Pick<EngineSettings, "deadLetters" | "streamMaxBytes" | "pushRates"> {
  const isSet = (name: SettingName): boolean => settings.all(name).length > 0;
  return {
    deadLetters: {
      maxBytes: settings.size("dead_letters_max_size"),
      maxCount: settings.number("dead_letters_max_count"),
      ...(isSet("dead_letters_max_age") && { maxAge: settings.duration("dead_letters_max_age") }),
    },
    ...(isSet("stream_max_size") && { streamMaxBytes: settings.size("stream_max_size") }),
    pushRates: {
      ...(isSet("push_events_per_second") && { eventsPerSecond: settings.number("push_events_per_second") }),
      ...(isSet("push_bytes_per_second") && { bytesPerSecond: settings.size("push_bytes_per_second") }),
    },
  };
}

function contradiction(settings: Settings, name: SettingName, what: string, other: SettingName): CliError {
  const bound = `${settings.text(other)} of ${settings.origin(other)}`;
  return new CliError(`${settings.origin(name)}: expected ${what} the ${bound}, found "${settings.text(name)}"`);
}

/** Of a daemon that has no settings file. */
const settingsFolder = "/etc/sluice";

/** Which secrets pipeline files may use. */
export function permissionsIn({ settings, settingsFile }: Pick<Invocation, "settings" | "settingsFile">): Permission[] {
  const given = permissionsGiven(settings);
  if (given !== undefined) return given;
  const folder = settingsFile === undefined ? settingsFolder : dirname(resolve(settingsFile));
  return defaultPermissions(join(folder, "secrets"));
}

/** The secrets of the daemon itself, which no pipeline file gets: also those that it has no use for as it was started. */
export function ownSecrets(settings: Settings): OwnSecret[] {
  const access = ["git_username", "git_password", "git_token", "git_ssh_key"] as const;
  const names = [...access, "hook_secret", "api_token", "otlp_token", "tls_key"] as const;
  return names.flatMap((name) =>
    settings.named(name).map(({ value, origin }) => ({ setting: origin, text: textOf(value) })),
  );
}

/** The values of what Sluice itself is given as a secret, for hiding them; those that cannot be read are left out. */
export async function secretsOfSluice(settings: Settings, references: ReferenceReader): Promise<string[]> {
  const values = ownSecrets(settings).map(({ text }) => references.resolve(text).catch(() => ""));
  return Promise.all(values);
}

/** Which servers pipelines may connect to. Throws CliError for an entry that is none. */
export function targetRules(settings: Settings): TargetRules {
  const allowed = settings.optional("targets")?.split(",");
  const rules = {
    ...(allowed !== undefined && { allowed: allowed.map((entry) => entry.trim()) }),
    deniesPrivate: settings.text("private_targets") === "deny",
  };
  const problem = problemOfTargets(rules);
  if (problem !== undefined) throw new CliError(`${settings.origin("targets")}: ${problem}`);
  return rules;
}

/** The names by which a listener is reached, besides addresses and `localhost`. */
export function ownHosts(name: "api" | "otlp_http", settings: Settings): string[] {
  const listener = settings.listener(name);
  const names = settings.optional("api_hosts")?.split(",") ?? [];
  return [...(listener === "off" ? [] : [listener.host]), ...names.map((host) => host.trim())];
}

/** The files of the certificate of all listeners; undefined without TLS. Throws CliError where one of two is missing. */
export function certificateFiles(settings: Settings): CertificateFiles | undefined {
  const [cert, key] = [settings.optional("tls_cert"), settings.optional("tls_key")];
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert === undefined && key === undefined) return undefined;
  const [given, missing] =
    cert === undefined ? (["tls_key", "--tls-cert"] as const) : (["tls_cert", "--tls-key"] as const);
  throw new CliError(`${settings.origin(given)}: expected ${missing} too: TLS needs a certificate and its key`);
}
