import type { ActualState } from "../actual/state.ts";
import type { RefusedDocument } from "../desired/desired-state.ts";
import type { Place } from "../language/problem.ts";
import type { Cause, WantedState } from "./change.ts";

/** What keeps the document of a pipeline from being used. */
export interface Obstacle extends Place {
  cause: Extract<Cause, "InvalidFile" | "DuplicateId">;
  message: string;
}

/**
 * The first obstacle of each pipeline that is not `described` by a good document: one that a refused document names, or
 * that was seen last in a file which cannot be read at all.
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
  // Deleted, to be made anew.
  const isBetween = (id: string): boolean => interrupted?.get(id)?.successor !== undefined;
  const seenIn = (place: string): string[] =>
    Object.keys(owned).filter((id) => (pipelines.has(id) || isBetween(id)) && isWithin(owned[id]?.file ?? "", place));
  for (const document of refused) {
    const lastSeen = document.freezesFile ? seenIn(document.file) : [];
    add([...document.pipeline_ids, ...lastSeen], obstacleOf(document));
  }
  for (const { path, reason } of skipped) {
    add(seenIn(path), { cause: "InvalidFile", message: `${path} is ${reason}`, file: path, line: 1, column: 1 });
  }
  return found;
}

function obstacleOf({ file, line, problems }: RefusedDocument): Obstacle {
  const errors = problems.filter(({ severity }) => severity === "error");
  const duplicate = errors.find(({ code }) => code === "DUPLICATE_PIPELINE_ID");
  const first = duplicate ?? errors[0];
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return {
    cause: duplicate === undefined ? "InvalidFile" : "DuplicateId",
    message: first === undefined ? `${file} cannot be used` : `${first.message}${more}`,
    file: first?.file ?? file,
    line: first?.line ?? line,
    column: first?.column ?? 1,
  };
}

/** Whether `file` is `place`, or lies in it. */
function isWithin(file: string, place: string): boolean {
  return file === place || file.startsWith(`${place}/`);
}
