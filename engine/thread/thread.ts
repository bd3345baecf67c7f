import { parentPort } from "node:worker_threads";
import { createKeys, createLine } from "../create-line.ts";
import { createSource, type CreatedSource } from "../create-source.ts";
import { Pipeline } from "../pipeline.ts";
import { components } from "../stage.ts";
import { pipelineClock } from "../pipeline-clock.ts";
import { systemDisk } from "../system/disk.ts";
import type { PipelineSpec, ToThread } from "./protocol.ts";
import { Remote, toPlain } from "./remote.ts";

/**
 * The entry of a thread that runs pipelines. It owns nothing durable: journal, catalog and metrics belong to the
 * process, and a pipeline of a thread that dies is started again from its journal.
 */
interface Running {
  pipeline: Pipeline;
  arrived: CreatedSource["arrived"];
}

const remote = new Remote(parentPort!);
const running = new Map<string, Running>();

parentPort!.on("message", (message: ToThread) => {
  switch (message.type) {
    case "start":
      void start(message.spec);
      break;
    case "stop":
      running.get(message.pipeline_id)?.pipeline.stop(message.limit);
      break;
    case "abort":
      running.get(message.pipeline_id)?.pipeline.abort();
      break;
    case "arrived":
      running.get(message.pipeline_id)?.arrived(message.end);
      break;
    case "reprocess":
      void reprocess(message);
      break;
    case "answer":
      remote.answered(message);
      break;
  }
});

async function start(spec: PipelineSpec): Promise<void> {
  const { pipeline_id } = spec;
  try {
    const built = build(spec);
    const { pipeline } = built;
    remote.telemetry.started({ pipeline_id, components: componentsOf(spec.config) });
    running.set(pipeline_id, built);
    remote.post({ type: "started", pipeline_id });
    await pipeline.run();
    remote.post({ type: "left", pipeline_id });
  } catch (error) {
    remote.post({ type: "left", pipeline_id, error: toPlain(error) });
  } finally {
    running.delete(pipeline_id);
  }
}

async function reprocess({ call, pipeline_id, letters }: Extract<ToThread, { type: "reprocess" }>): Promise<void> {
  try {
    const { pipeline } = running.get(pipeline_id) ?? {};
    if (pipeline === undefined) throw new Error(`pipeline ${pipeline_id} does not run`);
    await pipeline.reprocess(letters);
    remote.post({ type: "reprocessing", call });
  } catch (error) {
    remote.post({ type: "reprocessing", call, error: toPlain(error) });
  }
}

function build(spec: PipelineSpec): Running {
  const { pipeline_id, config, revision, revisions } = spec;
  const earlier = new Map(revisions);
  const former = [...earlier.values()];
  const keys = createKeys(config);
  const journal = remote.journal(spec);
  const { telemetry, log } = remote;
  const { source, arrived, maxAge } = createSource(spec, { disk: systemDisk, journal, telemetry, log });
  const lineFor = (of: number): ReturnType<typeof createLine> =>
    createLine({ ...spec, config: earlier.get(of) ?? config, former, revision: of, keys, log: remote.log });
  const pipeline = new Pipeline({
    pipeline_id,
    limits: config.sink,
    maxAge,
    replicas: Math.max(1, config.resources.sink.replicas),
    source,
    journal,
    telemetry: remote.telemetry,
    clock: pipelineClock({ pipeline_id, journal, keys, telemetry: remote.telemetry }),
    options: spec.options,
    keys,
    letters: spec.letters,
    line: lineFor(revision),
    lineOf: lineFor,
  });
  return { pipeline, arrived };
}

/** By the names that metrics and dead letters know them by. */
function componentsOf({ transforms }: PipelineSpec["config"]): string[] {
  return [...new Set(["ingestor", ...transforms.map(({ type }) => components[type]), "sink"])];
}
