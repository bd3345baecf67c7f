import type { Status } from "../../../engine/index.ts";
import type { InventoryEntry } from "../../../reconciler/actual/inventory.ts";
import type { ActualPipeline, ActualState, DeletionBudget, Underway } from "../../../reconciler/actual/state.ts";
import type { DesiredPipeline, DesiredState } from "../../../reconciler/desired/desired-state.ts";
import { fingerprint, fingerprintOf } from "../../../reconciler/desired/fingerprint.ts";
import { load } from "../../../reconciler/desired/load.ts";
import type { SkippedFile } from "../../../reconciler/git/revision.ts";
import type { Change, WantedState } from "../../../reconciler/plan/change.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { shownChange } from "../../../reconciler/plan/render/index.ts";
import type { ShownChange } from "../../../reconciler/plan/render/index.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";

/** The time of every plan. */
export const noon = Date.parse("2026-01-01T12:00:00Z");

/** What the engine has of a pipeline: `was` is the file that it was made from. */
export interface There extends Partial<
  Pick<
    ActualPipeline,
    "held" | "pending_batches" | "dead_letters" | "lag" | "keys" | "join" | "failure" | "paused" | "intake"
  >
> {
  was: PipelineText;
  /** Of a pipeline that reads a topic, default 0: its group was told everything. */
  uncommitted?: number | "unknown";
  status?: Status;
  /** The entry of the inventory; null for a pipeline of somebody else. Default: `<id>.yaml`. */
  owned?: Partial<InventoryEntry> | null;
}

export interface World {
  /** File to text; a PipelineText goes to `<id>.yaml`. */
  files?: Record<string, string>;
  wanted?: PipelineText[];
  there?: There[];
  skipped?: SkippedFile[];
  busy?: Record<string, Underway>;
  budget?: DeletionBudget;
}

/** The plan for a world, with its sentences. */
export function planFor(world: World): { changes: ShownChange[] } {
  const [actual, wanted] = statesOf(world);
  return { changes: plan(actual, wanted).changes.map(shownChange) };
}

/** What is there in a world, and what is wanted. */
export function statesOf(world: World): [ActualState, WantedState] {
  const { files = {}, wanted = [], there = [], skipped = [], busy = {}, budget } = world;
  const texts = { ...files, ...Object.fromEntries(wanted.map((one) => [`${one.id}.yaml`, pipelineText(one)])) };
  const desired = loaded(texts);
  return [
    { ...actualOf(there, busy), ...(budget && { budget }) },
    { ...desired, skipped },
  ];
}

/** What the plan says of one pipeline, with its sentences. */
export function changeFor(world: World, id = "orders"): ShownChange {
  const changes = planFor(world).changes.filter(({ pipeline_id }) => pipeline_id === id);
  if (changes.length !== 1) throw new Error(`expected one change for ${id}, got ${changes.length}`);
  return changes[0] as ShownChange;
}

export function actualOf(there: readonly There[], busy: Record<string, Underway> = {}): ActualState {
  const owned = there.flatMap(({ was, owned: entry = {} }): [string, InventoryEntry][] =>
    entry === null ? [] : [[was.id, { file: `${was.id}.yaml`, prune: true, suspend: false, ...entry }]],
  );
  return {
    pipelines: new Map(there.map((one) => [one.was.id, actualPipeline(one)])),
    owned: Object.fromEntries(owned),
    busy: new Map(Object.entries(busy)),
    now: noon,
  };
}

function actualPipeline({ was, owned: _owned, uncommitted = 0, ...facts }: There): ActualPipeline {
  const { pipeline_id, config, options } = read(was);
  const reading = was.topic === undefined || uncommitted === "unknown" ? {} : { lag: 0, uncommitted };
  const held = { held: 0, pending_batches: 0, dead_letters: 0 };
  return { pipeline_id, config, options, status: "Running", ...held, ...reading, ...facts };
}

/** What the inventory says of a pipeline that was found to be as this file says. */
export function inSyncWith(was: PipelineText): Pick<InventoryEntry, "applied" | "left"> {
  const desired = read(was);
  return { applied: fingerprintOf(desired), left: fingerprint(desired) };
}

const known = new Map<string, DesiredState>();

/** What files ask for: hundreds of worlds begin with the same ones. */
function loaded(texts: Record<string, string>): DesiredState {
  const key = JSON.stringify(texts);
  const state =
    known.get(key) ?? load(Object.entries(texts).map(([path, text]) => ({ path, bytes: Buffer.from(text) })));
  known.set(key, state);
  return state;
}

/** The pipeline of a file. Throws where the file is not good. */
export function read(was: PipelineText): DesiredPipeline {
  const { pipelines, problems } = loaded({ "was.yaml": pipelineText(was) });
  const [made] = pipelines;
  if (made === undefined) throw new Error(problems.map(({ message }) => message).join("\n"));
  return made;
}

/** An edit that is past its stop. */
export const editing = { wish: "", isStopping: false };

type KeyOf<Of> = Of extends unknown ? keyof Of : never;

/** What a test expects of a change. */
export type Expected = Partial<Record<Exclude<KeyOf<ShownChange>, "kind" | "cause">, unknown>> &
  Partial<Pick<Change, "kind" | "cause">>;
