import { sep } from "node:path";
import { matches, type SecretUse } from "../../engine/language.ts";
import { readReference, type SecretReference } from "../../schemas/index.ts";

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

const any = ["*"];

/**
 * Whether permissions name a reference as it is written, for a pipeline and the hosts that get its value. Where links lead is
 * seen when it is read.
 */
export function isPermitted(
  permissions: readonly Permission[],
  { scheme, name }: SecretReference,
  { pipeline_id, hosts }: SecretUse,
): boolean {
  const isNamed = ({ allows }: Permission): boolean => {
    if (allows.kind === "env") return scheme === "env" && matches(allows.name, name);
    return scheme === "file" && (allows.kind === "file" ? allows.path === name : isInside(allows.folder, name));
  };
  return permissions.some((permission) => isNamed(permission) && isFor(permission, { pipeline_id, hosts }));
}

/** Whether a permission is for a pipeline, and the hosts that get the value. */
function isFor({ pipelines, hosts: allowed }: Permission, { pipeline_id, hosts }: SecretUse): boolean {
  return (
    pipelines.some((pattern) => matches(pattern, pipeline_id)) &&
    hosts.every((host) => allowed.some((pattern) => matches(pattern, host.toLowerCase())))
  );
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

/** The line of the setting `references` that allows a reference for a pipeline, and the hosts that get its value. */
export function lineFor(reference: string, use: SecretUse): string {
  return `"${reference}": "${forWhom(use)}"`;
}

/** A pipeline and the hosts that get a value, as the setting `references` has them. */
export function forWhom({ pipeline_id, hosts }: SecretUse): string {
  return `${pipeline_id}${towards(hosts)}`;
}

/** Such as ` towards HOSTS`; empty where no host gets the value. */
export function towards(hosts: readonly string[]): string {
  return hosts.length === 0 ? "" : ` towards ${hosts.join(", ")}`;
}

/** Whether a path is in a folder, or below it. */
export function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
