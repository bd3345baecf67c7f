import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import type {
  Revision,
  RevisionSource,
  Settling,
  SkippedFile,
  SourceDescription,
} from "../../../reconciler/git/revision.ts";
import type { Call } from "../../../reconciler/plan/calls.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import type { ReconcilerOptions } from "../../../reconciler/reconciler.ts";
import type { Condition } from "../../../reconciler/status/conditions.ts";
import { keptLog } from "../../support/engine.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";

export const signal = new AbortController().signal;
export const orders = { id: "orders" };
export const edited = { id: "orders", expression: "id > 1" };
/** Why a pipeline waits for a person. */
export const paused = { class: "setup", since: "", text: "the table is missing", way_out: "create it" } as const;

/** A source that says what the test says. */
class TestSource implements RevisionSource {
  description: SourceDescription = { kind: "dir", url: "/test", path: "." };
  /** Where what `say` says next is read, as a redirect has it. */
  redirected: string | undefined;
  /** What `say` does not read, and the patterns of its `.sluiceignore`. */
  skipped: SkippedFile[] = [];
  patterns = "";
  #count = 0;
  #held: Promise<unknown> | undefined;
  #revision: Revision = { id: "test@0", sha: "0", files: [], skipped: [] };

  say(...pipelines: PipelineText[]): void {
    const texts = pipelines.map((one): [string, string] => [`${one.id}.yaml`, pipelineText(one)]);
    if (this.patterns !== "") texts.push([".sluiceignore", this.patterns]);
    const files = texts.map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
    const { skipped } = this;
    this.#count += 1;
    const place = this.redirected === undefined ? {} : { redirected: this.redirected };
    this.#revision = { id: `test@${this.#count}`, sha: String(this.#count), files, skipped, ...place };
  }

  /** Holds every fetch up that begins from now on, until it is told to go on. */
  holdUp(): () => void {
    const gate = new EventEmitter();
    this.#held = once(gate, "open");
    return () => {
      this.#held = undefined;
      gate.emit("open");
    };
  }

  /** How often it was read. */
  fetched = 0;

  fetch = async (): Promise<Revision> => {
    this.fetched += 1;
    const revision = this.#revision;
    await this.#held;
    return revision;
  };

  /** The folder of these files may be half of a copy, or has stood still. */
  settles(settling?: Settling): void {
    const { settling: _before, ...rest } = this.#revision;
    this.#revision = { ...rest, ...(settling !== undefined && { settling }) };
  }
  close = async (): Promise<void> => undefined;
}

/** Milliseconds that a turn waits for its changes where none is held up. */
export const patience = 60_000;

/** What a reconciler works with: a source, an engine without data, and a folder. */
export class World {
  readonly dataDir: string;
  engine = new ModelEngine();
  readonly source = new TestSource();
  /** Milliseconds that a turn waits: for as long as it takes, until a call is held up. */
  applyTimeout = patience;

  private constructor(dataDir: string) {
    this.dataDir = dataDir;
  }

  static async make(): Promise<World> {
    return new World(await mkdtemp(join(tmpdir(), "sluice-apply-")));
  }

  remove(): Promise<void> {
    // The end of a change that a test did not wait for may be noted in the folder meanwhile.
    return rm(this.dataDir, { recursive: true, maxRetries: 10, retryDelay: 20 });
  }

  reconciler(options: Partial<ReconcilerOptions> = {}): Reconciler {
    const { engine, source, dataDir } = this;
    const parts = { source, engine, dataDir, log: keptLog(), registry: new Registry(), interval: 60_000 };
    const applyTimeout = (): number => this.applyTimeout;
    return new Reconciler({
      ...parts,
      get applyTimeout() {
        return applyTimeout();
      },
      ...options,
    });
  }

  /** A reconciler that has carried out what these files say. */
  async after(...pipelines: PipelineText[]): Promise<Reconciler> {
    this.source.say(...pipelines);
    const reconciler = this.reconciler();
    await reconciler.turn("start", signal);
    return reconciler;
  }

  async inventory(): Promise<{ pipelines: object }> {
    return JSON.parse(await readFile(join(this.dataDir, "reconciler.json"), "utf8")) as { pipelines: object };
  }

  /** Holds a call up until it is told to go on. */
  holdUp(call: Call, of?: string): () => void {
    this.applyTimeout = 200;
    const gate = new EventEmitter();
    const opened = once(gate, "open").then(() => undefined);
    this.engine.onCall = (made, id) => (made === call && (of ?? id) === id ? opened : undefined);
    return () => {
      this.applyTimeout = patience;
      gate.emit("open");
    };
  }
}

/** Takes a turn and gives what became of each pipeline. */
export async function outcomes(reconciler: Reconciler): Promise<Record<string, string>> {
  const { outcomes: all = [] } = await reconciler.turn("poll", signal);
  return Object.fromEntries(all.map((one) => [one.pipeline_id, one.result]));
}

function conditionsOf(reconciler: Reconciler, id: string): Condition[] {
  return reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === id)?.conditions ?? [];
}

/** Ready, which comes first. */
export function conditionOf(reconciler: Reconciler, id = "orders"): Condition | undefined {
  return conditionsOf(reconciler, id)[0];
}

/** Status and reason of Ready, and the types of the other conditions. */
export function readyOf(reconciler: Reconciler, id = "orders"): (string | undefined)[] {
  const conditions = conditionsOf(reconciler, id);
  const { status, reason } = conditions.find(({ type }) => type === "Ready") ?? {};
  return [status, reason, ...conditions.map(({ type }) => type).filter((type) => type !== "Ready")];
}
