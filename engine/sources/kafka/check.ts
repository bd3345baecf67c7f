import type { ISocketFactory } from "kafkajs";
import type { KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import type { Readiness } from "../../core/readiness.ts";
import type { Hide } from "../../peers/hidden-secrets.ts";
import type { Log } from "../../telemetry/log.ts";
import { Brokers } from "./brokers/brokers.ts";
import type { KafkaClient } from "./brokers/client.ts";
import { kafkaClient } from "./brokers/connection.ts";
import { failureText, hidingFrom, needsOperator, TopicFailure } from "./brokers/failures.ts";
import type { KafkaSettings } from "./brokers/settings.ts";
import { oneClusterText } from "./clusters/clusters.ts";
import { byConnection, type Connected } from "./connections.ts";

interface CheckTools {
  settings: KafkaSettings;
  log: Log;
  socketFactory?: ISocketFactory;
}

/** Whether the brokers answer, take the login, and have the topics. Joins no group. */
export async function checkKafka(
  sources: readonly KafkaSourceConfig[],
  tools: CheckTools,
  signal: AbortSignal,
): Promise<Readiness> {
  const clusters = new Set<string>();
  for (const connected of byConnection(sources)) {
    const found = await checkCluster(connected, tools, signal);
    if (typeof found !== "string") return found;
    if (clusters.has(found)) return { kind: "refused", text: `Kafka: ${oneClusterText(found)}` };
    clusters.add(found);
  }
  return { kind: "ready" };
}

/** The id of the cluster of a connection, or why it cannot be read. */
async function checkCluster(
  sources: Connected,
  { settings, log, socketFactory }: CheckTools,
  signal: AbortSignal,
): Promise<string | Readiness> {
  const { connection_params } = sources[0];
  const brokers = new Brokers(kafkaClient(connection_params, "sluice-check", log, socketFactory), settings);
  try {
    return await Promise.race([ask(brokers, sources, hidingFrom(connection_params)), tooLate(signal)]);
  } finally {
    await brokers.close().catch(() => undefined);
  }
}

async function ask(brokers: KafkaClient, sources: Connected, hide: Hide): Promise<string | Readiness> {
  try {
    const topics = sources.map(({ topic }) => topic);
    const cluster = await brokers.cluster(topics);
    for (const topic of topics) {
      await brokers.leaders(topic).catch((error: unknown) => {
        throw new TopicFailure(topic, error);
      });
    }
    return cluster;
  } catch (error) {
    return { kind: needsOperator(error) ? "refused" : "unreachable", text: `Kafka: ${failureText(error, hide)}` };
  }
}

function tooLate(signal: AbortSignal): Promise<Readiness> {
  const late: Readiness = { kind: "unreachable", text: "Kafka: the brokers did not answer in time" };
  return new Promise((resolve) => {
    if (signal.aborted) resolve(late);
    signal.addEventListener("abort", () => resolve(late), { once: true });
  });
}
