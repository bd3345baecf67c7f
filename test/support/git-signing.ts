import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { GitRepository } from "./git-repository.ts";

const execute = promisify(execFile);

/** GPG keys as people have them, each with a program that signs with it alone. Its agent ends with `close`. */
export class GpgHome {
  readonly #home: string;

  private constructor(home: string) {
    this.#home = home;
  }

  static async create(home: string): Promise<GpgHome> {
    await mkdir(home, { mode: 0o700 });
    return new GpgHome(home);
  }

  /** A new key, without a passphrase; one of `expired` was valid in the first days of 2020 only. */
  async key(name: string, { expired = false } = {}): Promise<GpgKey> {
    const then = expired ? ["--faked-system-time=20200101T000000"] : [];
    const user = `${name} <${name}@example.test>`;
    const made = ["--passphrase", "", "--quick-generate-key", user, "ed25519", "sign", expired ? "2d" : "never"];
    await this.#gpg(...then, "--quiet", ...made);
    const listed = await this.#gpg("--with-colons", "--list-keys", user);
    const fingerprint = /^fpr:+([0-9A-F]+):/m.exec(listed)?.[1] ?? "";
    const program = join(this.#home, `sign-with-${name}`);
    const script = `#!/bin/sh\nexec gpg --homedir '${this.#home}' ${then.join(" ")} "$@"\n`;
    await writeFile(program, script);
    await chmod(program, 0o700);
    return { fingerprint, program };
  }

  /** The public keys, as `gpg --armor --export` writes them. */
  publicKeys(...keys: GpgKey[]): Promise<string> {
    return this.#gpg("--armor", "--export", ...keys.map(({ fingerprint }) => fingerprint));
  }

  async revoke({ fingerprint }: GpgKey): Promise<void> {
    const certificate = join(this.#home, "openpgp-revocs.d", `${fingerprint}.rev`);
    await writeFile(certificate, (await readFile(certificate, "utf8")).replace(":-----BEGIN", "-----BEGIN"));
    await this.#gpg("--import", certificate);
  }

  async close(): Promise<void> {
    await execute("gpgconf", ["--homedir", this.#home, "--kill", "all"]);
    await rm(this.#home, { recursive: true, force: true });
  }

  async #gpg(...args: string[]): Promise<string> {
    const { stdout } = await execute("gpg", ["--homedir", this.#home, "--batch", "--no-tty", ...args]);
    return stdout;
  }
}

export interface GpgKey {
  fingerprint: string;
  /** What Git runs to sign. */
  program: string;
}

/** Options of `git commit` and `git tag` for a signature with a key. */
export function signedWith(key: GpgKey | { ssh: string }): string[] {
  if ("ssh" in key) return ["-c", "gpg.format=ssh", "-c", `user.signingKey=${key.ssh}`];
  return ["-c", `gpg.program=${key.program}`, "-c", `user.signingKey=${key.fingerprint}`];
}

/** A branch of one file, whose last commit is signed with `key`; gives the commit. */
export async function signedBranch(
  origin: GitRepository,
  branch: string,
  key: GpgKey | { ssh: string },
  date?: string,
): Promise<string> {
  await origin.git("checkout", "--quiet", "-B", branch);
  const message = ["commit", "--quiet", "--allow-empty", "-S", "--message", `On ${branch}`];
  const options = [...signedWith(key), ...message];
  await (date === undefined ? origin.git(...options) : origin.gitAt(date, ...options));
  return origin.head();
}

/** The commit at the tip of a branch, with another subject under the same signature. */
export async function tamper(origin: GitRepository, branch: string, into: string): Promise<string> {
  const text = await origin.git("cat-file", "commit", branch);
  const file = join(origin.path, ".git", "tampered");
  await writeFile(file, `${text.replace(`On ${branch}`, "Another subject")}\n`);
  const sha = await origin.git("hash-object", "-t", "commit", "-w", file);
  await origin.git("branch", "--force", into, sha);
  return sha;
}
