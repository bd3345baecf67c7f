import { realpath } from "node:fs/promises";
import { normalize, sep } from "node:path";
import { EngineError, matches, type ReadSecrets, type SecretSource, type SecretUse } from "../../engine/index.ts";
import { readReference, referencesIn } from "../../schemas/index.ts";
import type { ReferenceReader } from "./file-and-env.ts";

/** A reference, or a pattern of them, that pipelines may use. */
export interface Permission {
  /** `${env:NAME}`, `${env:PREFIX*}`, `${file:/path}`, or `${file:/folder/*}` for all files in a folder and below it. */
  reference: string;
  allows: Allowed;
  /** Names, in which `*` stands for any characters. */
  pipelines: readonly string[];
  /** Names or addresses without ports, in which `*` stands for any characters; all hosts that get the value must match. */
  hosts: readonly string[];
}

/** What a permission allows: variables by a name, in which `*` stands for any characters, one file, or those of a folder. */
type Allowed = { kind: "env"; name: string } | { kind: "file"; path: string } | { kind: "folder"; folder: string };

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

const any = ["*"];

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

  #isPermitted(isNamed: (permission: Permission) => boolean, { pipeline_id, hosts }: SecretUse): boolean {
    return this.#options.permissions.some(
      (permission) =>
        isNamed(permission) &&
        permission.pipelines.some((pattern) => matches(pattern, pipeline_id)) &&
        hosts.every((host) => permission.hosts.some((pattern) => matches(pattern, host.toLowerCase()))),
    );
  }
}

/**
 * The permissions of the setting `references`: `PIPELINES` or `PIPELINES towards HOSTS` by reference, each a list with
 * commas.
 */
export function permissionsOf(references: Readonly<Record<string, string>>): Permission[] {
  return Object.entries(references).map(([reference, who]) => {
    const [pipelines = "", hosts] = who.split(" towards ");
    const allows = allowedBy(reference);
    return {
      reference,
      allows,
      pipelines: listOf(pipelines),
      hosts: hosts === undefined ? any : listOf(hosts.toLowerCase()),
    };
  });
}

/** What is allowed where `references` is not set: variables with a prefix of their own, and one folder. */
export function defaultPermissions(secretsFolder: string): Permission[] {
  const references = [`\${env:SLUICE_SECRET_*}`, `\${file:${secretsFolder}/*}`];
  return references.map((reference) => ({ reference, allows: allowedBy(reference), pipelines: any, hosts: any }));
}

function allowedBy(reference: string): Allowed {
  const { scheme, name = "" } = readReference(reference) ?? {};
  if (scheme === "env") return { kind: "env", name };
  if (name.endsWith("/*")) return { kind: "folder", folder: name.slice(0, -"/*".length) || sep };
  return { kind: "file", path: name };
}

function listOf(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
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
