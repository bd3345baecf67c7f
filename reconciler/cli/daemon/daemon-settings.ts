import { dirname, join, resolve } from "node:path";
import { EngineError, type EngineSettings } from "../../../engine/index.ts";
import type { ReferenceReader } from "../../secrets/file-and-env.ts";
import { defaultPermissions, type OwnSecret, type Permission, permissionsOf } from "../../secrets/permitted-secrets.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { type Settings, textOf } from "../invocation/settings.ts";
import type { SettingName } from "../invocation/settings-table.ts";

const reference = /^\$\{(?:env|file):[^${}]+\}$/;

/** A shorter secret can be guessed. */
const fewestCharacters = 16;

/** Enough for two hosts with a secret each, while both secrets are being rotated. */
const mostSecrets = 4;

export type HookSecrets = () => Promise<readonly string[]>;

/**
 * The secrets of the push hook, read again at each call, one a line: during a rotation the old and the new one are
 * valid. Checks them once. Throws CliError, which never holds a secret.
 */
export async function hookSecrets(settings: Settings, secrets: ReferenceReader): Promise<HookSecrets> {
  if (settings.listener("hook") === "off") return async () => [];
  const given = settings.optional("hook_secret");
  const origin = settings.origin("hook_secret");
  if (given === undefined) {
    throw new CliError(
      `${settings.origin("hook")}: expected --hook-secret too, such as '\${file:/run/secrets/hook}': without a secret every sender could trigger a poll`,
    );
  }
  if (!reference.test(given)) {
    throw new CliError(
      `${origin}: expected \${env:NAME} or \${file:/path}, found a text that is not exactly one reference`,
    );
  }
  const read: HookSecrets = async () => secretsIn(await secrets.resolve(given), origin, given);
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
  const kafka = {
    sessionTimeout: milliseconds("kafka_session_timeout"),
    heartbeatInterval: milliseconds("kafka_heartbeat_interval"),
    fetchMaxBytes: settings.size("kafka_fetch_size"),
    partitionMaxBytes: settings.size("kafka_partition_fetch_size"),
    fetchWait: milliseconds("kafka_fetch_wait"),
    metadataMaxAge: milliseconds("kafka_metadata_age"),
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

function contradiction(settings: Settings, name: SettingName, what: string, other: SettingName): CliError {
  const bound = `${settings.text(other)} of ${settings.origin(other)}`;
  return new CliError(`${settings.origin(name)}: expected ${what} the ${bound}, found "${settings.text(name)}"`);
}

/** Of a daemon that has no settings file. */
const settingsFolder = "/etc/sluice";

/** Which secrets pipeline files may use. */
export function permissionsIn({ settings, settingsFile }: Pick<Invocation, "settings" | "settingsFile">): Permission[] {
  const given = settings.all("references").toReversed();
  if (given.length > 0)
    return permissionsOf(Object.assign({}, ...given.map(({ value }) => value)) as Record<string, string>);
  const folder = settingsFile === undefined ? settingsFolder : dirname(resolve(settingsFile));
  return defaultPermissions(join(folder, "secrets"));
}

/** The secrets of the daemon itself, which no pipeline file gets. */
export function ownSecrets(settings: Settings): OwnSecret[] {
  const names = ["git_username", "git_password", "git_token", "git_ssh_key", "hook_secret"] as const;
  return names.flatMap((name) =>
    settings.all(name).map(({ value, origin }) => ({ setting: origin, text: textOf(value) })),
  );
}

/** The names by which the status API is reached, besides addresses and `localhost`. */
export function apiHosts(settings: Settings): string[] {
  const listener = settings.listener("api");
  const names = settings.optional("api_hosts")?.split(",") ?? [];
  return [...(listener === "off" ? [] : [listener.host]), ...names.map((name) => name.trim())];
}
