import type { SinkConfig } from "../../schemas/pipeline.ts";
import type { Sink } from "../core/sink.ts";
import { ClickHouseSink, type ClickHouseTools } from "./clickhouse/sink.ts";

type Type = SinkConfig["type"];

/** The dependencies of all types of sinks together. */
export type SinkTools = ClickHouseTools;

/** Makes the sinks of one type. */
interface SinkKind<Config extends SinkConfig = SinkConfig> {
  /** `sink` has its secrets resolved. Throws an Error that names field and column where the mapping does not fit the fields. */
  create(sink: Config, tools: SinkTools): Sink;
}

/** One line for each type of sink that a file may name. */
export const sinkKinds: Readonly<{ [T in Type]: SinkKind<Extract<SinkConfig, { type: T }>> }> = {
  clickhouse: { create: (sink, tools) => new ClickHouseSink({ ...tools, sink }) },
};

/** The sink of a config, by its type. */
export function createSink(sink: SinkConfig, tools: SinkTools): Sink {
  const kind: SinkKind = sinkKinds[sink.type];
  return kind.create(sink, tools);
}
