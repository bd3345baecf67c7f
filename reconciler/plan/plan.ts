import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change, Plan, WantedState } from "./change.ts";
import { compare, inOrder } from "./dependencies.ts";
import { desiredChange } from "./desired-change.ts";
import { idle } from "./idle.ts";
import { obstaclesById } from "./obstacles.ts";
import type { Obstacle } from "./obstacles.ts";
import { putBack } from "./put-back.ts";
import { exchanges, idChanged, removals } from "./removal.ts";
import { withSecrets } from "./secrets.ts";

/**
 * What has to happen so that the engine matches Git: exactly one change for each pipeline that is wanted, there, or
 * named by a document that was refused. Pure: the same states give the same plan, whatever the order they come in.
 */
export function plan(actual: ActualState, wanted: WantedState): Plan {
  const exchanged = exchanges(actual, wanted);
  const described = new Set(wanted.pipelines.map(({ pipeline_id }) => pipeline_id));
  const changes = wanted.pipelines.map((desired) => {
    const exchange = exchanged.get(desired.file);
    const isNew = exchange?.to.includes(desired.pipeline_id) ?? false;
    return exchange !== undefined && isNew
      ? idRefused(desired, idChanged(desired.file, exchange))
      : desiredChange(desired, actual, described);
  });
  const obstacles = obstaclesById(actual, wanted, described);
  const left = [...actual.pipelines.values()].filter(
    ({ pipeline_id }) => !described.has(pipeline_id) && !obstacles.has(pipeline_id),
  );
  const all = [
    ...inOrder(wanted.pipelines, changes, actual, new Set(obstacles.keys())),
    ...byId([...obstacles].map(([id, obstacle]) => frozen(id, obstacle, actual))),
    ...byId(removals(left, actual, wanted)),
  ];
  return { changes: all.map((change) => putBack(withSecrets(change, actual), actual)) };
}

/** A pipeline whose document cannot be used stays as it is; one that was never made is refused. */
function frozen(pipeline_id: string, { cause, message, ...place }: Obstacle, { pipelines }: ActualState): Change {
  const status = pipelines.get(pipeline_id)?.status;
  const goesOn = status === undefined ? "it is not created" : `it stays ${status}, as its last good file said`;
  const kind = cause === "DuplicateId" || status === undefined ? "refuse" : "no-op";
  const reason = `${message}; ${goesOn}`;
  return { pipeline_id, kind, cause, effect: "none", reason, ...place, fields: [], calls: [], after: [] };
}

function idRefused(desired: DesiredPipeline, reason: string): Change {
  return { ...idle(desired, "IdChanged", reason), kind: "refuse", ...desired.place(["pipeline_id"]) };
}

function byId(changes: Change[]): Change[] {
  return changes.toSorted((a, b) => compare(a.pipeline_id, b.pipeline_id));
}
