import type { ISocketFactory } from "kafkajs";
import type { KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import type { Readiness } from "../../core/readiness.ts";
import type { Hide } from "../../peers/hidden-secrets.ts";
import type { Log } from "../../telemetry/log.ts";
import { Brokers } from "./brokers/brokers.ts";
import { kafkaClient } from "./brokers/connection.ts";
import { failureText, hidingFrom, needsOperator, TopicFailure } from "./brokers/failures.ts";
import type { KafkaSettings } from "./brokers/settings.ts";

interface CheckTools {
  settings: KafkaSettings;
  log: Log;
  socketFactory?: ISocketFactory;
}

/** Whether the brokers answer, take the login, and have the topics. Joins no group. */
export async function checkKafka(
  sources: readonly KafkaSourceConfig[],
  { settings, log, socketFactory }: CheckTools,
  signal: AbortSignal,
): Promise<Readiness> {
  const [first] = sources;
  if (first === undefined) return { kind: "ready" };
  const brokers = new Brokers(kafkaClient(first.connection_params, "sluice-check", log, socketFactory), settings);
  try {
    return await Promise.race([ask(brokers, sources, hidingFrom(first.connection_params)), tooLate(signal)]);
  } finally {
    await brokers.close().catch(() => undefined);
  }
}

async function ask(brokers: Brokers, sources: readonly KafkaSourceConfig[], hide: Hide): Promise<Readiness> {
  try {
    await brokers.connect();
    for (const { topic } of sources) {
      await brokers.leaders(topic).catch((error: unknown) => {
        throw new TopicFailure(topic, error);
      });
    }
    return { kind: "ready" };
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
