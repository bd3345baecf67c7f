import { basename, dirname } from "node:path";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { printable, problem, type Problem } from "../language/problem.ts";
import {
  referencesIn,
  secretFields,
  type Path,
  type SecretReference,
  type Server,
  serverText,
} from "../../schemas/index.ts";
import { isPermitted, lineFor, type Permission, towards } from "./permissions.ts";

/** A pipeline, as far as its secrets go. */
type Using = Pick<DesiredPipeline, "pipeline_id" | "config" | "options">;

/** A reference of a pipeline to a secret, in a field. */
interface Used<Pipeline extends Using = DesiredPipeline> {
  pipeline: Pipeline;
  path: Path;
  reference: SecretReference;
  /** The servers that get the value. */
  servers: readonly Server[];
}

/** A secret that a pipeline gets from now on, or is refused. */
export interface NewSecret {
  reference: string;
  /** The servers that get the value. */
  servers: readonly Server[];
  /** Absent where the operator allows it; else the line of `references` that would, and whether the default alone is known. */
  refused?: { line: string; isDefault: boolean };
}

/**
 * What is to be said of the secrets that pipelines refer to: those that the operator does not allow, by `permissions` or else
 * by the default; and, where there is a base, those that its pipelines do not refer to.
 */
export function secretProblems(
  pipelines: readonly DesiredPipeline[],
  permissions: readonly Permission[] | undefined,
  base?: readonly DesiredPipeline[],
): Problem[] {
  const before = base && new Set(base.flatMap(usesOf).flatMap(keysOf));
  return pipelines.flatMap(usesOf).flatMap((used): Problem[] => {
    if (!isAllowed(used, permissions)) return [refused(used, permissions === undefined)];
    return before === undefined || keysOf(used).some((key) => before.has(key)) ? [] : [added(used)];
  });
}

/**
 * The secrets of a pipeline that it did not get before, each once, and those that it is refused by another id. `before` is
 * undefined for a new one.
 */
export function newSecrets(
  after: Using,
  before: (Using & { moved_from?: string }) | undefined,
  permissions?: readonly Permission[],
): NewSecret[] {
  const former = { ...after, pipeline_id: before?.moved_from ?? after.pipeline_id };
  const known = new Set(before === undefined ? [] : usesOf(before).map(keyOf));
  const used = new Map(usesOf(after).map((one) => [keyOf(one), one]));
  return [...used].flatMap(([key, one]): NewSecret[] => {
    const isRefused = !isAllowed(one, permissions);
    const wasAllowed = isAllowed({ ...one, pipeline: former }, permissions);
    if (known.has(key) && !(isRefused && wasAllowed)) return [];
    const { reference, servers } = one;
    const found = { reference: printable(reference.text), servers };
    if (!isRefused) return [found];
    const line = printable(lineFor(reference.text, { pipeline_id: after.pipeline_id, servers }));
    return [{ ...found, refused: { line, isDefault: permissions === undefined } }];
  });
}

function usesOf<Pipeline extends Using>(pipeline: Pipeline): Used<Pipeline>[] {
  const { access_token } = pipeline.options;
  const fields = secretFields(pipeline.config);
  if (access_token?.includes("${") === true) {
    fields.push({ path: ["x-sluice", "access_token"], text: access_token, servers: [] });
  }
  return fields.flatMap(({ path, text, servers }) =>
    referencesIn(text).map((reference) => ({ pipeline, path, reference, servers })),
  );
}

/** Whatever field it is in: the same value goes to the same servers. */
function keyOf({ pipeline: { pipeline_id }, reference: { text }, servers }: Used<Using>): string {
  return JSON.stringify([pipeline_id, text, servers.map(serverText).toSorted()]);
}

/** By each id that the pipeline has or had: of a base and a head, either one may name the id of the other. */
function keysOf(used: Used): string[] {
  const { pipeline_id, directives } = used.pipeline;
  return [pipeline_id, ...directives.moved_from].map((id) =>
    keyOf({ ...used, pipeline: { ...used.pipeline, pipeline_id: id } }),
  );
}

/** Without permissions, which folder is the operator's is not known here, but for its name. */
function isAllowed(
  { pipeline: { pipeline_id }, reference, servers }: Used<Using>,
  permissions?: readonly Permission[],
): boolean {
  if (permissions !== undefined) return isPermitted(permissions, reference, { pipeline_id, servers });
  const { scheme, name } = reference;
  return scheme === "env" ? name.startsWith("SLUICE_SECRET_") : basename(dirname(name)) === "secrets";
}

/** What operators allow by default, for people. */
export const allowedByDefault = "${env:SLUICE_SECRET_*}, or a file of the folder secrets";

function refused({ pipeline, path, reference, servers }: Used, isDefault: boolean): Problem {
  const line = lineFor(reference.text, { pipeline_id: pipeline.pipeline_id, servers });
  return problem("SECRET_REFUSED", pipeline.place(path), {
    path,
    expected: isDefault
      ? `a secret that operators allow by default: ${allowedByDefault}`
      : "a secret that the references of the operator allow",
    found: printable(reference.text),
    suggestion: `name another one, or ask the operator for ${printable(line)} under references`,
  });
}

function added({ pipeline, path, reference, servers }: Used): Problem {
  return problem("SECRET_USED", pipeline.place(path), {
    path,
    expected: `no secret that ${pipeline.pipeline_id} does not get at the base`,
    found: `${printable(reference.text)}${towards(servers)}`,
  });
}
