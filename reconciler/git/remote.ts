import { resolve } from "node:path";
import { hiding } from "../../engine/language.ts";
import { readBrokerAddress, readHost } from "../../schemas/index.ts";
import { SourceError } from "./revision.ts";

/** Removes secrets, in any spelling, and the credentials of URLs from a text. */
export const redactor = (secrets: readonly string[]): ((text: string) => string) => hiding(secrets, "[redacted]");

/** A checked remote. */
export interface Remote {
  /** For Git's command line: holds no password. */
  url: string;
  /** For people: holds nothing that could be a credential. */
  display: string;
  /** It is a folder of this machine. */
  isFolder?: true;
  /** Value of an HTTP `Authorization` header, from the user and password of the URL. */
  authorization?: string;
  /** Why the connection is not secure; absent for a secure one. */
  warning?: string;
  /** Removes the credentials of this remote, and whatever looks like one, from a text. */
  readonly redact: (text: string) => string;
}

const expected =
  "a folder, file:///folder, https://host/repository.git, ssh://user@host/repository.git, user@host:repository.git or git://host/repository.git";

/**
 * Parses a remote. Refuses what Git would read as an option or as a command to run (`-x`, `ext::sh -c …`), and
 * protocols that need a helper program. Throws SourceError URLInvalid.
 */
export function parseRemote(text: string): Remote {
  if (text === "" || text.startsWith("-") || hasControl(text)) throw invalid(text);
  if (/^[A-Za-z0-9+.-]+::/.test(text)) throw invalid(text);
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(text)) return plain(text);
  if (!URL.canParse(text)) throw invalid(text);
  const url = new URL(text);
  if (url.protocol === "file:") return plain(text);
  // Git, curl and ssh each have a reading of their own: what they are given has one that all agree on.
  if (readHost(url.hostname) === undefined || !url.pathname.startsWith("/")) throw invalid(text);
  switch (url.protocol) {
    case "ssh:":
      return ssh(text, url);
    case "git:":
      return anonymous(text, url);
    case "http:":
    case "https:":
      return http(url);
    default:
      throw invalid(text);
  }
}

/**
 * A folder, `file://`, or `user@host:path`: nothing in it is a secret. A relative folder is resolved from the working
 * directory, not from the clone.
 */
function plain(text: string): Remote {
  const isFolder = !text.startsWith("file:") && !/^[^/]+:/.test(text);
  if (!isFolder && !text.startsWith("file:") && !isShortOfSsh(text)) throw invalid(text);
  const url = isFolder ? resolve(text) : text;
  const isHere = isFolder || text.startsWith("file:");
  return { url, display: url, ...(isHere && { isFolder: true as const }), redact: redactor([]) };
}

/** `user@host:path`, also with brackets around an address of IPv6, or around host and port. */
function isShortOfSsh(text: string): boolean {
  const [, user = "", host = "", path = ""] = /^(?:([^@:/[\]]+)@)?(\[[^/]*?\]|[^@:/[\]]+):(.*)$/s.exec(text) ?? [];
  const inside = host.startsWith("[") ? host.slice(1, -1) : host;
  if (!isUser(user) || hiddenHost.test(path)) return false;
  return readHost(host) !== undefined || readBrokerAddress(inside) !== undefined;
}

/** In a path it hides the host: Git takes that after the first `@[`, wherever it is. */
const hiddenHost = /(?:@|%40)(?:\[|%5b)/i;

/** Whether a user is no option of ssh, and hides no host: Git decodes a URL before it looks for the host. */
function isUser(encoded: string): boolean {
  return !/^(-|%2d)|%(2f|3a|3f|40|5b|5d|5c|23|0)/i.test(encoded);
}

function ssh(text: string, url: URL): Remote {
  if (!isUser(url.username) || hiddenHost.test(url.pathname + url.search + url.hash)) throw invalid(text);
  const secrets = spellings(url.password);
  url.password = "";
  return { url: url.href, display: url.href, redact: redactor(secrets) };
}

/** The protocol of `git daemon` has no credentials, so the URL must have none. */
function anonymous(text: string, url: URL): Remote {
  if (url.username !== "" || url.password !== "" || hiddenHost.test(url.pathname + url.search + url.hash))
    throw invalid(text);
  const warning = `${url.href} is neither encrypted nor authenticated: use https or ssh, or verify signatures with --verify-gpg or --verify-ssh`;
  return { url: url.href, display: url.href, warning, redact: redactor([]) };
}

/** The credentials leave the URL, so that no process list shows them; a user without a password is often a token. */
function http(url: URL): Remote {
  const { username, password } = url;
  const secrets = spellings(password === "" && username !== "git" ? username : password);
  url.username = "";
  url.password = "";
  const display = new URL(url.href);
  if (display.search !== "") {
    secrets.push(display.search.slice(1));
    display.search = "?redacted";
  }
  const inQuery = `git shows the query of ${display.href} in the list of processes: put a secret into --git-password or --git-token`;
  const isPlain = `${display.href} is not encrypted, credentials and files can be read and replaced on the way: use https`;
  const isOpen = url.protocol === "http:" && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname);
  const warnings = [...(isOpen ? [isPlain] : []), ...(display.search === "" ? [] : [inQuery])];
  const remote = {
    url: url.href,
    display: display.href,
    ...(warnings.length > 0 && { warning: warnings.join("; ") }),
    redact: redactor(secrets),
  };
  if (username === "" && password === "") return remote;
  const pair = `${spellings(username).at(-1) ?? ""}:${spellings(password).at(-1) ?? ""}`;
  return { ...remote, authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** A secret as the URL spells it, and last in plain text. */
function spellings(encoded: string): string[] {
  if (encoded === "") return [];
  try {
    return [encoded, decodeURIComponent(encoded)];
  } catch {
    return [encoded];
  }
}

function invalid(text: string): SourceError {
  const found = redactor([])(text).replaceAll(/[^\x20-\x7e]/g, "?");
  return new SourceError("URLInvalid", `--repo: expected ${expected}, got ${JSON.stringify(found.slice(0, 200))}`);
}

function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text);
}
