import { problem, type Problem } from "../language/problem.ts";
import { byPlace } from "../validate/check.ts";
import type { DesiredState, RefusedDocument } from "./desired-state.ts";
import { idsIn } from "./read-file.ts";

/**
 * The desired state with a refused document for each hidden file that names one of `owned` pipelines which no other file
 * has: a file that was moved into a hidden folder does not delete its pipeline.
 */
export function withHidden(desired: DesiredState, owned: Iterable<string>): DesiredState {
  const { hidden = [], pipelines, refused, problems } = desired;
  if (hidden.length === 0) return desired;
  const missing = new Set(owned);
  for (const { pipeline_id } of pipelines) missing.delete(pipeline_id);
  for (const { pipeline_ids } of refused) for (const id of pipeline_ids) missing.delete(id);
  if (missing.size === 0) return desired;
  const moved = hidden.flatMap(({ path, bytes }): RefusedDocument[] => {
    const ids = idsIn(Buffer.from(bytes).toString("utf8")).filter((id) => missing.has(id));
    return ids.length === 0 ? [] : [hiddenDocument(path, ids)];
  });
  return {
    ...desired,
    refused: [...refused, ...moved],
    problems: [...problems, ...moved.flatMap((document) => document.problems)].toSorted(byPlace),
  };
}

function hiddenDocument(file: string, pipeline_ids: string[]): RefusedDocument {
  const found: Problem = problem(
    "HIDDEN_FILE",
    { file, line: 1, column: 1 },
    {
      subject: "file",
      expected: "pipelines in files that are not hidden",
      found: `${pipeline_ids.join(", ")} in a hidden file or folder, which is not read`,
      suggestion: "move it to a name without a dot in front; or remove it, which deletes the pipeline",
    },
  );
  return { file, line: 1, freezesFile: false, pipeline_ids, problems: [found] };
}
