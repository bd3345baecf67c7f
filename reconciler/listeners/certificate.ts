import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";

export interface CertificateFiles {
  cert: string;
  key: string;
}

/** The certificate of the listeners with its chain, and its key, both PEM. */
export interface CertificatePair {
  cert: Buffer;
  key: Buffer;
}

/** A pair that fits together, and what its certificate says. */
interface ReadPair {
  pair: CertificatePair;
  certificate: X509Certificate;
}

interface CertificateEvents {
  reloaded: (subject: string, until: string) => void;
  /** Receives each error once. */
  refused: (error: string) => void;
}

/** How often the files are looked at, in milliseconds. */
const every = 10_000;

/**
 * The certificate of the listeners, from two files that are read again while it is used: a new pair is taken once its
 * key fits its certificate, without a restart. Open connections keep the pair that they began with.
 */
export class Certificate {
  readonly #files: CertificateFiles;
  readonly #events: CertificateEvents;
  readonly #users: ((pair: CertificatePair) => void)[] = [];
  readonly #timer: NodeJS.Timeout;
  #pair: CertificatePair;
  #error: string | undefined;

  private constructor(files: CertificateFiles, pair: CertificatePair, events: CertificateEvents, period: number) {
    this.#files = files;
    this.#pair = pair;
    this.#events = events;
    this.#timer = setInterval(() => void this.#look(), period).unref();
  }

  /** Throws an Error that names the file and never holds a part of the key. */
  static async open(files: CertificateFiles, events: CertificateEvents, period = every): Promise<Certificate> {
    const { pair } = await readPair(files);
    return new Certificate(files, pair, events, period);
  }

  get pair(): CertificatePair {
    return this.#pair;
  }

  /** Calls `take` with each new pair. */
  onChange(take: (pair: CertificatePair) => void): void {
    this.#users.push(take);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    try {
      const { pair, certificate } = await readPair(this.#files);
      this.#error = undefined;
      if (pair.cert.equals(this.#pair.cert) && pair.key.equals(this.#pair.key)) return;
      this.#pair = pair;
      for (const take of this.#users) take(pair);
      this.#events.reloaded(certificate.subject, certificate.validTo);
    } catch (error) {
      const text = (error as Error).message;
      if (text !== this.#error) this.#events.refused(text);
      this.#error = text;
    }
  }
}

async function readPair({ cert, key }: CertificateFiles): Promise<ReadPair> {
  const pair = { cert: await contentOf(cert, "certificate"), key: await contentOf(key, "key") };
  try {
    createSecureContext(pair);
    return { pair, certificate: new X509Certificate(pair.cert) };
  } catch {
    // The message of OpenSSL says no more than that.
    throw new Error(`${cert} and ${key}: expected a certificate and its private key without a passphrase, both PEM`);
  }
}

async function contentOf(file: string, what: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new Error(`${file}: the TLS ${what} cannot be read (${code}): check the path and the permissions`, {
      cause: error,
    });
  }
}
