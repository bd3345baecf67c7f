import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EngineOptions, PipelineConfig } from "../../../engine/index.ts";
import { presentOf } from "../../../reconciler/actual/snapshot.ts";
import type { ActualState } from "../../../reconciler/actual/state.ts";
import { carryOut, DeletionBlockedError } from "../../../reconciler/apply/carry-out.ts";
import type { Wanted } from "../../../reconciler/apply/carry-out.ts";
import { doesSomething } from "../../../reconciler/plan/change.ts";
import type { Change, Plan } from "../../../reconciler/plan/change.ts";
import { invert, plan } from "../../../reconciler/plan/decide/index.ts";
import { printPlan } from "../../../reconciler/plan/render/index.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";
import { read } from "./model-world.ts";
import { runsOf } from "../../support/cases.ts";

const ids = ["alpha", "bravo", "charlie"] as const;

/** An engine that has what a pipeline remembers besides its config: a token, and the keys of its dedup. */
class RememberingEngine extends ModelEngine {
  /** Which token counts, by pipeline_id. */
  readonly tokens = new Map<string, string>();
  /** Events that were accepted and are dropped. */
  readonly dropped = new Map<string, number>();
  #made = 0;

  constructor() {
    super();
    const { terminate } = this;
    this.terminate = async (id) => {
      this.#drop(id);
      this.change(id, { keys: undefined });
      await terminate(id);
    };
  }

  override async create(config: PipelineConfig, options: EngineOptions): Promise<{ access_token?: string }> {
    const made = await super.create(config, options);
    this.#noteToken(config, options);
    return made;
  }

  override async update(id: string, config: PipelineConfig, options: EngineOptions): Promise<void> {
    if (dedupKey(this.get(id).config) !== dedupKey(config)) this.change(id, { keys: undefined });
    await super.update(id, config, options);
    this.#noteToken(config, options);
  }

  override async configure(id: string, options: EngineOptions): Promise<void> {
    await super.configure(id, options);
    this.#noteToken(this.get(id).config, options);
  }

  override async delete(id: string): Promise<void> {
    this.#drop(id);
    this.tokens.delete(id);
    await super.delete(id);
  }

  /** What was read from a topic stays there. */
  #drop(id: string): void {
    if (this.get(id).config.sources[0]?.type === "kafka") return;
    const { held, pending_batches } = presentOf(this, id) ?? { held: 0, pending_batches: 0 };
    this.dropped.set(id, (this.dropped.get(id) ?? 0) + Number(held) + pending_batches);
  }

  /** A token that a file brings is known by its text; a generated one is another each time. */
  #noteToken({ pipeline_id, sources }: PipelineConfig, { access_token }: EngineOptions): void {
    const before = this.tokens.get(pipeline_id);
    if (sources[0]?.type !== "webhook") return;
    if (access_token !== undefined) this.tokens.set(pipeline_id, access_token);
    else if (before === undefined || !before.startsWith("generated"))
      this.tokens.set(pipeline_id, `generated ${(this.#made += 1)}`);
  }
}

function dedupKey({ transforms }: PipelineConfig): string {
  return transforms.map((one) => (one.type === "dedup" ? one.config.key : "")).join("");
}

/** What a file may say of one pipeline. Dependencies go to the left only, so that there is no circle. */
const text = (index: number): fc.Arbitrary<PipelineText> =>
  fc
    .record({
      name: fc.constantFrom("One", "Two"),
      expression: fc.constantFrom("id > 1", "id > 2"),
      tags: fc.subarray(["a", "b"]),
      state: fc.constantFrom("Running", "Running", "Stopped", "Terminated"),
      topic: fc.constantFrom(undefined, undefined, "first", "second"),
      dedup: fc.constantFrom(undefined, "id", "level"),
      token: fc.boolean(),
      max_age: fc.constantFrom("24h", "24h", "48h"),
      recreate: fc.boolean(),
      depends_on: fc.subarray(ids.slice(0, index)),
    })
    .map(({ state, topic, dedup, token, max_age, recreate, depends_on, ...rest }) => ({
      ...rest,
      ...(topic !== undefined && { topic }),
      id: ids[index] ?? "",
      transforms:
        dedup === undefined ? [] : [`{ type: dedup, source_id: input, config: { key: ${dedup}, time_window: 1h } }`],
      sluice: [
        `state: ${state}`,
        `depends_on: [${depends_on.join(", ")}]`,
        `recreate: ${recreate}`,
        ...(token && topic === undefined ? ["access_token: ${env:TOKEN}"] : []),
      ],
      root: [`resources: { nats: { stream: { max_age: ${max_age} } } }`],
    }));

const folder = fc
  .tuple(...ids.map((_, index) => fc.option(text(index), { freq: 4 })))
  .map((texts) => texts.flatMap((one) => (one === null ? [] : [[`${one.id}.yaml`, one] as const])));

/** What a pipeline holds at the moment of the plan. */
const facts = fc.record({
  held: fc.constantFrom(0, 0, 3),
  letters: fc.constantFrom(0, 0, 2),
  keys: fc.constantFrom(0, 5),
  status: fc.constantFrom(undefined, undefined, undefined, "Stopped", "Terminated", "Failed"),
});

/** Makes the calls of a plan; gives the changes that came to their end: a deletion may have to wait. */
async function carriedOut(
  engine: RememberingEngine,
  made: Plan,
  wantedOf: (id: string) => Wanted | undefined,
): Promise<Change[]> {
  const done: Change[] = [];
  for (const change of made.changes) {
    try {
      for (const index of change.calls.keys()) await carryOut(engine, change, index, wantedOf(change.pipeline_id));
      done.push(change);
    } catch (error) {
      if (!(error instanceof DeletionBlockedError)) throw error;
    }
  }
  return done;
}

