import { consumerGroup, hasConsumerGroup, isPushed } from "../../../engine/language.ts";
import type { InventoryEntry } from "../../actual/inventory.ts";
import type { ActualPipeline, ActualState, MoveObstacle } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import type { Call, Route } from "../calls.ts";
import type { Change, Refusal, WantedState } from "../change.ts";
import type { Caution, Reason } from "../reason.ts";
import { refusal } from "./changes.ts";
import { compare } from "./dependencies.ts";
import type { Difference } from "./differences.ts";
import { obstaclesById } from "./obstacles.ts";

/** Former ids that are remembered of one pipeline. */
const mostFormer = 16;

/**
 * The state in which pipelines have the ids that their files give them: whatever is decided about one is decided about the
 * pipeline that is to be moved, with its holds, its change under way and its entry in the inventory. `moved_from` of such a
 * pipeline is the id that it has in the engine until then. Applied to its own result it changes nothing.
 *
 * A file moves a pipeline with `x-sluice.moved_from`, or by giving an id back that the pipeline had before: so a revert of
 * the commit that moved it moves it back. An id that does not exist asks for nothing.
 */
export function withMoves(actual: ActualState, wanted: Pick<WantedState, "pipelines" | "refused">): ActualState {
  const described = new Set(wanted.pipelines.map(({ pipeline_id }) => pipeline_id));
  const asked = wanted.pipelines.flatMap((desired) => askedMove(desired, actual, described));
  const taken = new Set(asked.flatMap(({ from }) => from));
  const back = wanted.pipelines.flatMap((desired) => moveBack(desired, actual, described, taken));
  if (asked.length + back.length === 0) return actual;
  const obstacles = obstaclesById(actual, { ...wanted, skipped: [] }, described);
  const moves = new Map<string, string>();
  const unmoved = new Map<string, MoveObstacle>();
  for (const { to, from } of [...asked, ...back]) {
    const [only = ""] = from;
    const holder = obstacles.get(only);
    const isContested = back.filter((one) => one.from.includes(only)).length > 1;
    if (actual.pipelines.has(to)) unmoved.set(to, { is: "taken", from });
    else if (from.length > 1) unmoved.set(to, { is: "several", from });
    else if (isContested) unmoved.set(to, { is: "contested", from });
    else if (holder !== undefined) unmoved.set(to, { is: "described", from, file: holder.file });
    else moves.set(only, to);
  }
  return { ...relabelled(actual, moves), ...(unmoved.size > 0 && { unmoved }) };
}

/** A file, and the pipelines that may become it: none of them has a file. */
interface Move {
  to: string;
  from: string[];
}

/** The move that `x-sluice.moved_from` asks for. Where the file's pipeline is there, another one is none of its concern. */
function askedMove(
  { pipeline_id: to, directives }: DesiredPipeline,
  { pipelines, owned }: ActualState,
  described: ReadonlySet<string>,
): Move[] {
  const from = directives.moved_from.filter((id) => pipelines.has(id) && !described.has(id));
  const meant = pipelines.has(to) ? from.filter((id) => Object.hasOwn(owned, id)) : from;
  return meant.length === 0 ? [] : [{ to, from: meant }];
}

/** The move of a pipeline to an id that it had before. */
function moveBack(
  { pipeline_id: to }: DesiredPipeline,
  { pipelines, owned }: ActualState,
  described: ReadonlySet<string>,
  taken: ReadonlySet<string>,
): Move[] {
  if (pipelines.has(to)) return [];
  const had = ([id, { moved_from = [] }]: [string, InventoryEntry]): boolean =>
    pipelines.has(id) && !described.has(id) && !taken.has(id) && moved_from.includes(to);
  const from = Object.entries(owned)
    .filter(had)
    .map(([id]) => id);
  return from.length === 0 ? [] : [{ to, from: from.toSorted(compare) }];
}

function relabelled(actual: ActualState, moves: ReadonlyMap<string, string>): ActualState {
  const renamed = <Value>(map: ReadonlyMap<string, Value>): Map<string, Value> =>
    new Map([...map].map(([id, value]) => [moves.get(id) ?? id, value]));
  const owned = Object.assign(Object.create(null) as ActualState["owned"], actual.owned) as Record<
    string,
    InventoryEntry
  >;
  const pipelines = renamed(actual.pipelines);
  for (const [from, to] of moves) {
    pipelines.set(to, { ...pipelines.get(to)!, pipeline_id: to, moved_from: from });
    const entry = owned[from];
    delete owned[from];
    // What differs comes from the move, and is no drift.
    if (entry === undefined) delete owned[to];
    else owned[to] = { ...entry, changing: true };
  }
  const { busy, interrupted } = actual;
  return {
    ...actual,
    pipelines,
    owned,
    busy: renamed(busy),
    ...(interrupted !== undefined && { interrupted: renamed(interrupted) }),
  };
}

