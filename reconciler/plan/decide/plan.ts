import type { ActualPipeline, ActualState } from "../../actual/state.ts";
import type { Change, Plan, WantedState } from "../change.ts";
import { withInterrupted, withSecrets } from "./amend.ts";
import { refusal } from "./changes.ts";
import { compare, inOrder } from "./dependencies.ts";
import { desiredChange } from "./desired-change.ts";
import { withLosses } from "./losses.ts";
import { unmovedChange, withFormerId, withMoves } from "./moved.ts";
import { frozen, obstaclesById } from "./obstacles.ts";
import { exchanges, idChanged, removals } from "./removal.ts";

/**
 * The plan that makes the engine match Git: exactly one change for each pipeline that has a file, exists, or is named
 * by a refused document. Pure: the same states give the same plan, whatever the order they come in.
 */
export function plan(now: ActualState, wanted: WantedState): Plan {
  const actual = withMoves(now, wanted);
  const exchanged = exchanges(actual, wanted);
  const described = new Set(wanted.pipelines.map(({ pipeline_id }) => pipeline_id));
  const changes = wanted.pipelines.map((desired) => {
    const obstacle = actual.unmoved?.get(desired.pipeline_id);
    if (obstacle !== undefined) return unmovedChange(desired, obstacle);
    const exchange = exchanged.get(desired.file);
    const isNew = exchange?.to.includes(desired.pipeline_id) ?? false;
    return exchange !== undefined && isNew
      ? refusal(desired, "IdChanged", idChanged(desired.file, exchange), [], ["pipeline_id"])
      : desiredChange(desired, actual, described);
  });
  const obstacles = obstaclesById(actual, wanted, described);
  const left = undescribed(actual, described, obstacles);
  const all = [
    ...inOrder(wanted.pipelines, changes, actual, new Set(obstacles.keys())),
    ...byId([...obstacles].map(([id, obstacle]) => frozen(id, obstacle, actual))),
    ...byId(removals(left, actual, wanted)),
  ];
  const named = all.map((change) => withFormerId(change, actual));
  return { changes: named.map((change) => withLosses(withInterrupted(withSecrets(change, actual), actual), actual)) };
}

/**
 * Pipelines that are owned, and that no file has any more: neither a valid one, nor one that cannot be used. Those whose
 * deletion has begun are left out.
 */
export function vanished(actual: ActualState, wanted: WantedState): string[] {
  const described = new Set(wanted.pipelines.map(({ pipeline_id }) => pipeline_id));
  const left = undescribed(actual, described, obstaclesById(actual, wanted, described));
  const owned = left.filter(({ pipeline_id: id }) => Object.hasOwn(actual.owned, id) && !actual.owned[id]?.ending);
  return owned.map(({ pipeline_id }) => pipeline_id);
}

function undescribed(
  { pipelines }: ActualState,
  described: ReadonlySet<string>,
  obstacles: ReadonlyMap<string, unknown>,
): ActualPipeline[] {
  return [...pipelines.values()].filter(({ pipeline_id: id }) => !described.has(id) && !obstacles.has(id));
}

function byId(changes: Change[]): Change[] {
  return changes.toSorted((a, b) => compare(a.pipeline_id, b.pipeline_id));
}
