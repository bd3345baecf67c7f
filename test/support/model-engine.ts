import { consumerGroup, EngineError, isAtRest, requested, zeroCounters } from "../../engine/index.ts";
import { hasConsumerGroup } from "../../engine/language.ts";
import type {
  EngineOptions,
  PipelineConfig,
  PipelineHealth,
  PipelineView,
  Readiness,
  Request,
  StaleSecrets,
  Status,
} from "../../engine/index.ts";
import type { AppliedEngine, Intake } from "../../reconciler/apply/carry-out.ts";
import type { Call } from "../../reconciler/plan/calls.ts";

interface ModelPipeline extends PipelineView, Intake {
  /** Events, batches and letters. */
  held: number;
  pending: number;
  letters: number;
  paused?: PipelineHealth["paused"];
  at_least_once?: string;
  profile_remark?: string;
  source?: PipelineHealth["source"];
  foreign_members?: string[];
  keys?: PipelineHealth["keys"];
}

/** What a start makes of a status in which a process ended. */
const carriedOn: Partial<Record<Status, Status>> = {
  Created: "Running",
  Resuming: "Running",
  Stopping: "Stopped",
  Terminating: "Terminated",
};

const ends = { stop: "Stopped", terminate: "Terminated", resume: "Running" } as const;

/**
 * An engine without data, which keeps to the lifecycle table of the real one: a stop writes what is held, unless the
 * pipeline is paused. It notes its calls, and a test can make a call fail, or hold it up.
 */
export class ModelEngine implements AppliedEngine {
  readonly pipelines = new Map<string, ModelPipeline>();
  /** Pipelines whose senders are asked to try again. */
  readonly recreated = new Set<string>();
  /** What a check of any config says. */
  readiness: Readiness = { kind: "ready" };
  /** Such as `stop orders`, in the order in which they began. */
  readonly calls: string[] = [];
  /** Called at the beginning of each call; what it throws is the call's error, and what it awaits holds the call up. */
  onCall: (call: Call, pipeline_id: string) => Promise<void> | void = () => undefined;
  /** Calls that had their effect, in the order in which they ended. */
  readonly effects: string[] = [];
  /** Called when a call has had its effect, and before its caller knows. */
  onEffect: (call: Call, pipeline_id: string) => void = () => undefined;

  /** The engine that another process finds after this one was killed at this moment. */
  restarted(): ModelEngine {
    const engine = new ModelEngine();
    for (const [id, pipeline] of structuredClone(this.pipelines)) {
      pipeline.status = carriedOn[pipeline.status] ?? pipeline.status;
      engine.pipelines.set(id, pipeline);
    }
    return engine;
  }

  /** Puts a pipeline there as if it had been created long ago. */
  put(config: PipelineConfig, options: EngineOptions, status: Status, held = 0): void {
    const at = "2026-01-01T00:00:00.000Z";
    const { pipeline_id } = config;
    const view = { pipeline_id, config, options, status, revision: 1, created_at: at, updated_at: at };
    const source = hasConsumerGroup(config) ? { source: { partitions: 1, lag: 0, uncommitted: 0 } } : {};
    this.pipelines.set(pipeline_id, { ...view, ...source, held, pending: 0, letters: 0 });
  }

  async create(config: PipelineConfig, options: EngineOptions): Promise<{ access_token?: string }> {
    const { pipeline_id } = config;
    await this.#begin("create", pipeline_id);
    if (this.pipelines.has(pipeline_id)) throw new EngineError("PIPELINE_EXISTS", `pipeline ${pipeline_id} exists`);
    this.put(config, options, "Running");
    this.#end("create", pipeline_id);
    return { access_token: "generated" };
  }

