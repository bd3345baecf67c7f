import { SourceError, type SourceReason } from "./revision.ts";

/** How an HTTP server answered the last request of a git command. */
export interface Answer {
  status: number;
  /** Milliseconds during which it must not be asked again (`Retry-After`). */
  retryAfter?: number;
  /** The request was refused by a rate limit. */
  limited: boolean;
  location?: string;
  /** Its media type. */
  type?: string;
}

/** Milliseconds. A server that asks for more than a day is broken. */
const longestWait = 24 * 60 * 60 * 1000;

/** A line of GIT_TRACE_CURL on the standard error of git. */
const traceLine = /^\d\d:\d\d:\d\d\.\d+ \S+ +(.*)$/;

/** The output of git itself, without the trace. */
export function withoutTrace(output: string): string {
  return output
    .split("\n")
    .filter((line) => !traceLine.test(line))
    .join("\n");
}

/** Why a connection failed, from the trace: git itself says less. */
export function connectionTrouble(output: string): string {
  const lines = output.matchAll(/^\d\d:\d\d:\d\d\.\d+ \S+ +== Info: connect to .* failed: (.*)$/gm);
  return [...lines].map(([, why]) => why).join("\n");
}

/** Reads the last answer from git's trace of headers; undefined where no server answered. `now`: ms since the epoch. */
export function lastAnswer(output: string, now: number): Answer | undefined {
  let status: number | undefined;
  let headers = new Map<string, string>();
  for (const line of output.split("\n")) {
    const received = /^<= Recv header: (.*?)\r?$/.exec(traceLine.exec(line)?.[1] ?? "")?.[1];
    if (received === undefined) continue;
    const first = /^HTTP\/[\d.]+ (\d{3})/.exec(received)?.[1];
    if (first !== undefined) [status, headers] = [Number(first), new Map()];
    const [, name, value] = /^([\w-]+): *(.*)$/.exec(received) ?? [];
    if (name !== undefined) headers.set(name.toLowerCase(), value ?? "");
  }
  return status === undefined ? undefined : readAnswer(status, headers, now);
}

/** Whether git waits for an answer to its last request, as the trace shows it. */
export function isWaiting(output: string): boolean {
  return output.lastIndexOf("=> Send header") > output.lastIndexOf("<= Recv header");
}

function readAnswer(status: number, headers: ReadonlyMap<string, string>, now: number): Answer {
  const exhausted = headers.get("x-ratelimit-remaining") === "0" || headers.get("ratelimit-remaining") === "0";
  const limited = status === 429 || (status === 403 && (exhausted || headers.has("retry-after")));
  const retryAfter =
    wait(headers.get("retry-after"), now) ??
    (exhausted ? untilReset(headers.get("x-ratelimit-reset"), now) : undefined);
  const location = headers.get("location");
  const type = headers.get("content-type");
  return {
    status,
    limited,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(location !== undefined && { location }),
    ...(type !== undefined && { type }),
  };
}

/** `Retry-After` has seconds or a date. */
function wait(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  return bounded(/^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now);
}

/** Seconds since the epoch. */
function untilReset(value: string | undefined, now: number): number | undefined {
  return value !== undefined && /^\d+$/.test(value) ? bounded(Number(value) * 1000 - now) : undefined;
}

function bounded(milliseconds: number): number | undefined {
  return Number.isNaN(milliseconds) ? undefined : Math.min(Math.max(0, milliseconds), longestWait);
}

/** Why git failed, from its output (`text`, in English) and the last HTTP answer. */
export function reasonOf(text: string, answer: Answer | undefined): SourceReason {
  // Names that a person chose do not describe the failure.
  const said = text.replaceAll(/'[^'\n]*'/g, "''");
  const here = match(said, local);
  if (here !== undefined) return here;
  return (answer && reasonOfStatus(answer)) ?? match(said, remote) ?? "GitOperationFailed";
}

function reasonOfStatus({ status, limited }: Answer): SourceReason | undefined {
  if (limited) return "RateLimited";
  if (status === 401 || status === 403 || status === 407) return "AuthenticationFailed";
  if (status === 404 || status === 410) return "RepositoryNotFound";
  if (status >= 300 && status < 400) return "Redirected";
  return status >= 500 ? "ServerError" : undefined;
}

function match(said: string, table: readonly (readonly [RegExp, SourceReason])[]): SourceReason | undefined {
  return table.find(([pattern]) => pattern.test(said))?.[1];
}

/** Failures of this machine, independent of the remote. */
const local: readonly (readonly [RegExp, SourceReason])[] = [
  [/spawn git E(NOENT|ACCES)/, "GitNotInstalled"],
  [/No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/, "DiskFull"],
  [/Read-only file system|EROFS|EACCES|EPERM/, "CacheNotWritable"],
  [/(unable to|could not|cannot) (create|write|open|mkdir|update|lock)\b.*Permission denied/i, "CacheNotWritable"],
  [/insufficient permission for adding an object/, "CacheNotWritable"],
];

