import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startClickHouse, type TestClickHouse } from "../../support/clickhouse.ts";
import { TestEngine } from "../../support/engine.ts";
import { differing, isEveryCase } from "../../support/cases.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { type PullRequest, pullRequests } from "../../unit/preview/pull-requests.ts";
import { reportFor } from "../../unit/preview/sides.ts";
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

/** What a plan says of a pull request, one thing each. */
function thingsSaid(request: PullRequest): string[] {
  const { changes, errors } = reportFor(request);
  return [
    ...errors.map(({ code }) => code),
    ...changes.flatMap(({ kind, cause, effect, level, calls, costs, losses, warnings, tables }) => [
      [kind, cause, effect, level, ...calls].join(" "),
      ...[...costs, ...losses, ...warnings].map(({ code }) => code),
      ...tables.map(({ by }) => `table by ${by}`),
    ]),
  ];
}

const numbered = pullRequests.map((request, number) => ({ ...request, number }));
const chosen = isEveryCase ? numbered : differing(numbered, thingsSaid);

describe.concurrent("what sluice plan said is what happens", () => {
  test.each(chosen)(
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
