import type { JoinConfig, PipelineConfig } from "../../schemas/pipeline.ts";
import { durationMs } from "../../schemas/duration.ts";
import { quantityBytes } from "../../schemas/quantity.ts";
import { type BatchRecord, type Journal, nextPosition } from "../core/journal.ts";
import { joinFeed } from "../core/positions.ts";
import { batchNumbers, type PipelineOptions } from "../delivery/pipeline.ts";
import { RetryPause } from "../flow/retry-pause.ts";
import { JoinedSource } from "../join/joined-source.ts";
import { OpenJoin } from "../join/open-join.ts";
import { overriding } from "../telemetry/overriding.ts";
import { RememberedKeys } from "../transforms/dedup/remembered-keys.ts";
import { compileSides, type CompileOptions } from "./compile.ts";
import type { ThreadMachine } from "./host.ts";
import { JoinedPipelines } from "./joined-pipelines.ts";
import type { PipelineSpec } from "./protocol.ts";

/** A batch of the sides has at most this many events. A larger one would only take more memory. */
const sidesBatch = 20_000;
/** How long a batch of the sides waits for more events, at most, in milliseconds: it comes on top of `max_delay_time`. */
const sidesDelay = 50;

/**
 * The two pipelines of a pipeline with a join. `options` are those that it would have without one: its source feeds the
 * sides, and `compiled` takes the rows to the table.
 */
export function buildJoined(
  spec: PipelineSpec & Required<Pick<PipelineSpec, "join">>,
  options: PipelineOptions,
  compiling: (revision: number) => CompileOptions,
  { disk, reportEvery }: Pick<ThreadMachine, "disk" | "reportEvery">,
): JoinedPipelines {
  const { pipeline_id, config, revision, progress } = spec;
  const { journal, telemetry } = options;
  const pending = journal.pending(pipeline_id);
  const settled = progress.positions[joinFeed] ?? 0;
  const join = new OpenJoin({
    pipeline_id,
    config: joinOf(config),
    disk,
    folder: spec.join.folder,
    settled,
    pending: pending.filter(isOfSides).map(({ token }) => token),
    now: () => options.clock.now(),
    limits: limitsOf(config),
    telemetry,
    reportEvery,
  });
  const source = new JoinedSource({
    open: join.open,
    next: nextPosition(joinFeed, progress, pending) ?? 1,
    settled,
    pause: new RetryPause(pipeline_id, telemetry),
    onSettled: join.settled,
  });
  join.onRows = () => source.arrived();
  const drawNumber = batchNumbers(journal, pipeline_id);
  const sidesOf = (of: number): ReturnType<typeof compileSides> =>
    compileSides(compiling(of), { open: join.open, onStep: join.stepped });
  const delay = Math.max(1, Math.min(sidesDelay, Math.round(durationMs(config.sink.max_delay_time) / 4)));
  return new JoinedPipelines({
    join,
    sides: {
      ...options,
      into: "join",
      drawNumber,
      source: join.limited(options.source),
      journal: {
        ...journalOf(journal, isOfSides),
        commit: async (record, released) => {
          await journal.commit({ ...record, joined: join.newestRow }, released);
          join.committed(record);
        },
        giveUp: async (record) => {
          await journal.giveUp(record);
          join.committed(record);
        },
      },
      limits: { max_batch_size: sidesBatch, max_delay_time: `${delay}ms` },
      // A step follows from the one before.
      replicas: 1,
      // What reaches the table is counted by the pipeline of the rows.
      telemetry: overriding(telemetry, {
        prepared: nothing,
        inserted: nothing,
        atLeastOnce: nothing,
        profileRemark: nothing,
      }),
      compiled: sidesOf(revision),
      compiledOf: sidesOf,
      beforeBatch: join.beforeBatch,
    },
    rows: {
      ...options,
      drawNumber,
      source,
      // Dedup has decided before the join: the rows need none of its keys.
      journal: { ...journalOf(journal, (record) => !isOfSides(record)), ...withoutKeys },
      telemetry: overriding(telemetry, { eventsRead: nothing, keysHeld: nothing }),
      maxAge: Infinity,
      keys: new RememberedKeys({ storage: Infinity, memory: Infinity }),
    },
  });
}

function isOfSides({ into }: BatchRecord): boolean {
  return into === "join";
}

function nothing(): void {}

const withoutKeys: Pick<Journal, "finalKeys" | "finalKeyCount"> = {
  finalKeys: () => Promise.resolve([]),
  finalKeyCount: () => 0,
};

/** The journal of one of the two pipelines: it has the pending batches that are its own. */
function journalOf(journal: Journal, isOwn: (record: BatchRecord) => boolean): Journal {
  return { ...journal, pending: (pipeline_id) => journal.pending(pipeline_id).filter(isOwn) };
}

function joinOf({ pipeline_id, join }: PipelineConfig): JoinConfig {
  if (join === undefined) throw new Error(`pipeline ${pipeline_id}: expected a join`);
  return join;
}

/** What the transforms of both sides may take, together. */
function limitsOf({ sources, resources }: PipelineConfig): { memory: number; storage: number } {
  const entries = sources.map(({ source_id }) => resources.transform.find((of) => of.source_id === source_id));
  return {
    memory: sumOf(entries.map((entry) => entry?.limits.memory)),
    storage: sumOf(entries.map((entry) => entry?.storage?.size)),
  };
}

/** The sum of the limits that are given; Infinity where none is. */
function sumOf(quantities: readonly (string | undefined)[]): number {
  const given = quantities.filter((quantity) => quantity !== undefined);
  return given.length === 0 ? Infinity : given.reduce((sum, quantity) => sum + quantityBytes(quantity), 0);
}
