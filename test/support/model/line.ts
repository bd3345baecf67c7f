import type { Event } from "../../../engine/event/event.ts";
import type { Rejection } from "../../../engine/core/dead-letter.ts";
import type { KeyMemory } from "../../../engine/core/key-memory.ts";
import type { Answer, Block, Probe, RowWriter, Sink } from "../../../engine/core/sink.ts";
import type { Transform } from "../../../engine/core/transform.ts";
import type { CompiledPipeline } from "../../../engine/batch/compiled-pipeline.ts";
import { nextTurn } from "../../../engine/flow/next-turn.ts";
import { DedupTransform } from "../../../engine/transforms/dedup/dedup.ts";
import { Fingerprints } from "../../../engine/keys/fingerprint.ts";
import { modelEvent } from "./events.ts";
import type { ModelTarget } from "./target.ts";

/** How long keys are remembered, in milliseconds, by the origin of events; `undefined` is for any other. */
export type Windows = ReadonlyMap<string | undefined, number>;

/** The real dedup between a model filter, a model transform and a model sink. Each origin has a dedup of its own. */
export function modelLine(
  revision: number,
  hasDedup: boolean,
  keys: KeyMemory,
  target: ModelTarget,
  windows: Windows,
): CompiledPipeline {
  const chains = Array.from(windows, ([origin, window]) => {
    const salt = Buffer.alloc(16, origin ?? "salt");
    const dedup = hasDedup ? [new DedupTransform("key", window, keys, new Fingerprints(salt))] : [];
    return [origin, { receiver: "ingestor", transforms: [filter(revision), ...dedup], stateless }] as const;
  });
  return { revision, chains: new Map(chains), sink: new ModelSink(target) };
}

function filter(revision: number): Transform {
  return {
    name: "filter",
    apply: (events) => {
      const passed = events.filter((event) => modelEvent(event).fate !== "even" || revision % 2 === 1);
      return { passed, dropped: events.length - passed.length, rejected: [] };
    },
  };
}

const stateless: Transform = {
  name: "stateless",
  apply: (events) => {
    const [passed, rejected] = divide(events, "transform");
    return { passed: passed.map((event) => event.with(event.value)), dropped: 0, rejected };
  },
};

function divide(events: readonly Event[], fate: string): [Event[], Rejection[]] {
  const passed = events.filter((event) => modelEvent(event).fate !== fate);
  const dead = events.filter((event) => modelEvent(event).fate === fate);
  return [passed, dead.map((event) => rejection(event, fate))];
}

function rejection({ position, text }: Event, fate: string): Rejection {
  const component = fate === "transform" ? "dedup" : "sink";
  return { component, reason: "schema_mismatch", error: fate, original_message: text, position };
}

const unreachable = {
  kind: "refused",
  failure: { class: "transient", name: "network_io", text: "no answer" },
} as const;

class ModelSink implements Sink {
  readonly atLeastOnce = undefined;
  readonly #target: ModelTarget;

  constructor(target: ModelTarget) {
    this.#target = target;
  }

  open(): Promise<Answer> {
    return Promise.resolve({ kind: "ok" });
  }

  check(): Promise<Answer> {
    return Promise.resolve({ kind: "ok" });
  }

  read(): ReturnType<Sink["read"]> {
    if (this.#target.isUnreadable) return Promise.resolve(unreachable);
    const { time, started, window, isReplicated, description } = this.#target;
    const blocks = isReplicated ? 0 : this.#target.blocks;
    const server = isReplicated ? { isReplicated } : { uptime: Math.floor((time - started) / 1000) };
    // Where it is as it was when this pipeline wrote to it, a batch of bad rows alone is no wrong mapping.
    const reading = {
      table: "one",
      time,
      blocks,
      ...server,
      window: { entries: window, seconds: Infinity },
      altered: 0,
      description,
      taken: 0,
    };
    return Promise.resolve({ kind: "read", reading });
  }

  isReachable(): Promise<boolean> {
    return Promise.resolve(true);
  }

  rowWalks(): undefined {
    return undefined;
  }

  begin(): RowWriter {
    return {
      add: (events) => divide(events, "encoder")[1],
      size: 0,
      isCurrent: true,
      body: () => Buffer.from("rows"),
    };
  }

  release(): void {
    // Its rows are no bytes.
  }

  async insert(block: Block, token: string): Promise<Answer> {
    await nextTurn();
    return this.#target.insert([...block.events].map(modelEvent), token);
  }

  probe(block: Block): Promise<Probe> {
    const rows = [...block.events].flatMap((event, row) =>
      this.#target.refuses(modelEvent(event))
        ? [{ row, failure: { class: "row", name: "VIOLATED_CONSTRAINT", code: 469, text: "bad" } as const }]
        : [],
    );
    return Promise.resolve({ kind: "found", rows });
  }

  takesAny(): Promise<"yes" | "no"> {
    return Promise.resolve(this.#target.takesNone && !this.#target.isMended ? "no" : "yes");
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
