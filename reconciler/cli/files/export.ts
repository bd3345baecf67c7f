import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { defaultOptions, documentOf, type PipelineV3 } from "../../../schemas/index.ts";
import { defaultDirectives } from "../../desired/desired-state.ts";
import { isPipelineFile } from "../../desired/load.ts";
import type { LivePipeline, LiveState } from "../../preview/live-state.ts";
import { readLiveState } from "../../preview/read-live-state.ts";
import { repositoryFiles } from "../../repository/index.ts";
import { daemonOf } from "../control/client.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { ExitCode, Invocation } from "../invocation/invocation.ts";
import { liveStateAt } from "./live-server.ts";
import { writeRepository } from "./new-files.ts";

/** `sluice export DIR`: what runs, as the files that would make it so. */
export async function exportPipelines(invocation: Invocation, folder: string): Promise<ExitCode> {
  const { settings, progress } = invocation;
  const server = settings.optional("plan_server");
  progress.step("asking what runs");
  const live =
    server === undefined
      ? readLiveState(await daemonOf(invocation).get("/api/v1/actual"))
      : (await liveStateAt(server, invocation)).live;
  if (live.pipelines.length === 0) throw new CliError("expected pipelines that run, found none");
  const isJson = settings.text("export_format") === "json";
  const placed = live.pipelines.map((one) => {
    const path = pathOf(one, live);
    // A file of JSON holds one document.
    return { path: isJson ? join(dirname(path), `${one.pipeline_id}.json`) : path, document: exported(one) };
  });
  return writeRepository(invocation, folder, repositoryFiles(placed), []);
}

/** The file that it came from, below the folder that is followed. What a server says of paths is not trusted. */
function pathOf({ pipeline_id }: LivePipeline, { owned, source }: LiveState): string {
  const file = owned[pipeline_id]?.file ?? "";
  const followed = "path" in source && typeof source.path === "string" ? `${source.path}/` : "";
  const below = file.startsWith(followed) ? file.slice(followed.length) : file;
  const isSafe = isPipelineFile(below) && below.split("/").every((part) => /^[\w][\w.-]*$/.test(part));
  return isSafe ? below.replace(/\.(?:json|yml)$/i, ".yaml") : `${pipeline_id}.yaml`;
}

/** With its options, its directives and its state: a pipeline that is at rest stays so. */
function exported({ config, options, directives = defaultDirectives, status }: LivePipeline): PipelineV3 {
  const state = status === "Stopped" || status === "Terminated" ? status : directives.state;
  const given = { ...otherThan(defaultOptions, options), ...otherThan(defaultDirectives, { ...directives, state }) };
  return documentOf(config, given);
}

function otherThan<Value extends object>(defaults: Value, given: Value): Partial<Value> {
  const entries = Object.entries(given).filter(
    ([key, value]) => !isDeepStrictEqual(value, defaults[key as keyof Value]),
  );
  return Object.fromEntries(entries) as Partial<Value>;
}
