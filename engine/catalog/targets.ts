import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { EngineError } from "../core/errors.ts";
import { TargetPolicy, TargetRefused, type TargetRules } from "../peers/targets.ts";
import { endpointOfSink } from "../sinks/registry.ts";
import { kindOf } from "../sources/registry.ts";

/** A server that a pipeline connects to. */
interface Server {
  /** The field that names it. */
  field: string;
  host: string;
  port: number;
}

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
      .flatMap(({ field, address }) => serverOf(`sources[${index}].${field}`, address)),
  );
  return [...read, ...endpointOfSink(sink).flatMap((url) => serverOf("sink.connection_params.host", url))];
}

/** Reads `host:port` or a URL; nothing for a text that is neither, which fails where it is connected to. */
function serverOf(field: string, text: string): Server[] {
  const url = text.includes("://") ? text : `tcp://${text}`;
  if (!URL.canParse(url)) return [];
  const { hostname, port, protocol } = new URL(url);
  return [{ field, host: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) }];
}
