import type { SinkConfig } from "../../../schemas/index.ts";
import type { InventoryEntry } from "../../actual/inventory.ts";
import type { ActualPipeline, ActualState } from "../../actual/state.ts";
import type { DesiredPipeline, WishedState } from "../../desired/desired-state.ts";
import { fingerprintOf } from "../../desired/fingerprint.ts";
import type { Call } from "../calls.ts";
import type { Change, Creation, FieldChange } from "../change.ts";
import type { Beginning, Caution, SharedTopic } from "../reason.ts";
import { about } from "./changes.ts";
import { compare } from "./dependencies.ts";
import { corrected, driftOf, leftAsItIs } from "./drift.ts";
import { beginning, sharedTopics, topicsOf } from "./kafka.ts";
import { lostInEngine } from "./losses.ts";
import { nobodyMoved } from "./moved.ts";

/**
 * A pipeline that does not exist yet. `described` are all pipelines with a valid file: others may be deleted by the
 * same plan.
 */
export function creation(desired: DesiredPipeline, actual: ActualState, described: ReadonlySet<string>): Creation {
  const made = created(desired, actual, described, (facts) => ({ code: "New", facts }));
  const cautions = [...(made.cautions ?? []), ...nobodyMoved(desired)];
  return cautions.length === 0 ? made : { ...made, cautions };
}

/** A pipeline that was deleted in the engine: a drift, unless its file has changed since. */
export function lost(
  desired: DesiredPipeline,
  actual: ActualState,
  described: ReadonlySet<string>,
  entry: InventoryEntry,
): Change {
  const gone = lostInEngine(desired);
  const again = created(desired, actual, described, (facts) => ({
    code: "CreatedAgain",
    facts: { ...facts, lost: gone },
  }));
  if (entry.applied !== fingerprintOf(desired)) return again;
  const field: FieldChange = { path: "x-sluice.state", effect: "none", events: "forget", to: desired.directives.state };
  if (desired.directives.drift !== "correct")
    return leftAsItIs(desired, [field], { code: "DeletedInEngine", facts: { lost: gone } });
  return corrected(desired, { ...again, fields: [field], events: "forget" }, driftOf([field.path], entry, actual));
}

function created(
  desired: DesiredPipeline,
  actual: ActualState,
  described: ReadonlySet<string>,
  why: (facts: Beginning) => Creation["why"],
): Creation {
  const { state } = desired.directives;
  const again = readAgain(desired, actual, described);
  const shared = again.filter(({ isSameTable }) => !isSameTable).map(({ topic }) => topic);
  const twice = again.filter(({ isSameTable }) => isSameTable).map(({ topic }) => topic);
  const cautions = [...twice.map(rowsTwice), ...replay(desired)];
  return {
    ...about(desired),
    kind: "create",
    cause: "New",
    why: why({ state, topics: beginning(desired), shared }),
    calls: ["create", ...fromCreated(state)],
    ...(cautions.length > 0 && { cautions }),
  };
}

/** Whether both topics of a join begin before their end; a group with offsets goes on from these. */
function replay({ config, options }: DesiredPipeline): Caution[] {
  const { join } = config;
  if (join === undefined) return [];
  const [left, right] = [join.left_source, join.right_source].map(({ source_id }) => {
    const source = topicsOf(config).find((one) => one.source_id === source_id);
    const start = options.start ?? source?.consumer_group_initial_offset;
    return start === "latest" ? undefined : source?.topic;
  });
  // Events of one topic come in their order, whichever side they are.
  if (left === undefined || right === undefined || left === right) return [];
  return [{ code: "JoinReplays", facts: { left, right } }];
}

/** The calls from a creation, which starts a pipeline, to the wished state. */
export function fromCreated(state: WishedState): Call[] {
  return state === "Running" ? [] : [state === "Stopped" ? "stop" : "terminate"];
}

/**
 * Topics of a new pipeline that others read, or have read: each pipeline has a consumer group of its own, so a new
 * pipeline_id reads a topic again.
 */
function readAgain(
  fresh: DesiredPipeline,
  actual: ActualState,
  stays: ReadonlySet<string>,
): { topic: SharedTopic; isSameTable: boolean }[] {
  const others = [...actual.pipelines.values()].toSorted((a, b) => compare(a.pipeline_id, b.pipeline_id));
  return others.flatMap((other) => {
    const isSameTable = sharesTable(fresh, other);
    const shared = sharedTopics(fresh, other, stays.has(other.pipeline_id));
    return shared.map((topic) => ({ topic, isSameTable }));
  });
}

/** Rows of a pipeline that come again, into the same table, once it is recreated. */
export function recreatedRows(desired: DesiredPipeline, present: ActualPipeline): Caution[] {
  if (!sharesTable(desired, present)) return [];
  return sharedTopics(desired, present, false).map(rowsTwice);
}

function rowsTwice(facts: SharedTopic): Caution<"RowsTwice"> {
  return { code: "RowsTwice", facts };
}

function sharesTable({ config }: DesiredPipeline, other: ActualPipeline): boolean {
  return tableOf(config.sink) === tableOf(other.config.sink);
}

/** Two names of one server count as two servers. */
function tableOf({ table, connection_params }: SinkConfig): string {
  const host = connection_params.host.trim().toLowerCase();
  const port = host === "embedded" ? "" : connection_params.port;
  return JSON.stringify([host, port, connection_params.database, table.trim()]);
}
