import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { serversOf } from "../../schemas/servers.ts";
import { EngineError } from "../core/errors.ts";
import { TargetPolicy, TargetRefused, type TargetRules } from "../peers/targets.ts";

/**
 * Throws ADDRESS_INVALID for a config with a server whose address cannot be read, and TARGET_NOT_ALLOWED for one that the
 * operator does not allow, whatever its address is. Others are refused when they are connected to, by their address.
 */
export function checkTargets(config: PipelineConfig, rules: TargetRules | undefined): void {
  const policy = new TargetPolicy(rules);
  for (const server of serversOf(config)) {
    if (server.kind === "embedded") continue;
    const subject = `pipeline ${config.pipeline_id}: ${server.field}`;
    if (server.kind === "unreadable") throw new EngineError("ADDRESS_INVALID", `${subject}: ${server.problem}`);
    try {
      policy.check(server.host, server.port);
    } catch (error) {
      if (!(error instanceof TargetRefused)) throw error;
      throw new EngineError("TARGET_NOT_ALLOWED", `${subject}: ${error.message}`);
    }
  }
}
