import { problem, type Problem } from "../language/problem.ts";
import { byPlace } from "../validate/check.ts";
import { isTestFile } from "../validate/orphaned-tests.ts";
import type { DesiredState, RefusedDocument } from "./desired-state.ts";

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
  const moved = hidden.flatMap(({ path, ids }): RefusedDocument[] => {
    const found = ids.filter((id) => missing.has(id));
    return found.length === 0 ? [] : [hiddenDocument(path, found)];
  });
  return {
    ...desired,
    refused: [...refused, ...moved],
    problems: [...problems, ...moved.flatMap((document) => document.problems)].toSorted(byPlace),
  };
}

function hiddenDocument(file: string, pipeline_ids: string[]): RefusedDocument {
  const { expected, place, name } = isTestFile(file) ? asTest : asHidden;
  const found: Problem = problem(
    "HIDDEN_FILE",
    { file, line: 1, column: 1 },
    {
      subject: "file",
      expected,
      found: `${pipeline_ids.join(", ")} in ${place}, which is not read`,
      suggestion: `move it to a name without ${name}; or remove it, which deletes the pipeline`,
    },
  );
  return { file, line: 1, freezesFile: false, pipeline_ids, problems: [found] };
}

const asHidden = {
  expected: "pipelines in files that are not hidden",
  place: "a hidden file or folder",
  name: "a dot in front",
};

const asTest = {
  expected: "pipelines in files that are not named as tests",
  place: "a file of tests",
  name: ".test before the ending",
};
