import type { Granted } from "./credentials.ts";
import type { Remote } from "./remote.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** How long one Git command may take, in milliseconds. */
export interface GitTimeouts {
  /** Without a byte of output. */
  silence: number;
  /** In total. */
  total: number;
  /**
   * While a helper of a local command holds its output open after its end. `false` waits as long as it does, and leaves no
   * timer behind, which would keep a short-lived process alive. Default 5 seconds.
   */
  afterExit?: number | false;
}

export const defaultTimeouts: GitTimeouts = { silence: 60_000, total: 600_000 };

/**
 * Settings of the person who runs Sluice that Git may see. No other `GIT_*` variable is passed on: one that is left
 * over from a hook or a script (GIT_DIR, GIT_INDEX_FILE, …) would send the commands to another repository.
 */
const kept = /^GIT_(SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|ASKPASS|PROXY_\w+|HTTP_\w+|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))$/;
const dropped = /^(GIT_.*|EDITOR|VISUAL|PAGER|PREFIX|LC_ALL|LANGUAGE)$/i;

/** The variables of a command that stays in our own folder. */
export function localEnvironment(from: Environment): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && (kept.test(name) || !dropped.test(name))) environment[name] = value;
  }
  return { ...environment, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0", ...configuration(ownSettings) };
}

/** The variables of a command that connects to `remote`. */
export function remoteEnvironment(
  from: Environment,
  remote: Remote,
  granted: Granted,
  timeouts: GitTimeouts,
): Record<string, string> {
  const environment = localEnvironment(from);
  return {
    ...environment,
    GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
    // Traces the headers alone: git does not report the HTTP status and Retry-After.
    ...(remote.url.startsWith("http") && { GIT_TRACE_CURL: "1", GIT_TRACE_CURL_NO_DATA: "1" }),
    // A variable, because a variable of the user would win over a setting.
    ...(granted.caFile !== undefined && { GIT_SSL_CAINFO: granted.caFile }),
    ...sshCommand(environment, granted),
    ...configuration([...ownSettings, ...remoteSettings(remote, granted, timeouts)]),
  };
}

/** Our options come first, because ssh uses the first value of an option. */
function sshCommand(environment: Record<string, string>, { ssh }: Granted): Record<string, string> {
  const given = environment["GIT_SSH_COMMAND"] ?? (environment["GIT_SSH"] === undefined ? "ssh" : undefined);
  const [, program = "", rest = ""] = /^((?:\S*\/)?ssh)(?:\s+(.*))?$/s.exec(given ?? "") ?? [];
  // A program other than OpenSSH is kept, unless the settings need options of OpenSSH.
  const asked = ssh.some((option) => /IdentitiesOnly|UserKnownHostsFile/.test(option));
  if (program === "" && !asked) return {};
  return { GIT_SSH_COMMAND: [program || "ssh", ...ssh, rest].join(" ").trim(), GIT_SSH_VARIANT: "ssh" };
}

const ownSettings: readonly [string, string][] = [
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["fetch.unpackLimit", "1"],
  // Signatures are verified elsewhere, without the keys of the user who runs this.
  ["log.showSignature", "false"],
];

/**
 * Git's HTTP helper times out before git is ended for its silence: it says why. Git does not follow redirects, because it would
 * send the header with the credentials to any other host.
 */
function remoteSettings({ url }: Remote, { authorization }: Granted, { silence }: GitTimeouts): [string, string][] {
  return [
    ["http.lowSpeedLimit", "10"],
    ["http.lowSpeedTime", String(Math.max(1, Math.floor((silence * 0.8) / 1000)))],
    ["http.followRedirects", "false"],
    ...(authorization === undefined
      ? []
      : ([[`http.${new URL(url).origin}/.extraHeader`, `Authorization: ${authorization}`]] as [string, string][])),
  ];
}

/** Settings go through the environment because every user of the machine can read a command line. */
function configuration(settings: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(settings.length)],
    ...settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}
