import { AsyncLocalStorage } from "node:async_hooks";
import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { secretTexts } from "../../schemas/secret-fields.ts";
import { CarefulReading } from "../batch/careful-reading.ts";
import { checkPipeline, inTime, samplePipeline } from "./check.ts";
import { createKeys, compilePipeline, type CompileOptions } from "./compile.ts";
import { Pipeline, type PipelineOptions } from "../delivery/pipeline.ts";
import type { RunnablePipeline } from "./joined-pipelines.ts";
import { buildJoined } from "./joined.ts";
import { components } from "../batch/compiled-pipeline.ts";
import { type BatchClockOptions, pipelineClock } from "./batch-clock.ts";
import type { Agent } from "node:http";
import type { ISocketFactory } from "kafkajs";
import type { Disk } from "../core/disk.ts";
import type { Source } from "../core/source.ts";
import { RetryPause } from "../flow/retry-pause.ts";
import type { ThreadHold } from "../flow/thread-hold.ts";
import { hiding } from "../peers/hidden-secrets.ts";
import { type AnyTools, type OpenedSource, openSource, rewindSource } from "../sources/open.ts";
import { kindOf } from "../sources/registry.ts";
import { systemDisk } from "../system/disk.ts";
import type { PipelineSpec, ThreadPort, ToThread } from "./protocol.ts";
import { Remote, toPlain } from "./remote.ts";

/** What pipelines use of the machine. A simulation replaces it. */
export interface ThreadMachine {
  disk: Disk;
  /** Opens the connections to ClickHouse servers without TLS. */
  agent?: Agent;
  /** Opens the connections to Kafka's brokers. */
  socketFactory?: ISocketFactory;
  /** The clocks of a pipeline, in place of those of the machine. */
  clockOf?: (pipeline_id: string) => Pick<BatchClockOptions, "wall" | "monotonic">;
  /** What a pipeline reads in place of its own source; undefined where it reads that. */
  sourceOf?: (spec: PipelineSpec) => Source | undefined;
  /** What joins hold is reported at most so often, in milliseconds: every 500 where nothing is said, with 0 at each step. */
  reportEvery?: number;
}

/**
 * The pipeline that a callback or a promise belongs to. Only those are followed that were started after the death of a
 * thread: it makes every promise of the thread slower.
 */
const followed = new AsyncLocalStorage<string>();

interface Running {
  pipeline: RunnablePipeline;
  arrived: OpenedSource["arrived"];
}

/**
 * Runs the pipelines that the process starts by messages to its port. Nothing durable is kept in the thread: journal,
 * catalog and metrics belong to the process, and after the death of a thread its pipelines start again from their journal.
 */
export class ThreadHost {
  readonly #remote: Remote;
  readonly #running = new Map<string, Running>();
  /** Of the pipelines that run, are checked or sampled here. */
  readonly #configs = new Set<PipelineConfig>();
  readonly #machine: ThreadMachine;
  readonly #hold: ThreadHold | undefined;

  /** `hold`: where it notes which pipeline keeps it from all others. */
  constructor(port: ThreadPort, machine: ThreadMachine = { disk: systemDisk }, hold?: ThreadHold) {
    this.#machine = machine;
    this.#hold = hold;
    this.#remote = new Remote(port);
    port.on("message", (message) => this.#onMessage(message));
  }

  /**
   * Call it within the exception that ends the thread: the process learns whose it is, and its text without the secrets
   * of the pipelines here, which a peer may have repeated.
   */
  dies(error: unknown): void {
    const pipeline_id = followed.getStore();
    const hide = hiding([...this.#configs].flatMap(secretTexts));
    this.#remote.postNow({
      type: "dying",
      error: hide(error),
      ...(pipeline_id !== undefined && { pipeline_id }),
    });
  }

  #onMessage(message: ToThread): void {
    switch (message.type) {
      case "start":
        if (message.spec.care === undefined) void this.#start(message);
        else void followed.run(message.spec.pipeline_id, () => this.#start(message));
        break;
      case "stop":
        this.#running.get(message.pipeline_id)?.pipeline.stop(message.limit);
        break;
      case "abort":
        this.#running.get(message.pipeline_id)?.pipeline.abort();
        break;
      case "arrived":
        this.#running.get(message.pipeline_id)?.arrived(message.end);
        break;
      case "reprocess":
        void this.#reprocess(message);
        break;
      case "check":
        void this.#check(message);
        break;
      case "sample":
        void this.#sample(message);
        break;
      case "rewind":
        void this.#rewind(message);
        break;
      case "answer":
        this.#remote.answered(message);
        break;
    }
  }

  async #start({ spec, number }: Extract<ToThread, { type: "start" }>): Promise<void> {
    const { pipeline_id, config } = spec;
    this.#configs.add(config);
    try {
      const built = this.#build(spec, number);
      const { pipeline } = built;
      this.#remote.telemetry.started({ pipeline_id, components: componentsOf(spec.config) });
      this.#running.set(pipeline_id, built);
      this.#remote.post({ type: "started", pipeline_id });
      await pipeline.run();
      this.#remote.post({ type: "left", pipeline_id });
    } catch (error) {
      this.#remote.post({ type: "left", pipeline_id, error: toPlain(error) });
    } finally {
      this.#running.delete(pipeline_id);
      this.#configs.delete(config);
    }
  }

