import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { Engine, type Readiness, silent } from "../../../engine/index.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { fault } from "../../language/fault.ts";
import { printable, problem, type Problem } from "../../language/problem.ts";
import { FileAndEnvSecrets } from "../../secrets/file-and-env.ts";
import { PermittedSecrets } from "../../secrets/permitted-secrets.ts";
import { foundOrder } from "../../validate/dedup-order.ts";
import { ownSecrets, permissionsIn, targetRules } from "../daemon/daemon-settings.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** Pipelines whose servers are asked at a time. */
const atOnce = 8;

/** Characters of an answer. */
const longest = 1_000;

/**
 * Whether valid pipelines could run from here: their secrets are set and allowed, their tables take their rows, their
 * topics can be read. Asks their servers, and changes nothing.
 */
export async function resolveProblems(
  pipelines: readonly DesiredPipeline[],
  invocation: Pick<Invocation, "settings" | "progress" | "env" | "settingsFile">,
): Promise<Problem[]> {
  const { settings, progress, env } = invocation;
  const permissions = permissionsIn(invocation);
  const secrets = new PermittedSecrets({ secrets: new FileAndEnvSecrets(env), permissions, own: ownSecrets(settings) });
  const targets = targetRules(settings);
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-resolve-"));
  const problems: Problem[] = [];
  try {
    const engine = await Engine.open({ dataDir, log: silent, registry: new Registry(), secrets, targets, threads: 1 });
    try {
      for (let index = 0; index < pipelines.length; index += atOnce) {
        progress.step(`asking the servers of ${index} of ${pipelines.length} pipelines`);
        const some = pipelines.slice(index, index + atOnce);
        const found = some.map((one) => problemsOf(one, engine).catch((error: unknown) => [fault(one.file, error)]));
        problems.push(...(await Promise.all(found)).flat());
      }
    } finally {
      await engine.close();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
  return problems;
}

async function problemsOf(pipeline: DesiredPipeline, engine: Engine): Promise<Problem[]> {
  const { config, options } = pipeline;
  // The embedded ClickHouse here is not the one of the daemon: what its table is like is not known.
  const isEmbedded = config.sink.connection_params.host === "embedded";
  const readiness = await engine.check(config, isEmbedded ? { ...options, create_table: true } : options);
  if (readiness.kind !== "ready") return [problemOf(pipeline, readiness)];
  if (isEmbedded) return [];
  const { table, zeroed = [], atLeastOnce, profileRemark } = readiness;
  return [
    ...(table === undefined ? [] : foundOrder(pipeline, table)),
    ...zeroProblems(pipeline, zeroed),
    ...(atLeastOnce === undefined ? [] : [repeatProblem(pipeline, atLeastOnce)]),
    ...(profileRemark === undefined ? [] : [profileProblem(pipeline, profileRemark)]),
  ];
}

function repeatProblem(pipeline: DesiredPipeline, reason: string): Problem {
  const path = ["sink", "table"];
  const expected = "a table that drops repeated inserts, as all do that its views write to";
  return problem("AT_LEAST_ONCE", pipeline.place(path), { path, expected, found: printable(reason, longest) });
}

function profileProblem(pipeline: DesiredPipeline, remark: string): Problem {
  const path = ["sink", "connection_params", "username"];
  const expected = "a user whose settings profile changes nothing about rows";
  return problem("PROFILE_SETTINGS", pipeline.place(path), { path, expected, found: printable(remark, longest) });
}

function zeroProblems(pipeline: DesiredPipeline, zeroed: readonly string[]): Problem[] {
  if (zeroed.length === 0) return [];
  const path = ["sink", "mapping"];
  const [columns, verb] = zeroed.length === 1 ? ["column", "gets"] : ["columns", "get"];
  return [
    problem("NULL_BECOMES_ZERO", pipeline.place(path), {
      path,
      expected: "columns that are Nullable or have a DEFAULT, for fields that may be null or absent",
      found: printable(
        `the ${columns} ${zeroed.join(", ")}, which ${verb} 0, an empty text or their like then`,
        longest,
      ),
      suggestion:
        "make them Nullable, give them a DEFAULT, or set x-sluice.null: reject to have dead letters, or zero if it is meant",
    }),
  ];
}

function problemOf(
  { config: { pipeline_id }, file, line }: DesiredPipeline,
  { kind, text }: Exclude<Readiness, { kind: "ready" }>,
): Problem {
  const code = kind === "refused" ? "NOT_READY" : "UNREACHABLE";
  const expected = `${pipeline_id} to have its secrets, its table and what it reads`;
  return problem(code, { file, line, column: 1 }, { subject: "pipeline", expected, found: printable(text, longest) });
}
