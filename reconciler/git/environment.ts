import { type Granted, quoted } from "./credentials.ts";
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
 * Variables of the person who runs Sluice that Git may see. No other `GIT_*` variable is passed on: one that is left
 * over from a hook or a script (GIT_DIR, GIT_INDEX_FILE, …) would send the commands to another repository.
 */
const kept = /^GIT_(SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|ASKPASS|PROXY_\w+|HTTP_\w+|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))$/;
/** The sockets of a service manager (`LISTEN_FDS`) are those of Sluice alone. */
const dropped = /^(GIT_.*|EDITOR|VISUAL|PAGER|PREFIX|LC_ALL|LANGUAGE|LISTEN_(PID|FDS|FDNAMES))$/i;

/** Git's files of settings: those of the person who runs Sluice are read for the network alone. */
const settingsFiles = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"] as const;

function passedOn(from: Environment): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && (kept.test(name) || !dropped.test(name))) environment[name] = value;
  }
  return { ...environment, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" };
}

/** The variables of a command in a work tree of the person who runs it: their settings say what Git ignores there, for instance. */
export function workTreeEnvironment(from: Environment): Record<string, string> {
  return { ...passedOn(from), ...configuration(ownSettings) };
}

/**
 * The variables of a command that connects to nothing, in a bare repository of our own. It reads no settings of a
 * person, and is told its repository: Git may refuse to find a bare one by itself (`safe.bareRepository`).
 */
export function cloneEnvironment(from: Environment): Record<string, string> {
  return { ...withoutSettings(passedOn(from)), GIT_DIR: ".", ...configuration(ownSettings) };
}

/** The variables of the command that lists the settings of the person who runs Sluice. */
export function settingsEnvironment(from: Environment): Record<string, string> {
  return { ...passedOn(from), GIT_DIR: noRepository };
}

/** Not a repository: Git then looks for none in the folders above. */
const noRepository = "/dev/null";

function withoutSettings(environment: Record<string, string>): Record<string, string> {
  const rest = Object.entries(environment).filter(([name]) => !settingsFiles.some((one) => one === name));
  return { ...Object.fromEntries(rest), GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
}

/** A setting of Git, by its whole name. */
export type GitSetting = readonly [key: string, value: string];

/** What `git config --list -z` printed. A setting without a value is a true one. */
export function readSettings(listing: string): GitSetting[] {
  const entries = listing.split("\0").filter((entry) => entry !== "");
  return entries.map((entry) => {
    const end = entry.indexOf("\n");
    return end < 0 ? [entry, "true"] : [entry.slice(0, end), entry.slice(end + 1)];
  });
}

/**
 * Settings of a person that count for an exchange: those that say how a network and its servers are reached. All others would let
 * their machine decide what is fetched, how, and whether.
 */
const ofNetwork =
  /^(http\.(.*\.)?(proxy\w*|ssl\w*|pinnedpubkey|version|curloptresolve|useragent|emptyauth|delegation|cookiefile|postbuffer)|url\..*\.insteadof|core\.gitproxy|ssh\.variant|protocol\.version)$/;
/** Those that log in. They do not count beside credentials of our own. */
const ofLogin = /^(http\.(.*\.)?extraheader|credential\..*|core\.askpass)$/;

/** What an exchange with a remote takes place in. */
export interface ExchangeSetting {
  remote: Remote;
  granted: Granted;
  timeouts: GitTimeouts;
  /** Of the person who runs Sluice. */
  settings: readonly GitSetting[];
  /** Whether the folder of the command is a bare repository of our own; else it is none. */
  isClone: boolean;
}

/** The variables of a command that connects to a remote. */
export function remoteEnvironment(
  from: Environment,
  { remote, granted, timeouts, settings, isClone }: ExchangeSetting,
): Record<string, string> {
  const environment = withoutSettings(passedOn(from));
  const isLoggedIn = granted.authorization !== undefined;
  const personal = settings.filter(([key]) => ofNetwork.test(key) || (!isLoggedIn && ofLogin.test(key)));
  return {
    ...environment,
    GIT_DIR: isClone ? "." : noRepository,
    GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
    // Traces the headers alone: git does not report the HTTP status and Retry-After.
    ...(remote.url.startsWith("http") && { GIT_TRACE_CURL: "1", GIT_TRACE_CURL_NO_DATA: "1" }),
    // A variable, because a variable of the user would win over a setting.
    ...(granted.caFile !== undefined && { GIT_SSL_CAINFO: granted.caFile }),
    // No program is asked for a password that the settings have: it might never answer.
    ...(isLoggedIn && { GIT_ASKPASS: "" }),
    ...sshCommand(environment, granted),
    ...configuration([...personal, ...ownSettings, ...remoteSettings(remote, granted, timeouts)]),
  };
}

/**
 * Options for the other side of an exchange with a folder, which runs on this machine: of the person's settings it sees
 * those that say whose repositories may be read.
 */
export function uploadPackOptions(settings: readonly GitSetting[]): string[] {
  const safe = settings.filter(([key]) => key === "safe.directory");
  if (safe.length === 0) return [];
  const variables = Object.entries(configuration(safe)).map(([name, value]) => `${name}=${quoted(value)}`);
  return [`--upload-pack=env ${variables.join(" ")} git-upload-pack`];
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
