import { stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { reviewOf } from "../../desired/load.ts";
import { problem, type Problem } from "../../language/problem.ts";
import { parseDeletionLimit } from "../../plan/budget.ts";
import { previewOf, type PreviewedChange, type Side } from "../../preview/preview.ts";
import { WorkTree } from "../../work-tree/work-tree.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { comparedFiles } from "./compared-files.ts";
import { loadedSides } from "./plan.ts";

/** Milliseconds that reading and checking both sides may take. */
const longest = 120_000;

/** Deletions are said by `sluice plan`, and are none of the problems here. */
const anyNumber = parseDeletionLimit("100%");

/** The base of files, and what has moved since then. */
export interface SinceBase {
  /** As `sluice plan` finds it: pipelines that are in another file, and files whose pipeline has another id. */
  moved: Problem[];
  /** The problems that the files have there, under the paths of now. */
  problems: Problem[];
  pipelines: DesiredPipeline[];
}

/**
 * Reads the commit at which files left the branch, tag or commit `ref`. Throws CliError where a path is no folder, and
 * SourceError.
 */
export async function sinceBase(
  ref: string,
  paths: readonly string[],
  of: Pick<Invocation, "settings" | "env">,
): Promise<SinceBase> {
  const all: SinceBase = { moved: [], problems: [], pipelines: [] };
  for (const path of paths) {
    const { moved: own, problems, pipelines } = await sinceBaseIn(path, ref, of);
    all.moved.push(...own);
    all.problems.push(...problems);
    all.pipelines.push(...pipelines);
  }
  return all;
}

async function sinceBaseIn(
  folder: string,
  ref: string,
  { settings, env }: Pick<Invocation, "settings" | "env">,
): Promise<SinceBase> {
  if (!(await stat(folder)).isDirectory()) {
    throw new CliError(
      `--base: expected folders, found the file ${folder}: what has moved shows in a whole folder alone`,
    );
  }
  const signal = AbortSignal.timeout(longest);
  const tree = await WorkTree.around(folder, env, signal);
  const { base, head } = await comparedFiles(tree, ref, undefined);
  const [before, after] = await loadedSides(settings, tree, [base, head], signal);
  const { notes, changes } = previewOf(before!, after!, anyNumber);
  const shown = (file: string): string => join(folder, relative(tree.under, file));
  const moves = notes.flatMap((note) => (note.code === "FileMoved" ? [note.facts] : []));
  const found = [
    ...moves.map(({ pipeline_id, from }) => moved(pipeline_id, after!, shown, from)),
    ...changes.flatMap((one) => idChanged(one, after!, shown)),
  ];
  const { problems, pipelines } = reviewOf(before!.desired);
  const asShown = <At extends { file: string }>(one: At): At => ({ ...one, file: shown(one.file) });
  return {
    moved: found.flatMap((one) => one ?? []),
    problems: problems.map(asShown),
    pipelines: pipelines.map((one) => ({ ...one, place: (path) => asShown(one.place(path)) })),
  };
}

/** A path from the top of the work tree as whoever asks would type it. */
type Shown = (file: string) => string;

function moved(pipeline_id: string, { desired }: Side, shown: Shown, from: string): Problem | undefined {
  const pipeline = desired.pipelines.find((one) => one.pipeline_id === pipeline_id);
  if (pipeline === undefined) return undefined;
  const path = ["pipeline_id"];
  const place = pipeline.place(path);
  return problem(
    "FILE_MOVED",
    { ...place, file: shown(place.file) },
    {
      path,
      expected: `${pipeline_id} in ${shown(from)}, as before`,
      found: `it in ${shown(place.file)}`,
      suggestion: "it runs on: move its tests too",
    },
  );
}

function idChanged({ change }: PreviewedChange, { desired }: Side, shown: Shown): Problem[] {
  const { pipeline_id, why } = change;
  const pipeline = desired.pipelines.find((one) => one.pipeline_id === pipeline_id);
  if (why.code !== "IdChanged" || pipeline === undefined) return [];
  const path = ["pipeline_id"];
  const place = pipeline.place(path);
  const from = why.facts.from.join(", ");
  return [
    problem(
      "ID_CHANGED",
      { ...place, file: shown(place.file) },
      {
        path,
        expected: `${from}, which the file had before, or x-sluice.moved_from: pipeline_id cannot change by itself`,
        found: `${pipeline_id}, which is refused while ${from} runs on`,
        suggestion: `set x-sluice.moved_from: ${why.facts.from[0]}, which moves it with all that is stored of it; or put ${from} back, and change name instead; or put ${pipeline_id} into a file of its own, which creates it and deletes ${from}`,
      },
    ),
  ];
}
