import { isDeepStrictEqual } from "node:util";
import type { KafkaConnection, KafkaSourceConfig } from "../../../schemas/pipeline.ts";

/** The sources of a pipeline that have one connection, at least one. */
export type Connected = readonly [KafkaSourceConfig, ...KafkaSourceConfig[]];

/** Sources by their connections, in their order. */
export function byConnection(sources: readonly KafkaSourceConfig[]): Connected[] {
  const groups: [KafkaSourceConfig, ...KafkaSourceConfig[]][] = [];
  for (const source of sources) {
    const group = groups.find(([first]) => isDeepStrictEqual(given(first), given(source)));
    if (group === undefined) groups.push([source]);
    else group.push(source);
  }
  return groups;
}

/** How sentences name a cluster: by a broker of its connection. */
export function clusterName({ brokers }: Pick<KafkaConnection, "brokers">): string {
  return `Kafka at ${brokers[0]?.trim() ?? ""}`;
}

/** Leaves out members that mean the same as their absence. */
function given({ connection_params }: KafkaSourceConfig): Record<string, unknown> {
  const members = Object.entries(connection_params);
  return Object.fromEntries(members.filter(([, value]) => value !== "" && value !== false && value !== undefined));
}
