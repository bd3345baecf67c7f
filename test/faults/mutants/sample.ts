import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mutationsOf } from "./operators.ts";
import type { Mutant } from "./switched.ts";

interface Sample {
  count: number;
  seed: number;
  /** The number of its first mutant. */
  first: number;
}

/**
 * As many mutants of the sources of a folder as are asked for. Each has its place in the order of a seed by what it
 * changes, so that a change of the sources elsewhere leaves the others as they are.
 */
export function sampleOf(root: string, folder: string, { count, seed, first }: Sample): Mutant[] {
  const mutants = sourcesIn(root, folder).flatMap((file) => mutantsOf(root, file));
  const turns = new Map(mutants.map((mutant) => [mutant, turnOf(mutant, seed)]));
  return mutants
    .toSorted((a, b) => (turns.get(a)! < turns.get(b)! ? -1 : 1))
    .slice(0, count)
    .map((mutant, index) => ({ ...mutant, id: first + index }));
}

function sourcesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))
    .map((path) => `${folder}/${path}`)
    .toSorted();
}

/** A mutant whose turn in the order of a seed is not known yet. */
interface Unsorted extends Mutant {
  /** How many of the file change the same text in the same way before it. */
  nth: number;
}

function mutantsOf(root: string, file: string): Unsorted[] {
  const text = readFileSync(join(root, file), "utf8");
  const seen = new Map<string, number>();
  return mutationsOf(text).map((mutation) => {
    const was = text.slice(mutation.start, mutation.end);
    const becomes = mutation.as === "left out" ? "" : mutation.as.expression;
    const change = JSON.stringify([was, becomes]);
    const nth = seen.get(change) ?? 0;
    seen.set(change, nth + 1);
    const line = text.slice(0, mutation.start).split("\n").length;
    return { ...mutation, id: 0, file, line, was, becomes, nth };
  });
}

function turnOf({ file, was, becomes, nth }: Unsorted, seed: number): string {
  return createHash("sha256")
    .update(JSON.stringify([seed, file, was, becomes, nth]))
    .digest("hex");
}
