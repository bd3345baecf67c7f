import { EngineError, isAtRest, requested } from "../../engine/index.ts";
import type {
  EngineOptions,
  PipelineConfig,
  PipelineHealth,
  PipelineView,
  Request,
  Status,
} from "../../engine/index.ts";
import type { AppliedEngine } from "../../reconciler/apply/carry-out.ts";
import type { Call } from "../../reconciler/plan/calls.ts";

interface ModelPipeline extends PipelineView {
  held: number;
  letters: number;
  paused?: PipelineHealth["paused"];
}

const ends = { stop: "Stopped", terminate: "Terminated", resume: "Running" } as const;

/**
 * An engine without data, which keeps to the lifecycle table of the real one. It notes its calls, and a test can make a
 * call fail, or hold it up.
 */
export class ModelEngine implements AppliedEngine {
  readonly pipelines = new Map<string, ModelPipeline>();
  /** Such as `stop orders`, in the order in which they began. */
  readonly calls: string[] = [];
  /** Called at the beginning of each call; what it throws is the call's error, and what it awaits holds the call up. */
  onCall: (call: Call, pipeline_id: string) => Promise<void> | void = () => undefined;

  /** Puts a pipeline there as if it had been created long ago. */
  put(config: PipelineConfig, options: EngineOptions, status: Status, held = 0): void {
    const at = "2026-01-01T00:00:00.000Z";
    const { pipeline_id } = config;
    const view = { pipeline_id, config, options, status, revision: 1, created_at: at, updated_at: at };
    this.pipelines.set(pipeline_id, { ...view, held, letters: 0 });
  }

  async create(config: PipelineConfig, options: EngineOptions): Promise<{ access_token?: string }> {
    const { pipeline_id } = config;
    await this.#begin("create", pipeline_id);
    if (this.pipelines.has(pipeline_id)) throw new EngineError("PIPELINE_EXISTS", `pipeline ${pipeline_id} exists`);
    this.put(config, options, "Running");
    return { access_token: "generated" };
  }

  get(pipeline_id: string): PipelineView {
    const { held: _held, letters: _letters, paused: _paused, ...view } = this.#of(pipeline_id);
    return structuredClone(view);
  }

  list(): PipelineView[] {
    return [...this.pipelines.keys()].map((id) => this.get(id));
  }

  health(pipeline_id: string): PipelineHealth {
    const { config, status, failure, held, letters, paused, created_at, updated_at } = this.#of(pipeline_id);
    const zero = { events_read: 0, events_filtered: 0, events_aged_out: 0, rows_written: 0, dead_lettered: 0 };
    return {
      pipeline_id,
      pipeline_name: config.name,
      overall_status: status,
      ...(failure !== undefined && { failure }),
      ...(paused !== undefined && { paused }),
      stream: { messages: held, bytes: held, first: 1, last: held },
      pending_batches: 0,
      dead_letters: {
        last_received_at: null,
        last_consumed_at: null,
        total_messages: letters,
        unconsumed_messages: letters,
      },
      counters: { ...zero, batches_replayed: 0, inserts_repeated: 0, rows_excluded: 0 },
      created_at,
      updated_at,
    };
  }

  stop = (id: string): Promise<void> => this.#request("stop", id);
  terminate = (id: string): Promise<void> => this.#request("terminate", id);
  resume = (id: string): Promise<void> => this.#request("resume", id);

  async update(pipeline_id: string, config: PipelineConfig, options: EngineOptions): Promise<void> {
    await this.#begin("update", pipeline_id);
    const pipeline = this.#atRest(pipeline_id);
    Object.assign(pipeline, { config, options, revision: pipeline.revision + 1 });
  }

  async configure(pipeline_id: string, options: EngineOptions): Promise<void> {
    await this.#begin("configure", pipeline_id);
    this.#of(pipeline_id).options = options;
  }

  async rename(pipeline_id: string, name: string): Promise<void> {
    await this.#begin("rename", pipeline_id);
    this.#of(pipeline_id).config = { ...this.#of(pipeline_id).config, name };
  }

  async tag(pipeline_id: string, tags: string[]): Promise<void> {
    await this.#begin("tag", pipeline_id);
    this.#of(pipeline_id).config = { ...this.#of(pipeline_id).config, metadata: { tags } };
  }

  async delete(pipeline_id: string): Promise<void> {
    await this.#begin("delete", pipeline_id);
    this.#atRest(pipeline_id);
    this.pipelines.delete(pipeline_id);
  }

  async #request(request: Request, pipeline_id: string): Promise<void> {
    const pipeline = this.#of(pipeline_id);
    pipeline.status = requested(pipeline_id, pipeline.status, request);
    await this.#begin(request, pipeline_id);
    pipeline.status = ends[request];
    delete pipeline.failure;
    if (request === "terminate") pipeline.held = 0;
    // A stop writes what the stream holds; the test says so by what it left there before.
    if (request === "stop") pipeline.held = 0;
  }

  async #begin(call: Call, pipeline_id: string): Promise<void> {
    this.calls.push(`${call} ${pipeline_id}`);
    await this.onCall(call, pipeline_id);
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
