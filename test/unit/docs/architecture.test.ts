import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf, type SourceText } from "./import-rules.ts";

const page = readFileSync("docs/architecture.md", "utf8");
const trees = ["engine", "reconciler", "schemas"];
const files = trees.flatMap((tree) =>
  readdirSync(tree, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))
    .map((path): SourceText => ({ path: `${tree}/${path}`, text: readFileSync(`${tree}/${path}`, "utf8") })),
);
const imports = files.flatMap(importsOf);
const imported = new Set(imports.map(({ from, to }) => `${from} > ${to}`));

describe("the rooms", () => {
  const listed = [...sectionOf("## The rooms").matchAll(/^\| `([\w/-]+)` /gm)].map(([, folder = ""]) => folder);

  test("are the folders that hold source files, each once", () => {
    const folders = new Set(files.map(({ path }) => dirname(path)));
    const missing = [...folders].filter((folder) => !listed.includes(folder));
    const superfluous = listed.filter((folder, index) => !folders.has(folder) || listed.indexOf(folder) !== index);
    expect({ missing, superfluous }).toEqual({ missing: [], superfluous: [] });
  });

  test("import rooms that are listed before them", () => {
    expect(upwardImports(listed, imports)).toEqual([]);
  });

  test("a planted import of a later room is found", () => {
    const planted = { from: "engine/event/event.ts", to: "engine/workers/pool.ts", isType: true };
    expect(upwardImports(listed, [...imports, planted])).toEqual(["engine/event/event.ts > engine/workers/pool.ts"]);
  });
});

/** At most so many files are to be read to follow one thing from its beginning to its end. */
const mostSteps = 30;

describe.each([["One Kafka message"], ["One commit"]])("the walk of %s", (heading) => {
  const steps = stepsOf(sectionOf(`### ${heading}`));

  test(`has at most ${mostSteps} files, each once`, () => {
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.length).toBeLessThanOrEqual(mostSteps);
    expect(new Set(steps.map(({ file }) => file)).size).toBe(steps.length);
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, index) => index + 1));
  });

  test("names files that are there", () => {
    expect(steps.map(({ file }) => file).filter((file) => !existsSync(file))).toEqual([]);
  });

  test("goes from each file to one that it imports, or that imports it", () => {
    expect(gapsOf(steps)).toEqual([]);
  });

  test("a planted gap is found", () => {
    const far = { number: steps.length + 1, file: "schemas/duration.ts" };
    expect(gapsOf([...steps, far])).toEqual([`${steps.at(-1)!.file} - ${far.file}`]);
  });
});

interface Step {
  number: number;
  file: string;
  /** The step that it is entered from, where that is not the one before. */
  from?: number;
  /** The interface at which the two files meet. */
  through?: string;
  /** The two do not meet in the code: a message goes from one to the other. */
  isMessage?: boolean;
}

function stepsOf(text: string): Step[] {
  return [...text.matchAll(/^(\d+)\. `([^`]+)`(?: \(([^)]*)\))?:/gm)].map(([, number, file = "", how = ""]) => {
    const [, from] = /\bfrom (\d+)/.exec(how) ?? [];
    const [, through] = /\bthrough `([^`]+)`/.exec(how) ?? [];
    return {
      number: Number(number),
      file,
      ...(from !== undefined && { from: Number(from) }),
      ...(through !== undefined && { through }),
      isMessage: how.includes("by a message"),
    };
  });
}

/** Steps that no import leads to. */
function gapsOf(steps: readonly Step[]): string[] {
  return steps.slice(1).flatMap(({ file, number, from = number - 1, through, isMessage }) => {
    const before = steps.find((step) => step.number === from && from < number)?.file ?? "nothing";
    const isMet = through === undefined ? meets(before, file) : meets(before, through) && meets(through, file);
    return isMet || isMessage ? [] : [`${before} - ${file}`];
  });
}

function meets(one: string, other: string): boolean {
  return imported.has(`${one} > ${other}`) || imported.has(`${other} > ${one}`);
}

/** Imports from a room of one that is listed after it. A room is a folder below the top of its tree, with all within it. */
function upwardImports(listed: readonly string[], all: readonly { from: string; to: string }[]): string[] {
  const places = new Map<string, number>();
  for (const [index, folder] of listed.entries()) {
    const room = roomOf(`${folder}/`);
    if (!places.has(room)) places.set(room, index);
  }
  const placeOf = (path: string): number | undefined => places.get(roomOf(path));
  return all.flatMap(({ from, to }) => {
    const [own, other] = [placeOf(from), placeOf(to)];
    const isSameTree = from.split("/", 1)[0] === to.split("/", 1)[0];
    return isSameTree && own !== undefined && other !== undefined && own < other ? [`${from} > ${to}`] : [];
  });
}

function roomOf(path: string): string {
  const [tree = "", room, rest] = path.split("/");
  return rest === undefined ? tree : `${tree}/${room}`;
}

/** The text under a heading, up to the next one of its level or above. */
function sectionOf(heading: string): string {
  const start = page.indexOf(`\n${heading}`);
  expect(start, heading).toBeGreaterThan(-1);
  const [hashes = ""] = heading.split(" ", 1);
  const [text = ""] = page.slice(start + heading.length).split(new RegExp(`\\n#{1,${hashes.length}} `));
  return text;
}