/** The first match counts: the lines after a cause often only repeat that the command failed. */
const remote: readonly (readonly [RegExp, SourceReason])[] = [
  [/Could not resolve (host|proxy)|Name or service not known|name resolution|nodename nor servname/, "HostNotFound"],
  [/unable to look up .* \(port/, "HostNotFound"],
  [/out of time|block timeout reached|Operation too slow|timed out|Timeout, server/i, "Timeout"],
  [/Host key verification failed|host key .* has changed/i, "HostKeyRejected"],
  [/Authentication failed|could not read (Username|Password)|Permission denied \(|Load key /, "AuthenticationFailed"],
  [/couldn't find remote ref|Remote branch .* not found/, "BranchNotFound"],
  [/not our ref|does not allow request for unadvertised object/, "CommitNotFound"],
  [/expected the answer of a Git server/, "RepositoryNotFound"],
  [/repository .*(not found|does not exist)|does not appear to be a git repository/i, "RepositoryNotFound"],
  [/access denied or repository not exported|Repository not found/, "RepositoryNotFound"],
  [/Connection refused/, "ConnectionRefused"],
  [/\b(SSL|TLS|certificate|gnutls)/i, "TLSFailed"],
  [/early EOF|unexpected disconnect|transfer closed|body are still expected/, "TransferIncomplete"],
  [
    /SHA1 mismatch|pack is corrupted|inflate|zlib|pack signature mismatch|pack has (bad|\d+ unresolved)/,
    "TransferCorrupt",
  ],
  [/bad object|unknown object type|corrupt|bad line length|bad band|protocol error/i, "TransferCorrupt"],
  [/hung up unexpectedly|RPC failed|end of file|index-pack|unexpectedly closed|expected flush/, "TransferIncomplete"],
  [
    /Failed to connect|Couldn't connect|unable to connect|unreachable|No route to host|reset by peer|Empty reply/i,
    "ConnectionFailed",
  ],
  [/Connection closed|Broken pipe/i, "ConnectionFailed"],
];

/** What a person can do, where the reason alone does not say it. */
export function wayOut(reason: SourceReason, { status, location }: Partial<Answer> = {}): string {
  switch (reason) {
    case "AuthenticationFailed":
      if (status === 407)
        return "; the proxy asks for a login: check the user and the password in http.proxy of Git's settings, or in the variable https_proxy";
      return "; check the credentials: for https --git-username and --git-password, or --git-token, for ssh --git-ssh-key, a key without a passphrase that may read the repository";
    case "HostKeyRejected":
      return "; compare the host's key with what its operator says, and only if it is that one put it into the file of --git-known-hosts, or into the known_hosts of the user that runs sluice";
    case "TLSFailed":
      return "; for a certificate of your own authority give its file with --git-ca-file";
    case "Redirected":
      return redirectWay(location);
    case "DiskFull":
    case "CacheNotWritable":
      return "; the folder of --data-dir must be writable and have room";
    default:
      return "";
  }
}

/** A redirect of a repository leads to its list of references; any other, such as to a page for logins, leads to no repository. */
function redirectWay(location: string | undefined): string {
  if (location === undefined) return "; check --repo";
  const address = /^(.*)\/info\/refs$/.exec(location)?.[1];
  if (address !== undefined) return `; it points to ${address}: if that is intended, name it with --repo`;
  return `; it points to ${location}, which is no repository but perhaps a page for logins: check --repo and the credentials`;
}

/** What an answer without any reference was, where it is not that of a Git server; undefined where it is. */
export function foreignAnswer(output: string): string | undefined {
  const answer = lastAnswer(output, Date.now());
  if (answer === undefined || answer.type?.startsWith("application/x-git-") === true) return undefined;
  const what = answer.type === undefined ? "without a media type" : `of the type ${answer.type.slice(0, 100)}`;
  const expected = "expected the answer of a Git server";
  return `${expected}, found ${answer.status} ${what}: check --repo; a proxy, or a page for logins, may have answered`;
}

/**
 * What ssh says of a key that is not the known one, without its advice to remove that: whoever follows it trusts the
 * other key unseen. Undefined where it is about something else.
 */
export function changedHostKey(said: string): string | undefined {
  if (!/host (key|identification) .*has changed/i.test(said)) return undefined;
  const [key] = /SHA256:[\w+/=]+/.exec(said) ?? [];
  const which = key === undefined ? "a key" : `the key ${key}`;
  return `the host shows ${which}, which is not the known one: it has a new key, or another machine stands in between`;
}

/** A failure of the folder in the data dir, as an error of the source. */
export function ofDisk(error: unknown, home: string): unknown {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (error instanceof SourceError || code === undefined) return error;
  const reason = code === "ENOSPC" || code === "EDQUOT" ? "DiskFull" : "CacheNotWritable";
  // On a read-only disk Node reports a folder that it cannot create as missing.
  const isOurs = /^(ENOSPC|EDQUOT|EROFS|EACCES|EPERM|ENOTDIR|EEXIST)$/.test(code) || syscall === "mkdir";
  if (!isOurs) return error;
  return new SourceError(reason, `${home} cannot be written (${code}): it must be a folder of this user, with room`);
}
