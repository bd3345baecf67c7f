import { sep } from "node:path";
import { type HostPattern, matches, matchesHost, readHostPattern, type SecretUse } from "../../engine/language.ts";
import { readReference, type SecretReference, type Server, serverText } from "../../schemas/index.ts";

/** A reference, or a pattern of them, that pipelines may use. */
export interface Permission {
  /** `${env:NAME}`, `${env:PREFIX*}`, `${file:/path}`, or `${file:/folder/*}` for all files in a folder and below it. */
  reference: string;
  allows: Allowed;
  /** Names, in which `*` stands for any characters. */
  pipelines: readonly string[];
  /** Servers of which each that gets the value must be one; undefined for all. */
  towards: readonly ServerPattern[] | undefined;
}

/** Which servers may get a value. */
interface ServerPattern extends HostPattern {
  /** They have to prove their name by TLS, with a certificate that is checked. */
  needsTls: boolean;
}

/** What a permission allows: variables by a name, in which `*` stands for any characters, one file, or those of a folder. */
type Allowed = { kind: "env"; name: string } | { kind: "file"; path: string } | { kind: "folder"; folder: string };

const any = ["*"];

/**
 * Whether permissions name a reference as it is written, for a pipeline and the servers that get its value. Where links lead is
 * seen when it is read.
 */
export function isPermitted(
  permissions: readonly Permission[],
  { scheme, name }: SecretReference,
  use: SecretUse,
): boolean {
  const isNamed = ({ allows }: Permission): boolean => {
    if (allows.kind === "env") return scheme === "env" && matches(allows.name, name);
    return scheme === "file" && (allows.kind === "file" ? allows.path === name : isInside(allows.folder, name));
  };
  return permissions.some((permission) => isNamed(permission) && isFor(permission, use));
}

/** Whether a permission is for a pipeline, and the servers that get the value. */
function isFor({ pipelines, towards: allowed }: Permission, { pipeline_id, servers }: SecretUse): boolean {
  return (
    pipelines.some((pattern) => matches(pattern, pipeline_id)) &&
    (allowed === undefined || servers.every((server) => allowed.some((named) => names(named, server))))
  );
}

/** No pattern names an address that cannot be read, and `embedded` none but the ClickHouse inside Sluice. */
function names(named: ServerPattern, server: Server): boolean {
  if (server.kind === "unreadable") return false;
  if (server.kind === "embedded") return matches(named.pattern, serverText(server)) && named.port === undefined;
  if (named.pattern === "embedded") return false;
  return matchesHost(named, server.host, server.port) && (server.isVerified || !named.needsTls);
}

/**
 * The permissions of the setting `references`: `PIPELINES` or `PIPELINES towards SERVERS` by reference, each a list with
 * commas. A server is `HOST`, `HOST:PORT`, or one of them after `tls://`. Throws an Error for one that cannot be read.
 */
export function permissionsOf(references: Readonly<Record<string, string>>): Permission[] {
  return Object.entries(references).map(([reference, who]) => {
    const [pipelines = "", servers] = who.split(" towards ");
    const allows = allowedBy(reference);
    return {
      reference,
      allows,
      pipelines: listOf(pipelines),
      towards: servers === undefined ? undefined : listOf(servers).map(serverPattern),
    };
  });
}

/** What is allowed where `references` is not set: variables with a prefix of their own, and one folder. */
export function defaultPermissions(secretsFolder: string): Permission[] {
  const references = [`\${env:SLUICE_SECRET_*}`, `\${file:${secretsFolder}/*}`];
  return references.map((reference) => ({
    reference,
    allows: allowedBy(reference),
    pipelines: any,
    towards: undefined,
  }));
}

function allowedBy(reference: string): Allowed {
  const { scheme, name = "" } = readReference(reference) ?? {};
  if (scheme === "env") return { kind: "env", name };
  if (name.endsWith("/*")) return { kind: "folder", folder: name.slice(0, -"/*".length) || sep };
  return { kind: "file", path: name };
}

function serverPattern(text: string): ServerPattern {
  const [, tls, server = ""] = /^(tls:\/\/)?(.*)$/is.exec(text) ?? [];
  return { ...readHostPattern(server), needsTls: tls !== undefined };
}

function listOf(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

/** The line of the setting `references` that allows a reference for a pipeline, and the servers that get its value. */
export function lineFor(reference: string, use: SecretUse): string {
  return `"${reference}": "${forWhom(use)}"`;
}

/** A pipeline and the servers that get a value, as the setting `references` has them. */
export function forWhom({ pipeline_id, servers }: SecretUse): string {
  return `${pipeline_id}${towards(servers)}`;
}

/** Such as ` towards tls://ch.example.com:8443`; empty where no server gets the value. */
export function towards(servers: readonly Server[]): string {
  return servers.length === 0 ? "" : ` towards ${servers.map(serverText).join(", ")}`;
}

/** Whether a path is in a folder, or below it. */
export function isInside(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
