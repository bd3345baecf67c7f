import { realpath } from "node:fs/promises";
import { dirname, normalize, sep } from "node:path";
import { EngineError, type SecretSource, type SecretUse } from "../../engine/index.ts";
import type { ReferenceReader } from "./file-and-env.ts";

/** A reference, or a pattern of them, that pipelines may use. */
export interface Permission {
  /** `${env:NAME}`, `${env:PREFIX*}`, `${file:/path}`, or `${file:/folder/*}` for all files in a folder and below it. */
  reference: string;
  /** Names, in which `*` stands for any characters. */
  pipelines: readonly string[];
  /** Names or addresses without ports, in which `*` stands for any characters; all hosts that get the value must match. */
  hosts: readonly string[];
}

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
const spelled = /\$\$\{|\$\{(env|file):([^${}]+)\}/g;

/**
 * Gives pipeline files the secrets that the operator allows them, and no other: who writes a file may not read every
 * secret of the machine. The secrets of Sluice itself are never given (docs/security.md, Secrets).
 */
export class PermittedSecrets implements SecretSource {
  readonly #options: PermittedSecretsOptions;

  constructor(options: PermittedSecretsOptions) {
    this.#options = options;
  }

  async resolve(text: string, use: SecretUse): Promise<string> {
    for (const [reference, scheme, name] of text.matchAll(spelled)) {
      if (scheme === undefined || name === undefined) continue;
      const refusal =
        scheme === "env"
          ? this.#refusalOfVariable(reference, name, use)
          : await this.#refusalOfFile(reference, name, use);
      if (refusal !== undefined) {
        const message = `secret ${reference} ${refusal}`;
        throw new EngineError("SECRET_NOT_ALLOWED", message, { details: { reference } });
      }
    }
    return this.#options.secrets.resolve(text);
  }

  #refusalOfVariable(reference: string, name: string, use: SecretUse): string | undefined {
    const own = this.#options.own.find(({ text }) => text.includes(reference));
    if (own !== undefined) return ofSluice(own.setting);
    if (/^SLUICE_(?!SECRET_)/.test(name)) return ofSluice("sluice itself");
    const isNamed = (permission: Permission): boolean => {
      const [, pattern] = /^\$\{env:(.*)\}$/.exec(permission.reference) ?? [];
      return pattern !== undefined && matches(pattern, name);
    };
    return this.#isPermitted(isNamed, use) ? undefined : notAllowed(reference, use);
  }

  async #refusalOfFile(reference: string, path: string, use: SecretUse): Promise<string | undefined> {
    if (normalize(path) !== path) return "has a path with . or .. in it: write the path without them";
    const target = await realpath(path).catch(() => path);
    for (const own of this.#options.own) {
      const file = /^\$\{file:([^${}]+)\}$/.exec(own.text)?.[1] ?? own.text;
      if (file === path || (await realpath(file).catch(() => undefined)) === target) return ofSluice(own.setting);
    }
    const folders = new Map<string, string>();
    for (const { reference: pattern } of this.#options.permissions) {
      const [, folder] = /^\$\{file:(.*)\/\*\}$/.exec(pattern) ?? [];
      if (folder !== undefined) folders.set(pattern, await realpath(folder === "" ? sep : folder).catch(() => folder));
    }
    const isNamed = ({ reference: pattern }: Permission): boolean => {
      const folder = folders.get(pattern);
      // A link in the folder must not lead out of it: an author may be able to create one.
      return folder === undefined ? pattern === reference : isInside(folder, target) && isBelow(pattern, path);
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
    return { reference, pipelines: listOf(pipelines), hosts: hosts === undefined ? any : listOf(hosts.toLowerCase()) };
  });
}

/** What is allowed where `references` is not set: variables with a prefix of their own, and one folder. */
export function defaultPermissions(secretsFolder: string): Permission[] {
  const references = [`\${env:SLUICE_SECRET_*}`, `\${file:${secretsFolder}/*}`];
  return references.map((reference) => ({ reference, pipelines: any, hosts: any }));
}

function listOf(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

/** Whether a text matches a pattern in which `*` stands for any characters. */
function matches(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop()!;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Whether a path is below the folder as the pattern spells it. */
function isBelow(pattern: string, path: string): boolean {
  return isInside(dirname(pattern.slice("${file:".length, -1)), path);
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
