import { load } from "../../../reconciler/desired/load.ts";
import { previewOf, type Side } from "../../../reconciler/preview/preview.ts";
import { type PlanReport, reportOf } from "../../../reconciler/preview/report.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import type { PullRequest } from "./pull-requests.ts";

/** The files of one side: pipelines go to `<id>.yaml`, texts to the path that is their key. */
export type Tree = readonly (PipelineText | Record<string, string>)[];

/** Values of variables by name. */
type Values = Record<string, string>;

export const limit = { count: 5, share: 20 };
const main = { name: "main", commit: "0".repeat(40) };

/** What `sluice plan --base main` reports between these files. */
export function reportBetween(base: Tree, head: Tree, before: Values = {}, after: Values = before): PlanReport {
  return reportOf(previewOf(sideOf(base, before), sideOf(head, after), limit), main, {
    name: "the files as they are",
  });
}

/** What it reports of a pull request. */
export function reportFor({ base, head, variables }: PullRequest): PlanReport {
  return reportBetween(base, head, variables?.base, variables?.head);
}

export function sideOf(tree: Tree, values: Values): Side {
  const files = Object.entries(textsOf(tree))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
  const key = JSON.stringify([textsOf(tree), values]);
  const desired = known.get(key) ?? load(files, new Map(Object.entries(values)));
  known.set(key, desired);
  return { desired, skipped: [] };
}

/** What files ask for: most changes begin with the same ones. */
const known = new Map<string, ReturnType<typeof load>>();

/** The texts of the files, by path. */
export function textsOf(tree: Tree): Record<string, string> {
  const texts = tree.map((one) => (isPipeline(one) ? { [`${one.id}.yaml`]: pipelineText(one) } : one));
  return Object.assign({}, ...texts) as Record<string, string>;
}

function isPipeline(one: Tree[number]): one is PipelineText {
  return typeof one.id === "string";
}
