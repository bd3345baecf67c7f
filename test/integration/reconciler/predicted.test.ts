import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OperationRecord } from "../../../reconciler/apply/history.ts";
import { Folder } from "../../../reconciler/git/folder.ts";
import type { PlanReport } from "../../../reconciler/preview/report.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";
import { pullRequests } from "../../unit/preview/pull-requests.ts";
import { reportBetween, textsOf, type Tree } from "../../unit/preview/sides.ts";

/** What is not carried out here, and why. */
const left: Readonly<Record<string, string>> = {
  "all files are removed": "files of the other pull requests are there",
  "more files are removed than may be": "a share of all pipelines counts, and those of the others are there",
  "another server": "there is none",
  "a mistake of the base stays": "nothing is there to change",
};

/** Pull requests whose pipelines need no server but the embedded one. */
const carriedOut = pullRequests.filter(({ title, base, head, variables }) => {
  const trees = [...base, ...head];
  return left[title] === undefined && variables === undefined && trees.every(isWebhook);
});

function isWebhook(one: Tree[number]): one is PipelineText {
  return typeof one.id === "string" && !("topic" in one);
}

let engine: TestEngine;
/** What was done to the pipelines of each pull request when its head came. */
let records: readonly OperationRecord[];

/** The pull request with ids that no other one has. */
function ownIds(tree: Tree, number: number): Tree {
  return tree.filter(isWebhook).map((one) => ({
    ...one,
    id: `${one.id}-${number}`,
    ...(one.sluice && { sluice: one.sluice.map((line) => line.replace(/(?<=depends_on: \[)\w+/, `$&-${number}`)) }),
  }));
}

const requests = carriedOut.map(({ title, base, head }, number) => ({
  title,
  number,
  base: ownIds(base, number),
  head: ownIds(head, number),
}));

/** All bases in one turn, then all heads: each pull request has pipelines of its own. */
beforeAll(async () => {
  const names = ["T", "A", "B", "P"].map((name) => [`env:SLUICE_SECRET_${name}`, `a-long-secret-of-${name}`]);
  engine = await TestEngine.open({ secrets: Object.fromEntries(names) as Record<string, string> });
  const { dataDir, log, registry } = engine;
  const files = join(dataDir, "files");
  const source = new Folder({ path: files });
  const reconciler = new Reconciler({ source, engine: engine.engine, dataDir, log, registry, interval: 60_000 });
  const merge = async (side: "base" | "head"): Promise<void> => {
    await rm(files, { recursive: true, force: true });
    for (const request of requests) await write(join(files, `${request.number}`), request[side]);
    const { error } = await reconciler.turn("manual", new AbortController().signal);
    if (error !== undefined) throw error;
  };
  for (const { base } of requests) await prepare(reportBetween([], base));
  await merge("base");
  for (const { base, head } of requests) await prepare(reportBetween(base, head));
  const last = reconciler.history({ limit: 1 }).records[0]?.id ?? 0;
  await merge("head");
  records = reconciler.history({ limit: 1_000 }).records.filter(({ id }) => id > last);
}, 120_000);

afterAll(() => engine.close());

/** What a plan leaves to a person. */
async function prepare({ changes }: PlanReport): Promise<void> {
  const needs = changes.flatMap(({ tables }) => tables).filter(({ by }) => by === "person");
  for (const statement of needs.flatMap(({ statements }) => statements)) await engine.engine.sql(statement);
}

async function write(folder: string, tree: Tree): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(textsOf(tree))) await writeFile(join(folder, path), text);
}

const said = ({ changes }: PlanReport): string[] =>
  changes
    .filter(({ calls }) => calls.length > 0)
    .map(({ pipeline_id, kind, effect, calls }) => `${pipeline_id}: ${kind} (${effect}) by ${calls.join(", ")}`)
    .toSorted();

const done = (number: number): string[] =>
  records
    .filter(({ pipeline_id }) => pipeline_id.endsWith(`-${number}`))
    .map(({ pipeline_id, plan, result, measured }) => {
      const calls = measured.calls.map(({ call }) => call).join(", ");
      return `${pipeline_id}: ${plan.kind} (${plan.effect}) by ${calls}${result === "applied" ? "" : `: ${result}`}`;
    })
    .toSorted();

describe("what sluice plan said is what is done", () => {
  test("on most pull requests, of which most do something", () => {
    expect(requests.length).toBeGreaterThan(45);
    expect(records.length).toBeGreaterThan(30);
  });

  test.each(requests)("$title", ({ number, base, head }) => {
    expect(done(number)).toEqual(said(reportBetween(base, head)));
  });
});
