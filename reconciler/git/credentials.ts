import { access, constants } from "node:fs/promises";
import type { ReferenceReader } from "../secrets/file-and-env.ts";
import type { Remote } from "./remote.ts";
import { SourceError } from "./revision.ts";

/**
 * The credentials for a remote, and how its identity is checked. Files and references are read again for every
 * exchange.
 */
export interface AccessSettings {
  /** For https. A text or a reference. */
  username?: string;
  /** References such as `${env:NAME}`; they exclude each other. */
  password?: string;
  token?: string;
  /** Files. */
  sshKey?: string;
  knownHosts?: string;
  caFile?: string;
}

/** What one exchange may use. */
export interface Granted {
  /** Value of an HTTP `Authorization` header. */
  authorization?: string;
  /** Secret texts, which are removed from every message. */
  secrets: string[];
  caFile?: string;
  /** Options for `ssh`, quoted for a shell. */
  ssh: string[];
}

/** Resolves the credentials at the moment of use, so that a rotated secret needs no restart. */
export class Credentials {
  readonly #settings: AccessSettings;
  readonly #remote: Remote;
  readonly #secrets: ReferenceReader | undefined;

  constructor(settings: AccessSettings, remote: Remote, secrets: ReferenceReader | undefined) {
    this.#settings = settings;
    this.#remote = remote;
    this.#secrets = secrets;
  }

  /** Throws SourceError CredentialsNotFound, which names the setting and the reference, and never a value. */
  async resolve(): Promise<Granted> {
    const { sshKey, knownHosts, caFile } = this.#settings;
    await readable("--git-ssh-key", sshKey);
    await readable("--git-known-hosts", knownHosts);
    await readable("--git-ca-file", caFile);
    return { ...(await this.#http()), ...(caFile !== undefined && { caFile }), ssh: sshOptions(sshKey, knownHosts) };
  }

  async #http(): Promise<Pick<Granted, "authorization" | "secrets">> {
    const { username, password, token } = this.#settings;
    if (token !== undefined) {
      const value = await this.#resolve("--git-token", token);
      return { authorization: `Bearer ${value}`, secrets: [value] };
    }
    if (password !== undefined) {
      const user = username === undefined ? "git" : await this.#resolve("--git-username", username);
      const value = await this.#resolve("--git-password", password);
      const pair = Buffer.from(`${user}:${value}`).toString("base64");
      return { authorization: `Basic ${pair}`, secrets: [value, pair, encodeURIComponent(value)] };
    }
    const { authorization } = this.#remote;
    return { ...(authorization !== undefined && { authorization }), secrets: [] };
  }

  async #resolve(flag: string, text: string): Promise<string> {
    try {
      const value = (await this.#secrets?.resolve(text)) ?? text;
      if (!/\p{Cc}/u.test(value)) return value;
    } catch (error) {
      throw new SourceError(
        "CredentialsNotFound",
        `${flag}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    throw new SourceError("CredentialsNotFound", `${flag}: expected one line of text, found control characters in it`);
  }
}

async function readable(flag: string, file: string | undefined): Promise<void> {
  if (file === undefined) return;
  await access(file, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new SourceError("CredentialsNotFound", `${flag} ${file}: expected a file that can be read (${error.code})`);
  });
}

/** An unknown host is refused, and if known hosts are given, no other list counts. */
function sshOptions(key: string | undefined, knownHosts: string | undefined): string[] {
  const options = [
    "-o BatchMode=yes",
    "-o StrictHostKeyChecking=yes",
    "-o ConnectTimeout=30",
    "-o ServerAliveInterval=15",
  ];
  if (key !== undefined) options.push(`-o IdentitiesOnly=yes -i ${quoted(key.replaceAll("%", "%%"))}`);
  if (knownHosts !== undefined) {
    const file = `"${knownHosts.replaceAll("%", "%%")}"`;
    options.push(`-o GlobalKnownHostsFile=/dev/null -o ${quoted(`UserKnownHostsFile=${file}`)}`);
  }
  return options;
}

/** A word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