/** The former ids of pipelines that were moved, where no pipeline and no file has them, and the ids that those have now. */
export function movesMade(
  { pipelines, owned }: Pick<ActualState, "pipelines" | "owned">,
  wanted: Pick<WantedState, "pipelines">,
): Map<string, string> {
  const described = new Set(wanted.pipelines.map(({ pipeline_id }) => pipeline_id));
  const moved = Object.entries(owned).filter(([id]) => pipelines.has(id));
  return new Map(
    moved.flatMap(([id, { moved_from = [] }]) => {
      const free = moved_from.filter((former) => !pipelines.has(former) && !described.has(former));
      return free.map((former): [string, string] => [former, id]);
    }),
  );
}

/** The ids that a pipeline had before its present one, the newest first, as they are remembered. */
export function formerIds(pipeline_id: string, ids: readonly string[]): string[] {
  return [...new Set(ids)].filter((id) => id !== pipeline_id).slice(0, mostFormer);
}

/**
 * The differences of a pipeline from its file: where it is moved, its id may change. What senders push to the former one is
 * refused from then on.
 */
export function whereMoved(found: Difference[], { moved_from, config }: ActualPipeline): Difference[] {
  if (moved_from === undefined) return found;
  const events = isPushed(config) ? "forget" : "same";
  return found.map((one) => (one.path === "pipeline_id" ? { ...one, effect: "restart", events } : one));
}

/** The calls of an edit: where the pipeline is moved, its edit gives it its id. */
export function callsOf(way: Route, { moved_from }: ActualPipeline): Route {
  if (moved_from === undefined || way === "wait") return way;
  return way.map((call): Call => (call === "update" ? "move" : call));
}

/** A change that says from which id the pipeline is moved. */
export function withFormerId(change: Change, { pipelines }: ActualState): Change {
  const moved_from = pipelines.get(change.pipeline_id)?.moved_from;
  return moved_from === undefined ? change : { ...change, moved_from };
}

/** Why a pipeline is moved, and what else changes: `of` is the rest. */
export function moveReason(desired: DesiredPipeline, present: ActualPipeline, of: Reason): Reason {
  const { pipeline_id, config, options, directives } = desired;
  const from = present.moved_from!;
  const [before, after] = [consumerGroup(from, present.options), consumerGroup(pipeline_id, options)];
  const hasGroup = hasConsumerGroup(config) && hasConsumerGroup(present.config) && before !== after;
  return {
    code: "Moved",
    facts: {
      from,
      isAsked: directives.moved_from.includes(from),
      ...(hasGroup && { group: { from: before, to: after } }),
      of,
    },
  };
}

/** A file that would move a pipeline, where that cannot be. */
export function unmovedChange(desired: DesiredPipeline, obstacle: MoveObstacle, found: Difference[] = []): Change {
  const isAsked = desired.directives.moved_from.length > 0;
  const at = isAsked ? ["x-sluice", "moved_from"] : ["pipeline_id"];
  return refusal(desired, "NotMoved", notMoved(desired.pipeline_id, obstacle), found, at);
}

function notMoved(to: string, obstacle: MoveObstacle): Reason {
  return { code: "NotMoved", facts: { to, ...obstacle } };
}

/** Why a pipeline without a file is not deleted: a file would move it, and that cannot be. */
export function keptUnmoved(
  pipeline_id: string,
  { unmoved = new Map() }: ActualState,
): Pick<Refusal, "kind" | "cause" | "why"> | undefined {
  for (const [to, obstacle] of unmoved) {
    if (obstacle.from.includes(pipeline_id)) return { kind: "refuse", cause: "NotMoved", why: notMoved(to, obstacle) };
  }
  return undefined;
}

/** What a new pipeline says whose former ids do not exist. */
export function nobodyMoved({ directives }: DesiredPipeline): Caution[] {
  const { moved_from } = directives;
  return moved_from.length === 0 ? [] : [{ code: "NothingToMove", facts: { from: [...moved_from] } }];
}
