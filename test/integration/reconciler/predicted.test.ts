import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClickHouseProxy } from "../../support/clickhouse-proxy.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
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
  clickhouse = await useClickHouse();
  secrets = { ...(Object.fromEntries(names) as Record<string, string>), "env:SLUICE_SECRET_P": clickhouse.password };
  engine = await TestEngine.open({ secrets, kafka: quick });
}, 120_000);

afterAll(async () => {
  await engine.close();
  await clickhouse.stop();
});

/** The classes of what a plan says of a pull request. */
function classesOf(request: PullRequest): string[] {
  const { changes, errors } = reportFor(request);
  return [...errors.map(() => "error"), ...changes.map(({ kind, level }) => `${kind} ${level}`)];
}

/** What a plan says is done, and lost by that. */
function deedsOf(request: PullRequest): string[] {
  const { changes } = reportFor(request);
  return changes.flatMap(({ kind, cause, effect, level, calls, losses }) => [
    [kind, cause, effect, level, ...calls].join(" "),
    ...losses.map(({ code }) => code),
  ]);
}

const numbered = pullRequests.map((request, number) => ({ ...request, number }));
const troubled = numbered.filter(({ trouble }) => trouble !== undefined);
const ofEachClass = [...new Set([...differing(numbered, classesOf), ...troubled])];
const others = (isEveryCase ? numbered : everySecond(differing(numbered, deedsOf))).filter(
  (one) => !ofEachClass.includes(one),
);

function everySecond<Item>(items: readonly Item[]): Item[] {
  return items.filter((_, index) => index % 2 === 0);
}

async function happens(request: (typeof numbered)[number]): Promise<void> {
  const proxy = await ClickHouseProxy.start(clickhouse.url);
  const stage = { engine, kafka: kafka(), clickhouse, proxy, secrets };
  try {
    const { said, done, errors, unsaid, explanation } = await carriedOut(request, request.number, stage);
    expect(done, explanation).toEqual(said);
    expect(errors.found).toEqual(errors.said);
    expect(unsaid).toEqual([]);
  } finally {
    await proxy.close();
  }
}

describe.concurrent("what sluice plan said is what happens", () => {
  test.each(ofEachClass)("$title", { timeout: 120_000 }, happens);
  test.each(others)("$title", { tags: ["rest"], timeout: 120_000 }, happens);
});
