import type { Readiness } from "../../../engine/core/readiness.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { checkSource } from "../../../engine/sources/open.ts";
import { keptLog } from "../../support/engine.ts";
import type { ConnectionParams } from "../../support/kafka/access.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { kafkaPipeline } from "../../support/pipelines.ts";

/** Whether a new topic can be read by these settings; link-local brokers are allowed. */
export async function readiness(kafka: TestKafka, params: ConnectionParams): Promise<Readiness> {
  const topic = kafka.unique("orders");
  await kafka.topics.create(topic);
  const config = kafkaPipeline("p", { topic, connection_params: { mechanism: "NO_AUTH", ...params } });
  const settings = { dataDir: "d", run: "r", earlier: [], settings: defaultKafkaSettings };
  const spec = { config, kafka: settings, targets: { allowed: ["*", "fe80::/10"] } };
  return checkSource(spec, { log: keptLog() }, AbortSignal.timeout(20_000));
}
