import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Environment } from "./environment.ts";
import { printable } from "../language/problem.ts";
import { type Signature, SourceError, type SourceReason } from "./revision.ts";

/** Files of the keys that may sign. */
export interface SignatureSettings {
  /** Public keys, armored or not. */
  gpg?: string;
  /** Allowed signers, as ssh-keygen(1) describes them. */
  ssh?: string;
}

/** Milliseconds that checking one signature may take. */
const checkTimeout = 30_000;
const keyFileBytes = 1 << 20;

/** The output and the exit code of a program. */
interface Said {
  code: number;
  output: string;
}

/**
 * Checks signatures of commits and tags with Git itself, against the given keys alone: the keyring, configuration and
 * trust of the user do not count, no key server is asked, no agent is started.
 */
export class Signatures {
  readonly #settings: SignatureSettings;
  readonly #home: string;
  readonly #environment: Environment;
  #keys: string | undefined;

  /** `home` is a folder of our own for the keyring. */
  constructor(settings: SignatureSettings, home: string, environment: Environment) {
    this.#settings = settings;
    this.#home = resolve(home);
    this.#environment = environment;
  }

  /** Reads the key files again. Returns a text that changes with them. Throws SourceError VerificationUnavailable. */
  async readKeys(signal: AbortSignal): Promise<string> {
    const { gpg, ssh } = this.#settings;
    const files = { gpg: await contents("--verify-gpg", gpg), ssh: await contents("--verify-ssh", ssh) };
    const hash = createHash("sha256").update(JSON.stringify(files)).digest("hex");
    if (this.#keys === hash) return hash;
    this.#keys = undefined;
    await rm(this.#home, { recursive: true, force: true });
    await mkdir(this.#home, { recursive: true, mode: 0o700 });
    if (files.gpg !== undefined) await this.#import(files.gpg, signal);
    if (files.ssh !== undefined) await writeFile(this.#allowedSigners, files.ssh);
    this.#keys = hash;
    return hash;
  }

  /**
   * Who signed `sha` of the repository in `folder`. Throws SourceError: a reason `Signature…` if the signature is not
   * valid, VerificationUnavailable if that cannot be checked. `text` is the raw object.
   */
  async verify(
    folder: string,
    what: "commit" | "tag",
    sha: string,
    text: string,
    signal: AbortSignal,
  ): Promise<Signature> {
    const subject = `${what} ${sha}`;
    const kind = kindOf(what, text);
    if (kind === undefined) {
      throw new SourceError(
        "SignatureMissing",
        `${subject} is not signed: sign it with a key that ${this.#flags()} names, and push it again`,
      );
    }
    if (kind === "x509" || this.#settings[kind] === undefined) {
      const names = { gpg: "a GPG key", ssh: "an SSH key", x509: "an X.509 certificate" };
      throw new SourceError(
        "SignatureKeyUnknown",
        `${subject} is signed with ${names[kind]}, expected a key that ${this.#flags()} names`,
      );
    }
    const said = await this.#run("git", [`verify-${what}`, "--raw", sha], signal, folder);
    if (kind === "gpg") return readGpgStatus(subject, said);
    const signature = readSshOutput(subject, said);
    await this.#mustStandNow(subject, text, signature, signal);
    return signature;
  }

  /** Git asks whether a key was accepted at the date of the commit, which whoever has the key may choose. */
  async #mustStandNow(subject: string, text: string, { fingerprint }: Signature, signal: AbortSignal): Promise<void> {
    const file = join(this.#home, "signature");
    await writeFile(file, sshSignatureIn(text));
    const find = ["-Y", "find-principals", "-f", this.#allowedSigners, "-s", file];
    const { code, output } = await this.#run("ssh-keygen", find, signal);
    if (code === 0) return;
    throw /expired|not yet valid|No principal matched/i.test(output)
      ? bad(subject, "SignatureKeyExpired", fingerprint)
      : unclear(subject, output);
  }

  /** Whether the object carries a signature, good or not. */
  signs(what: "commit" | "tag", text: string): boolean {
    return kindOf(what, text) !== undefined;
  }

  get #allowedSigners(): string {
    return join(this.#home, "allowed_signers");
  }

  #flags(): string {
    return Object.keys(this.#settings)
      .map((kind) => `--verify-${kind}`)
      .join(" or ");
  }

  async #import(keys: Buffer, signal: AbortSignal): Promise<void> {
    const options = ["no-autostart", "trust-model always", "no-auto-key-retrieve", "disable-dirmngr"];
    await writeFile(join(this.#home, "gpg.conf"), `${options.join("\n")}\n`);
    const file = join(this.#home, "keys.asc");
    await writeFile(file, keys);
    const { code, output } = await this.#run("gpg", ["--batch", "--no-tty", "--status-fd=1", "--import", file], signal);
    if (code === 0 && output.includes("[GNUPG:] IMPORT_OK")) return;
    const why = output.replaceAll(this.#home, "…").replaceAll(/\s+/g, " ").trim().slice(-300);
    throw new SourceError(
      "VerificationUnavailable",
      `--verify-gpg ${this.#settings.gpg}: expected public keys as gpg --armor --export writes them, gpg reported: ${why}`,
    );
  }

  #run(program: string, args: string[], signal: AbortSignal, folder = this.#home): Promise<Said> {
    const { PATH, TMPDIR } = this.#environment;
    const env = {
      ...(PATH && { PATH }),
      ...(TMPDIR && { TMPDIR }),
      ...environmentOf(this.#home, this.#allowedSigners),
      // Git may refuse to find a bare repository by itself, and looks for none in the folders above.
      GIT_DIR: ".",
    };
    return new Promise((done, fail) => {
      execFile(program, args, { cwd: folder, env, signal, timeout: checkTimeout }, (error, stdout, stderr) => {
        const output = `${stdout}\n${stderr}`;
        if (error === null) done({ code: 0, output });
        else if (signal.aborted) fail(signal.reason as Error);
        else if (typeof error.code === "number") done({ code: error.code, output });
        else {
          const why = error.code === "ENOENT" ? `the program ${program} is not on the PATH: install it` : error.message;
          fail(new SourceError("VerificationUnavailable", `signatures cannot be checked: ${why}`));
        }
      });
    });
  }
}

/** Our settings for signatures, in place of those of the user's Git configuration. */
function environmentOf(home: string, allowedSigners: string): Record<string, string> {
  const settings = [
    ["gpg.program", "gpg"],
    ["gpg.openpgp.program", "gpg"],
    ["gpg.ssh.program", "ssh-keygen"],
    ["gpg.ssh.allowedSignersFile", allowedSigners],
  ];
  return {
    HOME: home,
    GNUPGHOME: home,
    LC_ALL: "C",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

/** A commit has its signature among the headers, a tag at its end. */
function kindOf(what: "commit" | "tag", text: string): "gpg" | "ssh" | "x509" | undefined {
  const headers = text.slice(0, text.indexOf("\n\n") + 1);
  const begins = /-----BEGIN (PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----/;
  const mark =
    what === "commit"
      ? new RegExp(`^gpgsig(?:-sha256)? ${begins.source}`, "m").exec(headers)
      : new RegExp(`^${begins.source}`, "m").exec(text.slice(headers.length));
  if (mark === null) return undefined;
  if (mark[1] === "SSH SIGNATURE") return "ssh";
  return mark[1] === "SIGNED MESSAGE" ? "x509" : "gpg";
}

/** The signature itself, as ssh-keygen reads it: lines of a header go on after a space. */
function sshSignatureIn(text: string): string {
  const lines = /^(?:gpgsig(?:-sha256)? )?(-----BEGIN SSH SIGNATURE-----[^-]*-----END SSH SIGNATURE-----)/m.exec(
    text,
  )?.[1];
  return `${(lines ?? "").replaceAll(/^ /gm, "")}\n`;
}

/**
 * A signed tag is one of its name alone: under another name it would stand for what its signer has not said. `text` is the raw
 * object. Throws SourceError SignatureOfOtherTag.
 */
export function mustBeOf(name: string, sha: string, text: string): void {
  const [, own = ""] = /^tag (.*)$/m.exec(text.slice(0, text.indexOf("\n\n") + 1)) ?? [];
  if (own === name) return;
  throw new SourceError(
    "SignatureOfOtherTag",
    `tag ${name} is ${sha}, which was signed as the tag ${printable(own)}; it is not applied`,
  );
}

async function contents(flag: string, path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  const problem = (why: string): SourceError =>
    new SourceError("VerificationUnavailable", `${flag} ${path}: expected a file of public keys, ${why}`);
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw problem(`it cannot be read (${error.code})`);
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(keyFileBytes + 1), 0, keyFileBytes + 1, 0);
    if (bytesRead === 0) throw problem("it is empty");
    if (bytesRead > keyFileBytes) throw problem(`it has more than ${keyFileBytes} bytes`);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The output of `git verify-commit --raw`, and its exit code. */
interface GitOutput {
  code: number;
  output: string;
}

/** Reads the status lines of gpg (its doc/DETAILS). Throws SourceError unless there is one signature, and it is good. */
function readGpgStatus(subject: string, { code, output }: GitOutput): Signature {
  const lines = [...output.matchAll(/^\[GNUPG:\] (\w+) ?(.*)$/gm)];
  const of = (...names: string[]) =>
    lines.filter(([, name = ""]) => names.includes(name)).map(([, , rest = ""]) => rest);
  const key = (of("BADSIG", "REVKEYSIG", "EXPKEYSIG", "EXPSIG", "NO_PUBKEY", "ERRSIG", "GOODSIG")[0] ?? "").split(
    " ",
  )[0];
  const [valid = "", ...more] = of("VALIDSIG");
  const [good = ""] = of("GOODSIG");
  if (of("BADSIG").length > 0) throw bad(subject, "SignatureInvalid", key);
  if (of("REVKEYSIG").length > 0) throw bad(subject, "SignatureKeyRevoked", key);
  if (of("EXPKEYSIG", "EXPSIG").length > 0) throw bad(subject, "SignatureKeyExpired", key);
  if (of("NO_PUBKEY").length > 0) throw bad(subject, "SignatureKeyUnknown", key);
  if (code !== 0 || good === "" || valid === "" || more.length > 0) throw unclear(subject, output);
  const fields = valid.split(" ");
  return { kind: "gpg", fingerprint: fields[9] ?? fields[0] ?? "", signer: good.slice(good.indexOf(" ") + 1) };
}

/** Reads the output of ssh-keygen. Throws SourceError unless an allowed signer made the signature. */
function readSshOutput(subject: string, { code, output }: GitOutput): Signature {
  const match = /^Good "git" signature(?: for (.+))? with (\S+) key (SHA256:\S+)$/m.exec(output);
  const [, signer, , fingerprint] = match ?? [];
  if (match === null) {
    const isBad = /incorrect signature|Signature verification failed|Could not verify signature/.test(output);
    throw isBad && !/cannot run|No such file/.test(output)
      ? bad(subject, "SignatureInvalid")
      : unclear(subject, output);
  }
  if (code === 0 && signer !== undefined && fingerprint !== undefined) return { kind: "ssh", fingerprint, signer };
  if (/key has expired|not yet valid/.test(output)) throw bad(subject, "SignatureKeyExpired", fingerprint);
  if (/revoked/i.test(output)) throw bad(subject, "SignatureKeyRevoked", fingerprint);
  if (/No principal matched/.test(output)) throw bad(subject, "SignatureKeyUnknown", fingerprint);
  throw unclear(subject, output);
}

type Badness = Exclude<Extract<SourceReason, `Signature${string}`>, "SignatureOfOtherTag">;

const sentences: Readonly<Record<Badness, string>> = {
  SignatureMissing: "is not signed",
  SignatureInvalid: "has a signature that does not match its content: it was changed after it was signed",
  SignatureKeyUnknown: "is signed with a key that is not accepted",
  SignatureKeyExpired: "is signed with an accepted key that has expired, or had when it signed",
  SignatureKeyRevoked: "is signed with an accepted key that was revoked",
};

function bad(subject: string, reason: Badness, key = ""): SourceError {
  const which = key === "" ? "" : ` (key ${key})`;
  return new SourceError(reason, `${subject} ${sentences[reason]}${which}; it is not applied`);
}

/** A signature that cannot be checked is never reported as a bad one. */
function unclear(subject: string, output: string): SourceError {
  const said = output
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\p{Cc}/gu, "")
    .trim()
    .slice(-300);
  return new SourceError(
    "VerificationUnavailable",
    `the signature of ${subject} cannot be checked: ${said || "no reason was given"}`,
  );
}
