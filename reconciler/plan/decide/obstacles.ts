import type { ActualState } from "../../actual/state.ts";
import type { RefusedDocument } from "../../desired/desired-state.ts";
import { grouped } from "../../language/grouped.ts";
import { withSuggestion, type Place } from "../../language/problem.ts";
import type { Change, NoOp, WantedState } from "../change.ts";
import type { FileObstacle } from "../reason.ts";
import { nothing } from "./changes.ts";

/** Why the document of a pipeline cannot be used, and its place. */
export interface Obstacle extends Place {
  cause: "InvalidFile" | "DuplicateId";
  what: FileObstacle;
}

/**
 * The first obstacle of each pipeline without a valid document (`described` are those with one): a refused document
 * names it, or it was last in a file that cannot be read.
 */
export function obstaclesById(
  { owned, pipelines, interrupted }: ActualState,
  { refused, skipped }: WantedState,
  described: ReadonlySet<string>,
): Map<string, Obstacle> {
  const found = new Map<string, Obstacle>();
  const add = (ids: readonly string[], obstacle: Obstacle): void => {
    for (const id of ids) if (!described.has(id) && !found.has(id)) found.set(id, obstacle);
  };
  // Between the deletion and the creation of a recreation.
  const isBetween = (id: string): boolean => interrupted?.get(id)?.successor !== undefined;
  const fileOf = (id: string): string => owned[id]?.file ?? "";
  const seen = Object.keys(owned).filter((id) => pipelines.has(id) || isBetween(id));
  const byFile = grouped(seen, fileOf);
  for (const document of refused) {
    const lastSeen = document.freezesFile ? (byFile.get(document.file) ?? []) : [];
    add([...document.pipeline_ids, ...lastSeen], obstacleOf(document));
  }
  for (const { path, reason } of skipped) {
    if (reason === undefined) continue;
    const what = { path, skipped: reason };
    const within = seen.filter((id) => isWithin(fileOf(id), path));
    add(within, { cause: "InvalidFile", what, file: path, line: 1, column: 1 });
  }
  return found;
}

/** A pipeline whose document cannot be used stays as it is; one that was never created is refused. */
export function frozen(
  pipeline_id: string,
  { cause, what: obstacle, ...place }: Obstacle,
  { pipelines }: ActualState,
): Change {
  const status = pipelines.get(pipeline_id)?.status;
  const facts = { obstacle, ...(status !== undefined && { status }) };
  const why = { code: "FileUnusable", facts } as const;
  const left: Omit<NoOp, "kind" | "cause"> = { pipeline_id, why, ...place, ...nothing() };
  return cause === "DuplicateId" || status === undefined
    ? { ...left, kind: "refuse", cause }
    : { ...left, kind: "no-op", cause };
}

function obstacleOf({ file, line, problems }: RefusedDocument): Obstacle {
  const errors = problems.filter(({ severity }) => severity === "error");
  const duplicate = errors.find(({ code }) => code === "DUPLICATE_PIPELINE_ID");
  const first = duplicate ?? errors[0];
  return {
    cause: duplicate === undefined ? "InvalidFile" : "DuplicateId",
    what: first === undefined ? { file } : { problem: withSuggestion(first), more: errors.length - 1 },
    file: first?.file ?? file,
    line: first?.line ?? line,
    column: first?.column ?? 1,
  };
}

/** Whether `file` is `place`, or lies in it. */
function isWithin(file: string, place: string): boolean {
  return file === place || file.startsWith(`${place}/`);
}
