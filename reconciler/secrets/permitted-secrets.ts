import { realpath } from "node:fs/promises";
import { normalize } from "node:path";
import { EngineError, type ReadSecrets, type SecretSource, type SecretUse } from "../../engine/index.ts";
import { readReference, referencesIn, type SecretReference } from "../../schemas/index.ts";
import type { ReferenceReader } from "./file-and-env.ts";
import { forWhom, isInside, isPermitted, lineFor, type Permission } from "./permissions.ts";

/** What Sluice itself is given as a secret: the setting, and its reference or its file. */
export interface OwnSecret {
  setting: string;
  text: string;
}

export interface PermittedSecretsOptions {
  secrets: ReferenceReader;
  permissions: readonly Permission[];
  own: readonly OwnSecret[];
}

/**
 * Gives pipeline files the secrets that the operator allows them, and no other: who writes a file may not read every
 * secret of the machine. The secrets of Sluice itself are never given (docs/security.md, Secrets).
 */
export class PermittedSecrets implements SecretSource {
  readonly #options: PermittedSecretsOptions;

  constructor(options: PermittedSecretsOptions) {
    this.#options = options;
  }

  async resolve(text: string, use: SecretUse, read: ReadSecrets = new Map()): Promise<string> {
    for (const reference of referencesIn(text)) {
      const refusal =
        reference.scheme === "env"
          ? this.#refusalOfVariable(reference, use)
          : await this.#refusalOfFile(reference, use);
      if (refusal !== undefined) {
        const message = `secret ${reference.text} ${refusal}`;
        throw new EngineError("SECRET_NOT_ALLOWED", message, { details: { reference: reference.text } });
      }
    }
    const value = read.get(text) ?? this.#options.secrets.resolve(text);
    read.set(text, value);
    return value;
  }

  #refusalOfVariable(reference: SecretReference, use: SecretUse): string | undefined {
    const own = this.#options.own.find(({ text }) => text.includes(reference.text));
    if (own !== undefined) return ofSluice(own.setting);
    if (/^SLUICE_(?!SECRET_)/.test(reference.name)) return ofSluice("sluice itself");
    return isPermitted(this.#options.permissions, reference, use) ? undefined : notAllowed(reference, use);
  }

  async #refusalOfFile(reference: SecretReference, use: SecretUse): Promise<string | undefined> {
    const { name: path } = reference;
    if (normalize(path) !== path) return "has a path with . or .. in it: write the path without them";
    const target = await realpath(path).catch(() => path);
    for (const own of this.#options.own) {
      const named = readReference(own.text);
      const file = named?.scheme === "file" ? named.name : own.text;
      if (file === path || (await realpath(file).catch(() => undefined)) === target) return ofSluice(own.setting);
    }
    const permissions: Permission[] = [];
    for (const permission of this.#options.permissions) {
      const { allows } = permission;
      // A link in the folder must not lead out of it: an author may be able to create one.
      const isLeft =
        allows.kind === "folder" && !isInside(await realpath(allows.folder).catch(() => allows.folder), target);
      if (!isLeft) permissions.push(permission);
    }
    return isPermitted(permissions, reference, use) ? undefined : notAllowed(reference, use);
  }
}

function ofSluice(owner: string): string {
  return `is that of ${owner}, which no pipeline gets: give the pipeline a secret of its own`;
}

/** Names the line that would allow it. */
function notAllowed({ text }: SecretReference, use: SecretUse): string {
  const line = lineFor(text, use);
  return `is not allowed for pipeline ${forWhom(use)}: an operator allows it by the line ${line} under references in sluice.yaml`;
}
