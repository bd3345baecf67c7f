import { fault } from "../language/fault.ts";
import { byPlace } from "../validate/check.ts";
import type { DesiredPipeline, DesiredState } from "./desired-state.ts";

/** A pipeline on which Sluice itself fails, and what was thrown. */
interface Faulty {
  pipeline: DesiredPipeline;
  error: unknown;
}

/**
 * What `make` makes of a desired state. Where it throws for single pipelines, it makes the same without them: they are refused
 * with a problem of their file, so that they stay as they are and hold up no other. Throws where it fails on none of them alone.
 */
export function withoutFaulty<Made>(
  desired: DesiredState,
  make: (desired: DesiredState) => Made,
): { made: Made; desired: DesiredState } {
  try {
    return { made: make(desired), desired };
  } catch (error) {
    const faulty = [...faultyAmong(desired.pipelines, (pipelines) => make({ ...desired, pipelines }))];
    if (faulty.length === 0) throw error;
    const left = refusing(desired, faulty);
    return { made: make(left), desired: left };
  }
}

/** By halves: there may be thousands, and one of them is at fault. */
function* faultyAmong(
  pipelines: readonly DesiredPipeline[],
  make: (pipelines: DesiredPipeline[]) => unknown,
): Generator<Faulty> {
  try {
    make([...pipelines]);
  } catch (error) {
    const [pipeline] = pipelines;
    if (pipelines.length > 1) {
      const half = Math.floor(pipelines.length / 2);
      yield* faultyAmong(pipelines.slice(0, half), make);
      yield* faultyAmong(pipelines.slice(half), make);
    } else if (pipeline !== undefined) yield { pipeline, error };
  }
}

function refusing(desired: DesiredState, faulty: readonly Faulty[]): DesiredState {
  const gone = new Set(faulty.map(({ pipeline }) => pipeline));
  const refused = faulty.map(({ pipeline: { pipeline_id, file, line, directives }, error }) => {
    const { moved_from } = directives;
    const former = moved_from.length > 0 && { moved_from };
    const problems = [fault(file, error, line)];
    return { file, line, freezesFile: false, pipeline_ids: [pipeline_id], ...former, problems };
  });
  return {
    ...desired,
    pipelines: desired.pipelines.filter((one) => !gone.has(one)),
    refused: [...desired.refused, ...refused],
    problems: [...desired.problems, ...refused.flatMap(({ problems }) => problems)].toSorted(byPlace),
  };
}
