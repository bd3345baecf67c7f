import { dump } from "js-yaml";
import { load } from "../../reconciler/desired/load.ts";
import type { SourceFile } from "../../reconciler/language/source-text.ts";
import type { Problem } from "../../reconciler/language/problem.ts";
import { normalise, schemaErrors, type Path } from "../../schemas/index.ts";
import { Random } from "../support/random.ts";
import { mutatedDocument } from "./mutate-document.ts";
import { mutatedBytes, mutatedText } from "./mutate-text.ts";
import { texts } from "./seeds.ts";

/** A file that a person, an editor or an enemy may have left behind. The seed decides which. */
export function mutant(seed: number): SourceFile {
  const random = new Random(seed);
  const path = random.pick("a.yaml", "a.yaml", "a.json");
  let text = random.pick(...texts);
  if (path === "a.json" || random.below(2) === 0) {
    const document = mutatedDocument(random);
    text = path === "a.json" ? JSON.stringify(document, undefined, random.pick(0, 2)) : yamlOf(document);
    if (random.below(4) === 0) text = mutatedText(text, random);
  } else text = mutatedText(text, random);
  const bytes = new TextEncoder().encode(text);
  return { path, bytes: random.below(8) === 0 ? mutatedBytes(bytes, random) : bytes };
}

/** What is too deep for the library to write is written as JSON, which is YAML too. */
export function yamlOf(document: unknown): string {
  try {
    return dump(document);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify(document);
  }
}

/** What became of a file. */
export interface Verdict {
  good: number;
  refused: number;
  codes: string[];
}

/** Reads and judges a file. Throws if something else comes of it than problems with places in it, or a good pipeline. */
export function judge(file: SourceFile): Verdict {
  const { pipelines, refused, problems } = load([file]);
  const lines = new TextDecoder().decode(file.bytes).split(/\r\n|\n|\r/);
  for (const problem of problems) mustStandInside(problem, file.path, lines);
  if (pipelines.length + refused.length === 0) throw new Error("neither a pipeline nor a refusal");
  const errors = problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0 !== refused.length > 0) throw new Error("errors and refusals do not go together");
  for (const pipeline of pipelines) {
    const { config, document } = pipeline;
    if (schemaErrors(config).length > 0) throw new Error("the canonical form breaks the schema");
    const again = normalise(document, config);
    if (JSON.stringify(again) !== JSON.stringify(config)) throw new Error("the canonical form is not stable");
    for (const path of pathsOf(config)) mustBeInside(pipeline.place(path), lines);
  }
  return { good: pipelines.length, refused: refused.length, codes: problems.map(({ code }) => code) };
}

const longestMessage = 4000;

function mustStandInside(problem: Problem, path: string, lines: readonly string[]): void {
  const { file, message, expected, found } = problem;
  mustBeInside(problem, lines);
  if (file !== path) throw new Error(`${file} is another file`);
  if (expected === "" || found === "" || /[\n\r]/.test(message) || message.length > longestMessage)
    throw new Error(`not a message: ${JSON.stringify(problem)}`);
}

function mustBeInside({ line, column }: { line: number; column: number }, lines: readonly string[]): void {
  const length = lines[line - 1]?.length;
  if (length === undefined || !(column >= 1) || column > length + 1)
    throw new Error(`${line}:${column} is outside of the file, which has ${lines.length} lines`);
}

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const keys: Iterable<string | number> = Array.isArray(value) ? value.keys() : Object.keys(value);
  return [
    path,
    ...[...keys].flatMap((key) => pathsOf((value as Record<string | number, unknown>)[key], [...path, key])),
  ];
}
