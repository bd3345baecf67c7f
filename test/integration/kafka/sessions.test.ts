import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { useOwnKafka } from "../../support/kafka/use-kafka.ts";
import { span, useScenes } from "./kafka-scene.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Milliseconds for which a login holds: less than the ten seconds before its end at which kafkajs logs in again. */
const session = 2_000;

const inScene = useScenes(useOwnKafka({ properties: { "connections.max.reauth.ms": String(session) } }));

test("a login that holds for two seconds is renewed in time: the pipeline reads on, and its member stays in the group", () =>
  inScene(async (scene) => {
    const [source] = scene.config().sources;
    const connection_params = scene.kafka.connectionParams("SASL_PLAINTEXT", "SCRAM-SHA-256");
    await scene.create(scene.config({}, { sources: [{ ...source, connection_params }] }));
    await scene.reads(3);
    for (const id of span(1, 12)) {
      await scene.produce(id, id);
      await scene.holds(span(1, id));
      await sleep(session / 4);
    }
    await scene.until(({ source: health }) => health?.uncommitted === 0);
    const { lines } = scene.running.log;
    expect(lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
    expect(lines.filter(({ sentence }) => sentence.includes("assigned partitions"))).toHaveLength(1);
  }));
