import { readFileSync } from "node:fs";
import { load as loadYaml } from "js-yaml";
import { load } from "../../reconciler/desired/load.ts";
import { isObject } from "../../schemas/index.ts";
import { Random } from "../support/random.ts";
import { v2Pipeline } from "../support/version-2.ts";
import { yamlOf } from "./files.ts";
import { mutatedDocument } from "./mutate-document.ts";
import { mutatedText } from "./mutate-text.ts";
import { documents, texts } from "./seeds.ts";

/** A file of an example before and after its mutation. */
export interface MutatedFile {
  path: string;
  before: string;
  after: string;
}

const variables = loadYaml(
  readFileSync(new URL("../../examples/config-repo/environments/production.yaml", import.meta.url), "utf8"),
) as Record<string, string>;

/** Whether pipelines come of a text: what begins with mistakes seldom has none after a mutation. */
function isGood(text: string): boolean {
  return load([{ path: "a.yaml", bytes: Buffer.from(withVariables(text)) }]).pipelines.length > 0;
}

const pipelineTexts = texts.filter(isGood);
const good = documents.filter((one) => isGood(yamlOf(one)));
const byVersion = {
  v2: [...good.filter((one) => isObject(one) && one["version"] === "v2"), v2Pipeline()],
  v3: good.filter((one) => isObject(one) && one["version"] === "v3"),
};

/** The file with this number. Each has pipelines of its own, so that none is refused for its id alone. */
export function mutatedFile(number: number): MutatedFile {
  const random = new Random(number);
  const isJson = random.below(6) === 0;
  const path = `mutant-${number}.${isJson ? "json" : "yaml"}`;
  const named = (text: string): string => withOwnIds(text, number);
  if (!isJson && random.below(3) === 0) {
    const text = random.pick(...pipelineTexts);
    return { path, before: named(text), after: named(mutatedText(text, random)) };
  }
  const document = random.pick(...byVersion[random.pick("v2", "v3")]);
  const written = (one: unknown): string => (isJson ? JSON.stringify(one, undefined, 2) : yamlOf(one));
  const [before, after] = [written(document), written(mutatedDocument(random, [document]))];
  return { path, before: named(before), after: named(random.below(4) === 0 ? mutatedText(after, random) : after) };
}

function withOwnIds(text: string, number: number): string {
  return withVariables(text).replaceAll(
    /(\bpipeline_id["']?[ \t]*:[ \t]*["']?)([a-z][a-z0-9-]*)/g,
    (_, key: string, id: string) => `${key}m${number}-${id.slice(0, 30)}`,
  );
}

/** With the values of an environment, as the examples have it: most commands are given none. */
function withVariables(text: string): string {
  return text.replaceAll(/\$\{var:(\w+)\}/g, (reference, name: string) => variables[name] ?? reference);
}

/** Tests of the pipeline of a file, of which most find nothing as they expect it. */
export function testsOf({ path }: MutatedFile, random: Random): { path: string; text: string } {
  const tests = [
    "tests:",
    "  - name: any event",
    "    events: [{ event: { id: 1, level: error } }, { text: '' }]",
    "",
  ].join("\n");
  return {
    path: path.replace(/\.(yaml|json)$/, ".test.yaml"),
    text: random.below(3) === 0 ? mutatedText(tests, random) : tests,
  };
}

/** What no text of a command may hold: a stack, or the words for a fault of Sluice itself. */
const faults = [
  /\n\s+at .*:\d+:\d+\)?(\n|$)/,
  /\\n\s+at .*:\d+:\d+/,
  /an error of Sluice itself/,
  /This is an error of Sluice/,
];

/** The text from shortly before a stack or a fault; undefined where there is none. */
export function faultIn(text: string): string | undefined {
  const places = faults.map((sign) => text.search(sign)).filter((at) => at >= 0);
  if (places.length === 0) return undefined;
  const at = Math.min(...places);
  return text.slice(Math.max(0, at - 500), at + 1_500);
}