  async #reprocess({ call, pipeline_id, letters }: Extract<ToThread, { type: "reprocess" }>): Promise<void> {
    try {
      const { pipeline } = this.#running.get(pipeline_id) ?? {};
      if (pipeline === undefined) throw new Error(`pipeline ${pipeline_id} does not run`);
      await pipeline.reprocess(letters);
      this.#remote.post({ type: "reprocessing", call });
    } catch (error) {
      this.#remote.post({ type: "reprocessing", call, error: toPlain(error) });
    }
  }

  async #check({ call, spec }: Extract<ToThread, { type: "check" }>): Promise<void> {
    this.#configs.add(spec.config);
    const readiness = await checkPipeline(spec, { ...this.#machine, log: this.#remote.log });
    this.#configs.delete(spec.config);
    this.#remote.post({ type: "checked", call, readiness });
  }

  async #sample({ call, spec }: Extract<ToThread, { type: "sample" }>): Promise<void> {
    this.#configs.add(spec.config);
    try {
      const sample = await samplePipeline(spec, { ...this.#machine, log: this.#remote.log });
      this.#remote.post({ type: "sampled", call, sample });
    } catch (error) {
      this.#remote.post({ type: "sampled", call, error: toPlain(error) });
    } finally {
      this.#configs.delete(spec.config);
    }
  }

  async #rewind({ call, spec }: Extract<ToThread, { type: "rewind" }>): Promise<void> {
    this.#configs.add(spec.config);
    try {
      const partitions = await inTime((signal) =>
        rewindSource(spec, { ...this.#machine, log: this.#remote.log }, signal),
      );
      this.#remote.post({ type: "rewound", call, partitions });
    } catch (error) {
      this.#remote.post({ type: "rewound", call, error: toPlain(error) });
    } finally {
      this.#configs.delete(spec.config);
    }
  }

  #build(spec: PipelineSpec, number: number): Running {
    const { pipeline_id, config, revision, revisions } = spec;
    const hold = this.#hold;
    const earlier = new Map(revisions);
    const former = [...earlier.values()];
    const keys = createKeys(config);
    const journal = this.#remote.journal(spec);
    const { telemetry, log } = this.#remote;
    const given = this.#machine.sourceOf?.(spec);
    const { source, arrived, maxAge } =
      given === undefined ? createSource(spec, { ...this.#machine, journal, telemetry, log }) : withoutAge(given);
    const compiling = (of: number): CompileOptions => ({
      ...spec,
      ...this.#machine,
      config: earlier.get(of) ?? config,
      former,
      revision: of,
      keys,
      log,
    });
    const compiledOf = (of: number): ReturnType<typeof compilePipeline> => compilePipeline(compiling(of));
    const reading = new CarefulReading(spec.care, (event) =>
      this.#remote.postNow({ type: "trying", pipeline_id, ...(event === undefined ? {} : { event }) }),
    );
    const options: PipelineOptions = {
      pipeline_id,
      reading,
      hasNeighbours: () => this.#running.size > 1,
      ...(hold !== undefined && { holding: (work) => hold.during(number, work) }),
      limits: config.sink,
      maxAge,
      replicas: Math.max(1, config.resources.sink.replicas),
      source,
      journal,
      telemetry,
      clock: pipelineClock({ pipeline_id, journal, keys, telemetry, ...this.#machine.clockOf?.(pipeline_id) }),
      options: spec.options,
      keys,
      letters: spec.letters,
      onOpened: () => this.#remote.post({ type: "opened", pipeline_id }),
      compiled: compiledOf(revision),
      compiledOf,
    };
    const pipeline =
      spec.join === undefined
        ? new Pipeline(options)
        : buildJoined({ ...spec, join: spec.join }, options, compiling, this.#machine);
    return { pipeline, arrived };
  }
}

/** The source with its retries. */
function createSource(spec: PipelineSpec, tools: Omit<AnyTools, "pause">): OpenedSource {
  return openSource(spec, { ...tools, pause: new RetryPause(spec.pipeline_id, tools.telemetry) });
}

/** A source that keeps its events as long as it decides itself. */
function withoutAge(source: Source): OpenedSource {
  return { source, arrived: () => undefined, maxAge: Infinity };
}

/** The components of a pipeline by the names of metrics and dead letters. */
function componentsOf({ sources, transforms, join }: PipelineSpec["config"]): string[] {
  const joins = join === undefined ? [] : ["join"];
  const receivers = sources.map((source) => kindOf(source).receiver);
  return [...new Set([...receivers, ...transforms.map(({ type }) => components[type]), ...joins, "sink"])];
}
