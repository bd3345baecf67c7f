import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { EngineError } from "../core/errors.ts";
import type { Server } from "../core/source-kind.ts";
import { TargetPolicy, TargetRefused, type TargetRules } from "../peers/targets.ts";
import { endpointOfSink } from "../sinks/registry.ts";
import { kindOf } from "../sources/registry.ts";

/**
 * Throws TARGET_NOT_ALLOWED for a config with a server that the operator does not allow, whatever its address is. Others
 * are refused when they are connected to, by their address.
 */
export function checkTargets(config: PipelineConfig, rules: TargetRules | undefined): void {
  const policy = new TargetPolicy(rules);
  for (const { field, host, port } of serversOf(config)) {
    try {
      policy.check(host, port);
    } catch (error) {
      if (!(error instanceof TargetRefused)) throw error;
      throw new EngineError("TARGET_NOT_ALLOWED", `pipeline ${config.pipeline_id}: ${field}: ${error.message}`);
    }
  }
}

function serversOf({ sources, sink }: PipelineConfig): Server[] {
  const read = sources.flatMap((source, index) =>
    kindOf(source)
      .serversOf(source)
      .map(({ field, ...address }) => ({ field: `sources[${index}].${field}`, ...address })),
  );
  return [...read, ...endpointOfSink(sink).flatMap(serverOfSink)];
}

/** Nothing for a text that is no URL, which fails where it is connected to. */
function serverOfSink(url: string): Server[] {
  if (!URL.canParse(url)) return [];
  const { hostname, port, protocol } = new URL(url);
  const field = "sink.connection_params.host";
  return [{ field, host: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) }];
}
