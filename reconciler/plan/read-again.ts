import type { SinkConfig } from "../../schemas/index.ts";
import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { compare } from "./dependencies.ts";
import { shareBroker, startOf, topicsOf } from "./reading.ts";

/** What there is to say of a new pipeline whose topic another one reads, or has read. */
export interface ReadAgain {
  text: string;
  /** Both write to one table, so that a person should look at it. */
  isSameTable: boolean;
}

/**
 * Each pipeline has a consumer group of its own, so that a new pipeline_id reads a topic anew. `stays` are the pipelines
 * that files describe: others of the engine may go by the same plan.
 */
export function readAgain(fresh: DesiredPipeline, actual: ActualState, stays: ReadonlySet<string>): ReadAgain[] {
  return topicsOf(fresh.config).flatMap((source) => {
    const isFromEnd = (fresh.options.start ?? source.consumer_group_initial_offset) === "latest";
    const again = isFromEnd ? "is read too" : `is read again from ${startOf(source, fresh.options.start)}`;
    const others = [...actual.pipelines.values()].toSorted((a, b) => compare(a.pipeline_id, b.pipeline_id));
    return others.flatMap((other): ReadAgain[] => {
      const isRead = topicsOf(other.config).some((one) => one.topic === source.topic && shareBroker(one, source));
      const goesOn = stays.has(other.pipeline_id);
      if (!isRead || (isFromEnd && !goesOn)) return [];
      const isSameTable = tableOf(fresh.config.sink) === tableOf(other.config.sink);
      const head = `topic ${source.topic}, which ${other.pipeline_id} ${goesOn ? "reads" : "has read"}, ${again}`;
      const rows = [...(isFromEnd ? [] : ["what it has written"]), ...(goesOn ? ["all that is to come"] : [])];
      const twice = `${rows.join(" and ")} stands there twice`;
      const text = isSameTable
        ? `${head} into the same table: ${twice}`
        : `${head}: rows are written twice, in two tables`;
      return [{ text, isSameTable }];
    });
  });
}

/** Two names of one server are two servers. */
function tableOf({ table, connection_params }: SinkConfig): string {
  const host = connection_params.host.trim().toLowerCase();
  const port = host === "embedded" ? "" : connection_params.port;
  return JSON.stringify([host, port, connection_params.database, table.trim()]);
}
