import { isObject, type PipelineV3 } from "../../../schemas/index.ts";
import type { Problem } from "../../language/problem.ts";
import type { SourceFile } from "../../language/source-text.ts";
import type { MigrateOptions } from "../../migrate/convert.ts";
import { foreignPipelines, repositoryFiles, sameId } from "../../repository/index.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { ExitCode, Invocation } from "../invocation/invocation.ts";
import { writeRepository } from "./new-files.ts";
import { pipelineFile } from "./pipeline-files.ts";
import { type ServerApi, serverApi } from "./server-api.ts";

/** The most bytes of one answer. */
const mostBytes = 64 * 1024 * 1024;
const mostPipelines = 10_000;
/** Answers that are waited for at a time. */
const atOnce = 4;

/** A pipeline of another engine: its document, and whether it is to stay at rest. */
interface Found {
  file: SourceFile;
  state?: "Stopped" | "Terminated";
}

/** `sluice import --from URL|FILE [FILE...]`: the pipelines of another engine as the files of a repository. */
export async function importPipelines(invocation: Invocation, others: string[] = []): Promise<ExitCode> {
  const { settings, progress } = invocation;
  const from = settings.optional("import_from");
  if (from === undefined) throw new CliError("expected --from: the URL of an engine, or a file with its pipelines");
  const isServer = /^https?:\/\//i.test(from);
  if (isServer && others.length > 0)
    throw new CliError("--from: expected files alone after a file, found a URL before them");
  progress.step("reading the pipelines");
  const found = isServer ? await pipelinesAt(from, invocation) : await pipelinesIn([from, ...others]);
  const { pipelines, problems } = documentsOf(found, { keepBehaviour: settings.isOn("keep_behaviour") });
  if (pipelines.length === 0 && problems.length === 0) throw new CliError(`${from}: expected pipelines, found none`);
  const placed = pipelines.map((document) => ({ path: `${document.pipeline_id.trim()}.yaml`, document }));
  return writeRepository(invocation, settings.text("import_into"), repositoryFiles(placed), problems);
}

async function pipelinesIn(paths: readonly string[]): Promise<Found[]> {
  return Promise.all(paths.map(async (path) => ({ file: await pipelineFile(path) })));
}

/** All pipelines that an engine lists. Throws CliError. */
async function pipelinesAt(address: string, invocation: Invocation): Promise<Found[]> {
  const api = await serverApi(address, "import_from", invocation, mostBytes);
  const records = recordsOf(await api.get("/api/v1/pipeline"), api);
  const found: Found[] = [];
  for (let index = 0; index < records.length; index += atOnce) {
    invocation.progress.step(`${index} of ${records.length} pipelines`);
    found.push(...(await Promise.all(records.slice(index, index + atOnce).map((record) => pipelineAt(record, api)))));
  }
  return found;
}

interface Listed {
  pipeline_id: string;
  status?: unknown;
}

function recordsOf(answer: unknown, { name }: ServerApi): Listed[] {
  const listed = Array.isArray(answer) ? answer.filter(isListed) : [];
  if (!Array.isArray(answer) || listed.length < answer.length || listed.length > mostPipelines) {
    const expected = `a list of at most ${mostPipelines} pipelines, each with its pipeline_id`;
    throw new CliError(`${name}/api/v1/pipeline: expected ${expected}, found something else`);
  }
  return listed;
}

function isListed(one: unknown): one is Listed {
  return isObject(one) && typeof one["pipeline_id"] === "string";
}

async function pipelineAt({ pipeline_id, status }: Listed, api: ServerApi): Promise<Found> {
  const path = `/api/v1/pipeline/${encodeURIComponent(pipeline_id)}`;
  const file = { path: `${api.name}${path}`, bytes: Buffer.from(JSON.stringify(await api.get(path))) };
  return status === "Stopped" || status === "Terminated" ? { file, state: status } : { file };
}

/** Valid documents, each id once. */
function documentsOf(
  found: readonly Found[],
  options: MigrateOptions,
): { pipelines: PipelineV3[]; problems: Problem[] } {
  const pipelines = new Map<string, PipelineV3>();
  const problems: Problem[] = [];
  for (const { file, state } of found) {
    const read = foreignPipelines(file, options);
    problems.push(...read.problems);
    for (const document of read.pipelines) {
      const id = document.pipeline_id.trim();
      if (pipelines.has(id)) problems.push(sameId(id, file.path));
      else pipelines.set(id, state === undefined ? document : atRest(document, state));
    }
  }
  return { pipelines: [...pipelines.values()], problems };
}

function atRest(document: PipelineV3, state: "Stopped" | "Terminated"): PipelineV3 {
  return { ...document, "x-sluice": { ...document["x-sluice"], state } };
}