  /** Changes what the test says of a pipeline that is there. */
  change(pipeline_id: string, facts: Partial<ModelPipeline>): void {
    Object.assign(this.#of(pipeline_id), facts);
  }

  /** Whether a sender's event is taken. */
  takesEvents(pipeline_id: string): boolean {
    const { status, intake } = this.#of(pipeline_id);
    return status !== "Terminated" && intake === undefined;
  }

  check(): Promise<Readiness> {
    return Promise.resolve(this.readiness);
  }

  recreating(pipeline_id: string, isOn: boolean): void {
    if (isOn) this.recreated.add(pipeline_id);
    else this.recreated.delete(pipeline_id);
  }

  get(pipeline_id: string): PipelineView {
    const { held: _held, pending: _pending, letters: _letters, ...rest } = this.#of(pipeline_id);
    const { paused: _paused, at_least_once: _atLeastOnce, source: _source, ...more } = rest;
    const { foreign_members: _members, keys: _keys, profile_remark: _remark, ...view } = more;
    return view;
  }

  list(): PipelineView[] {
    return [...this.pipelines.keys()].map((id) => this.get(id));
  }

  health(pipeline_id: string): PipelineHealth {
    const { config, options, status, failure, created_at, updated_at, ...facts } = this.#of(pipeline_id);
    const { held, pending, letters, paused, at_least_once, profile_remark, source, foreign_members, keys } = facts;
    return {
      pipeline_id,
      pipeline_name: config.name,
      overall_status: status,
      rows_per_second: 0,
      ...(failure !== undefined && { failure }),
      ...(paused !== undefined && { paused }),
      ...(at_least_once !== undefined && { at_least_once }),
      ...(profile_remark !== undefined && { profile_remark }),
      ...(hasConsumerGroup(config) && { consumer_group: consumerGroup(pipeline_id, options) }),
      ...(source !== undefined && { source }),
      ...(foreign_members !== undefined && { foreign_members }),
      ...(keys !== undefined && { keys }),
      stream: { messages: held, bytes: held, first: 1, last: held },
      pending_batches: pending,
      dead_letters: {
        last_received_at: null,
        last_consumed_at: null,
        total_messages: letters,
        unconsumed_messages: letters,
        bytes: 300 * letters,
        max_bytes: 1_000_000,
        max_messages: 1_000,
      },
      counters: zeroCounters(),
      created_at,
      updated_at,
    };
  }

  /** Secrets that have changed, as the test says. */
  stale: StaleSecrets[] = [];

  async staleSecrets(): Promise<StaleSecrets[]> {
    return this.stale;
  }

  async stop(pipeline_id: string, { intake }: Intake = {}): Promise<void> {
    const pipeline = this.#of(pipeline_id);
    const mustRun = intake === undefined || !isAtRest(pipeline.status);
    if (mustRun) return this.#request("stop", pipeline_id, intake);
    this.#setIntake(pipeline, intake);
    await this.#begin("stop", pipeline_id);
    this.#end("stop", pipeline_id);
  }

  terminate = (id: string): Promise<void> => this.#request("terminate", id);
  resume = (id: string, { intake }: Intake = {}): Promise<void> => this.#request("resume", id, intake);

  async update(pipeline_id: string, config: PipelineConfig, options: EngineOptions): Promise<void> {
    await this.#begin("update", pipeline_id);
    const pipeline = this.#atRest(pipeline_id);
    Object.assign(pipeline, { config, options, revision: pipeline.revision + 1 });
    this.#end("update", pipeline_id);
  }

  async move(from: string, config: PipelineConfig, options: EngineOptions): Promise<void> {
    const { pipeline_id } = config;
    await this.#begin("move", pipeline_id);
    if (this.pipelines.has(pipeline_id)) throw new EngineError("PIPELINE_EXISTS", `pipeline ${pipeline_id} exists`);
    const pipeline = this.#atRest(from);
    this.pipelines.delete(from);
    this.pipelines.set(pipeline_id, { ...pipeline, pipeline_id, config, options, revision: pipeline.revision + 1 });
    this.#end("move", pipeline_id);
  }

  async configure(pipeline_id: string, options: EngineOptions): Promise<void> {
    await this.#begin("configure", pipeline_id);
    this.#of(pipeline_id).options = options;
    this.stale = this.stale.filter((one) => one.pipeline_id !== pipeline_id || one.missing.length > 0);
    this.#end("configure", pipeline_id);
  }

  async rename(pipeline_id: string, name: string): Promise<void> {
    await this.#begin("rename", pipeline_id);
    this.#of(pipeline_id).config = { ...this.#of(pipeline_id).config, name };
    this.#end("rename", pipeline_id);
  }

  async tag(pipeline_id: string, tags: string[]): Promise<void> {
    await this.#begin("tag", pipeline_id);
    this.#of(pipeline_id).config = { ...this.#of(pipeline_id).config, metadata: { tags } };
    this.#end("tag", pipeline_id);
  }

  async delete(pipeline_id: string): Promise<void> {
    await this.#begin("delete", pipeline_id);
    this.#atRest(pipeline_id);
    this.pipelines.delete(pipeline_id);
    this.#end("delete", pipeline_id);
  }

  async #request(request: Request, pipeline_id: string, intake?: "closed"): Promise<void> {
    const pipeline = this.#of(pipeline_id);
    pipeline.status = requested(pipeline_id, pipeline.status, request);
    if (request !== "terminate") this.#setIntake(pipeline, intake);
    await this.#begin(request, pipeline_id);
    pipeline.status = ends[request];
    delete pipeline.failure;
    if (request === "terminate") pipeline.held = 0;
    if (request === "stop" && pipeline.paused === undefined) {
      Object.assign(pipeline, { held: 0, pending: 0 });
      if (pipeline.source !== undefined) pipeline.source = { ...pipeline.source, uncommitted: 0 };
    }
    this.#end(request, pipeline_id);
  }

  #setIntake(pipeline: ModelPipeline, intake: "closed" | undefined): void {
    delete pipeline.intake;
    if (intake !== undefined) pipeline.intake = intake;
  }

  async #begin(call: Call, pipeline_id: string): Promise<void> {
    this.calls.push(`${call} ${pipeline_id}`);
    await this.onCall(call, pipeline_id);
  }

  #end(call: Call, pipeline_id: string): void {
    this.effects.push(`${call} ${pipeline_id}`);
    this.onEffect(call, pipeline_id);
  }

  #of(pipeline_id: string): ModelPipeline {
    const pipeline = this.pipelines.get(pipeline_id);
    if (pipeline === undefined) throw new EngineError("PIPELINE_NOT_FOUND", `there is no pipeline ${pipeline_id}`);
    return pipeline;
  }

  #atRest(pipeline_id: string): ModelPipeline {
    const pipeline = this.#of(pipeline_id);
    if (isAtRest(pipeline.status)) return pipeline;
    throw new EngineError("PIPELINE_NOT_STOPPED_FOR_EDIT", `pipeline ${pipeline_id} is ${pipeline.status}`);
  }
}
