import { realpath } from "node:fs/promises";
import { normalize } from "node:path";
import { EngineError, type ReadSecrets, type SecretSource, type SecretUse } from "../../engine/index.ts";
import { readReference, referencesIn } from "../../schemas/index.ts";
import type { ReferenceReader } from "./file-and-env.ts";
import { matches } from "../../engine/language.ts";
import { isFor, isInside, type Permission } from "./permissions.ts";

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
    for (const { text: reference, scheme, name } of referencesIn(text)) {
      const refusal =
        scheme === "env"
          ? this.#refusalOfVariable(reference, name, use)
          : await this.#refusalOfFile(reference, name, use);
      if (refusal !== undefined) {
        const message = `secret ${reference} ${refusal}`;
        throw new EngineError("SECRET_NOT_ALLOWED", message, { details: { reference } });
      }
    }
    const value = read.get(text) ?? this.#options.secrets.resolve(text);
    read.set(text, value);
    return value;
  }

  #refusalOfVariable(reference: string, name: string, use: SecretUse): string | undefined {
    const own = this.#options.own.find(({ text }) => text.includes(reference));
    if (own !== undefined) return ofSluice(own.setting);
    if (/^SLUICE_(?!SECRET_)/.test(name)) return ofSluice("sluice itself");
    const isNamed = ({ allows }: Permission): boolean => allows.kind === "env" && matches(allows.name, name);
    return this.#isPermitted(isNamed, use) ? undefined : notAllowed(reference, use);
  }

  async #refusalOfFile(reference: string, path: string, use: SecretUse): Promise<string | undefined> {
    if (normalize(path) !== path) return "has a path with . or .. in it: write the path without them";
    const target = await realpath(path).catch(() => path);
    for (const own of this.#options.own) {
      const named = readReference(own.text);
      const file = named?.scheme === "file" ? named.name : own.text;
      if (file === path || (await realpath(file).catch(() => undefined)) === target) return ofSluice(own.setting);
    }
    const folders = new Map<string, string>();
    for (const { allows } of this.#options.permissions) {
      if (allows.kind !== "folder") continue;
      folders.set(allows.folder, await realpath(allows.folder).catch(() => allows.folder));
    }
    const isNamed = ({ allows }: Permission): boolean => {
      if (allows.kind !== "folder") return allows.kind === "file" && allows.path === path;
      // A link in the folder must not lead out of it: an author may be able to create one.
      const isTargetInside = isInside(folders.get(allows.folder) ?? allows.folder, target);
      return isTargetInside && isInside(allows.folder, path);
    };
    return this.#isPermitted(isNamed, use) ? undefined : notAllowed(reference, use);
  }

  #isPermitted(isNamed: (permission: Permission) => boolean, use: SecretUse): boolean {
    return this.#options.permissions.some((permission) => isNamed(permission) && isFor(permission, use));
  }
}

function ofSluice(owner: string): string {
  return `is that of ${owner}, which no pipeline gets: give the pipeline a secret of its own`;
}

/** Names the line that would allow it. */
function notAllowed(reference: string, { pipeline_id, hosts }: SecretUse): string {
  const towards = hosts.length === 0 ? "" : ` towards ${hosts.join(", ")}`;
  const line = `"${reference}": "${pipeline_id}${towards}"`;
  return `is not allowed for pipeline ${pipeline_id}${towards}: an operator allows it by the line ${line} under references in sluice.yaml`;
}
