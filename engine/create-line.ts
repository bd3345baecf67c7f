import type { PipelineConfig, SchemaField } from "../schemas/pipeline.ts";
import { EngineError } from "./core/errors.ts";
import type { Transform } from "./core/transform.ts";
import type { Line } from "./line.ts";
import { ClickHouseSink, type ClickHouseSinkOptions } from "./sinks/clickhouse/sink.ts";
import { DeclaredFields } from "./sources/declared-fields.ts";
import type { Log } from "./telemetry/log.ts";
import { FilterTransform } from "./transforms/filter/filter.ts";
import { StatelessTransform } from "./transforms/stateless/stateless.ts";

interface LineOptions {
  pipeline_id: string;
  config: PipelineConfig;
  revision: number;
  options: { create_table: boolean };
  embedded?: ClickHouseSinkOptions["embedded"];
  log: Log;
}

/**
 * The steps of a config in their fixed order: declared fields, filter, stateless, sink. Throws what a part throws that
 * does not fit the config, and NOT_SUPPORTED for what this version has no part for.
 */
export function createLine({ config, revision, options, embedded, log }: LineOptions): Line {
  const source = config.sources[0];
  if (source === undefined || config.sources.length > 1 || source.type !== "webhook") {
    throw notSupported(config, "expected one source of type webhook");
  }
  const fields = source.schema_fields;
  const transforms = config.transforms.map((entry) => createTransform(config, entry, fields));
  const stateless = transforms.find((transform) => transform instanceof StatelessTransform);
  return {
    revision,
    transforms: [new DeclaredFields(fields), ...transforms],
    sink: new ClickHouseSink({
      pipeline_id: config.pipeline_id,
      sink: config.sink,
      schema: stateless?.outputs ?? fields,
      options,
      ...(embedded === undefined ? {} : { embedded }),
      log,
    }),
  };
}

function createTransform(
  config: PipelineConfig,
  entry: PipelineConfig["transforms"][number],
  fields: readonly SchemaField[],
): Transform {
  if (entry.type === "filter") return new FilterTransform(entry.config.expression, fields);
  if (entry.type === "stateless") return new StatelessTransform(entry.config.transforms, fields);
  throw notSupported(config, `transforms of type ${entry.type} are not supported yet`);
}

function notSupported({ pipeline_id }: PipelineConfig, text: string): EngineError {
  return new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id}: ${text}`);
}
