import { readdirSync, readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { goodPipeline, joinPipeline, kafkaPipeline, otlpPipeline } from "../support/pipeline-file.ts";

const house = new URL("../../", import.meta.url);

const examples = filesBelow("examples");

/**
 * Texts of pipeline files: those of the examples, of the golden tests, and of the other tests. Files that are good come
 * more often, so that mutants of them are good now and then.
 */
export const texts: readonly string[] = [
  ...[0, 1, 2].flatMap(() => [goodPipeline, ...examples]),
  kafkaPipeline,
  joinPipeline,
  otlpPipeline,
  ...filesBelow("test/golden"),
];

function filesBelow(folder: string): string[] {
  return readdirSync(new URL(folder, house), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(ya?ml|json)$/.test(path))
    .toSorted()
    .map((path) => readFileSync(new URL(`${folder}/${path}`, house), "utf8"));
}

/** The documents of those texts, as far as they can be read. */
export const documents: readonly object[] = texts.flatMap((text) => {
  try {
    return loadAll(text).filter((value) => typeof value === "object" && value !== null);
  } catch {
    return [];
  }
});
