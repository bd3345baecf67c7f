import { expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { useScenes } from "./kafka-scene.ts";

vi.setConfig({ testTimeout: 60_000 });

const inScene = useScenes(useKafka());

/** The same config, with other keys in its source. */
function reading(config: PipelineConfig, source: Record<string, unknown>): PipelineConfig {
  return { ...config, sources: [{ ...config.sources[0], ...source }] } as PipelineConfig;
}

test("a topic that is there is ready; one that is not is refused, and is not created by that; absent brokers are neither", () =>
  inScene(async (scene) => {
    const { engine } = scene.running;
    const check = (config: PipelineConfig) => engine.check(config, defaultOptions);
    const config = scene.config();
    expect(await check(config)).toMatchObject({ kind: "ready" });
    const missing = reading(config, { topic: "no-such-topic" });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(await check(missing)).toEqual({
        kind: "refused",
        text: expect.stringMatching(/^Kafka: topic no-such-topic: .*UNKNOWN_TOPIC_OR_PARTITION/) as string,
      });
    }
    const connection_params = { ...scene.kafka.connectionParams(), brokers: ["127.0.0.1:1"] };
    expect(await check(reading(config, { connection_params }))).toEqual({
      kind: "unreachable",
      text: expect.stringMatching(/^Kafka: /) as string,
    });
  }));
