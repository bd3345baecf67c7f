import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { EngineError } from "../../engine/language.ts";
import { readReference } from "../../schemas/index.ts";

/** A credential is short. A mounted Kubernetes secret may have 1 MiB, but a credential never has. */
const fileBytes = 64 * 1024;

/** Replaces the references in a text by their values. */
export interface ReferenceReader {
  resolve(text: string): Promise<string>;
}

/**
 * Replaces the references in a text by their values, at the moment of use:
 *
 * - `${env:NAME}`: a variable of the environment that the command line handed over.
 * - `${file:/path}`: content of a file, without one line end at its end, such as a mounted secret.
 * - `$${` stands for `${`.
 *
 * Strict: an undefined or empty variable, a file that is missing, empty or not text, and any other `${…}` throw
 * EngineError SECRET_NOT_FOUND, which names the reference and never a value. Values are not searched for references.
 */
export class FileAndEnvSecrets implements ReferenceReader {
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  async resolve(text: string): Promise<string> {
    let resolved = "";
    // Every second part looks like a reference.
    for (const [index, part] of text.split(/(\$\$\{|\$\{[^}]*\}?)/).entries()) {
      resolved += index % 2 === 0 ? part : await this.#replace(part);
    }
    return resolved;
  }

  async #replace(part: string): Promise<string> {
    if (part === "$${") return "${";
    const reference = readReference(part);
    if (reference?.scheme === "env") return this.#variable(part, reference.name);
    if (reference?.scheme === "file") return content(part, reference.name);
    // It may be a password that contains `${`, so it is not shown.
    throw notFound(
      "${…}",
      "is not a known form of reference",
      "write ${env:NAME} or ${file:/path}, or $${ for a plain ${",
    );
  }

  #variable(reference: string, name: string): string {
    const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
    const wayOut = `set ${name} in the environment of sluice run`;
    if (value === undefined) throw notFound(reference, "is not set", wayOut);
    if (value === "") throw notFound(reference, "is empty", wayOut);
    return value;
  }
}

async function content(reference: string, path: string): Promise<string> {
  if (!isAbsolute(path)) throw notFound(reference, "names a relative path", "write the path from the root");
  let file: FileHandle | undefined;
  try {
    // Without O_NONBLOCK a named pipe would block the open until a process writes into it.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) throw notFound(reference, "is not a file", "name a file");
    return textOf(reference, await readAtMost(file, fileBytes + 1));
  } catch (error) {
    if (error instanceof EngineError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw notFound(
      reference,
      `cannot be read (${code})`,
      "check the path and the permissions of the user that runs sluice",
    );
  } finally {
    await file?.close();
  }
}

async function readAtMost(file: FileHandle, limit: number): Promise<Buffer> {
  const buffer = Buffer.alloc(limit);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, limit - length, length);
    length += bytesRead;
    if (bytesRead === 0 || length === limit) return buffer.subarray(0, length);
  }
}

function textOf(reference: string, bytes: Buffer): string {
  if (bytes.length > fileBytes)
    throw notFound(reference, `has more than ${fileBytes} bytes`, "name a file that holds one secret");
  const text = bytes.toString("utf8").replace(/\r?\n$/, "");
  if (text === "") throw notFound(reference, "is empty", "write the secret into the file");
  if (text.includes("\0") || text.includes("\uFFFD"))
    throw notFound(reference, "is not UTF-8 text", "write the secret as text");
  return text;
}

function notFound(reference: string, what: string, wayOut: string): EngineError {
  return new EngineError("SECRET_NOT_FOUND", `secret ${reference} ${what}: ${wayOut}`, { details: { reference } });
}