/** Every pipeline of the engine is ours, and the file that each is from is gone where it is not wanted. */
function actualOf(engine: RememberingEngine): ActualState {
  const there = engine.list().flatMap(({ pipeline_id }) => presentOf(engine, pipeline_id) ?? []);
  const owned = there.map(({ pipeline_id }) => [
    pipeline_id,
    { file: `${pipeline_id}.yaml`, prune: true, suspend: false },
  ]);
  return {
    pipelines: new Map(there.map((one) => [one.pipeline_id, one])),
    owned: Object.fromEntries(owned) as ActualState["owned"],
    busy: new Map(),
    now: 0,
  };
}

/** The engine after the files of `before`, with what its pipelines hold then. */
async function engineWith(
  before: Parameters<typeof read>[0],
  holds: readonly { held: number; letters: number; keys: number; status: string | undefined }[],
): Promise<RememberingEngine> {
  const engine = new RememberingEngine();
  const wanted = read(before);
  const wantedOf = (id: string): Wanted | undefined => wanted.pipelines.find((one) => one.pipeline_id === id);
  await carriedOut(engine, plan(actualOf(engine), wanted), wantedOf);
  for (const [index, id] of ids.entries()) {
    if (!engine.pipelines.has(id)) continue;
    const { held = 0, letters = 0, keys = 0, status } = holds[index] ?? {};
    if (status === "Terminated" && engine.get(id).status !== status) await engine.terminate(id);
    else if (status !== undefined) engine.change(id, { status: status as "Stopped" | "Failed" });
    const now = engine.get(id);
    const hasKeys = dedupKey(now.config) !== "" && now.status !== "Terminated";
    engine.change(id, {
      held: now.status === "Terminated" ? 0 : held,
      letters,
      ...(hasKeys && { keys: { keys, memory: 0, storage: keys * 16 } }),
    });
  }
  engine.dropped.clear();
  return engine;
}

/** What the engine holds of a pipeline, but for its data. One that had failed processes nothing, as a stopped one. */
function heldBy(engine: ModelEngine): Pick<Wanted, "pipeline_id">[] {
  return engine
    .list()
    .map(({ pipeline_id, config, options, status }) => ({
      pipeline_id,
      config,
      options,
      status: status === "Failed" ? "Stopped" : status,
    }))
    .toSorted((a, b) => a.pipeline_id.localeCompare(b.pipeline_id));
}

/** The data of a pipeline that an inverse could not bring back, by the code of the loss. */
function memoryOf(engine: RememberingEngine, id: string): Record<string, unknown> {
  const { letters, keys } = engine.pipelines.get(id) ?? {};
  return { DeadLetters: letters, DedupKeys: keys, AccessToken: engine.tokens.get(id) };
}

/** What was lost of a pipeline, by code. */
function lostOf(engine: RememberingEngine, id: string, before: Record<string, unknown>): string[] {
  const now = memoryOf(engine, id);
  const gone = Object.keys(before).filter((code) => before[code] !== undefined && before[code] !== now[code]);
  return (engine.dropped.get(id) ?? 0) > 0 ? [...gone, "AcceptedEvents"] : gone;
}

describe("the inverse of a plan", () => {
  test("carried out after it, leaves the engine with what it held, but for what the plan says is lost", async () => {
    const holds = fc.tuple(facts, facts, facts);
    await fc.assert(
      fc.asyncProperty(folder, folder, holds, async (files, others, held) => {
        const engine = await engineWith(files, held);
        const [before, wanted] = [actualOf(engine), read(others)];
        const state = heldBy(engine);
        const byId = (id: string): Wanted | undefined => wanted.pipelines.find((one) => one.pipeline_id === id);
        const memories = new Map(ids.map((id) => [id, memoryOf(engine, id)]));
        const made = plan(before, wanted);
        const done = await carriedOut(engine, made, byId);
        const { plan: back, restores } = invert({ changes: done }, before, wanted);
        expect(await carriedOut(engine, back, (id) => restores.get(id))).toEqual(back.changes);
        const isDone = ({ pipeline_id }: { pipeline_id: string }): boolean =>
          !made.changes.some((change) => change.pipeline_id === pipeline_id && !done.includes(change));
        expect(heldBy(engine).filter(isDone), printPlan(made)).toEqual(state.filter(isDone));
        for (const change of done) {
          const memory = memories.get(change.pipeline_id as (typeof ids)[number]) ?? {};
          if (!before.pipelines.has(change.pipeline_id)) continue;
          const said = doesSomething(change) ? (change.irreversible ?? []).map(({ code }) => code) : [];
          expect(said.toSorted(), printPlan(made)).toEqual(lostOf(engine, change.pipeline_id, memory).toSorted());
        }
      }),
      { numRuns: runsOf(45) },
    );
  });

  test("does in turn what the plan did, the last first, and waits for what it builds on", async () => {
    await fc.assert(
      fc.asyncProperty(folder, folder, async (files, others) => {
        const engine = await engineWith(files, []);
        const [before, wanted] = [actualOf(engine), read(others)];
        const made = plan(before, wanted);
        const { changes } = invert(made, before, wanted).plan;
        const order = made.changes.map(({ pipeline_id }) => pipeline_id);
        const places = changes.map(({ pipeline_id }) => order.indexOf(pipeline_id));
        expect(places).toEqual(places.toSorted((a, b) => b - a));
        for (const [index, { after }] of changes.entries())
          for (const id of after) expect(changes.slice(0, index).map(({ pipeline_id }) => pipeline_id)).toContain(id);
      }),
      { numRuns: runsOf(30) },
    );
  });
});
