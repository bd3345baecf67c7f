import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startClickHouse, type TestClickHouse } from "../../support/clickhouse.ts";
import { TestEngine } from "../../support/engine.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { pullRequests } from "../../unit/preview/pull-requests.ts";
import { quick } from "../kafka/kafka-scene.ts";
import { carriedOut } from "./pull-request/carried-out.ts";

const kafka = useKafka();
const names = ["T", "A", "B"].map((name) => [`env:SLUICE_SECRET_${name}`, `a-long-secret-of-${name}`]);
let secrets: Record<string, string>;
let clickhouse: TestClickHouse;
let engine: TestEngine;

beforeAll(async () => {
  clickhouse = await startClickHouse();
  secrets = { ...(Object.fromEntries(names) as Record<string, string>), "env:SLUICE_SECRET_P": clickhouse.password };
  engine = await TestEngine.open({ secrets, kafka: quick });
}, 120_000);

afterAll(async () => {
  await engine.close();
  await clickhouse.stop();
});

const numbered = pullRequests.map((request, number) => ({ ...request, number }));

describe.concurrent("what sluice plan said is what happens", () => {
  test.each(numbered)(
    "$title",
    async (request) => {
      const stage = { engine, kafka: kafka(), clickhouse, secrets };
      const { said, done, errors, unsaid, explanation } = await carriedOut(request, request.number, stage);
      expect(done, explanation).toEqual(said);
      expect(errors.found).toEqual(errors.said);
      expect(unsaid).toEqual([]);
    },
    120_000,
  );
});
