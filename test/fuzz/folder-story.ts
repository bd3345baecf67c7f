import { appendFile, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { Registry } from "prom-client";
import { Folder } from "../../reconciler/git/folder/folder.ts";
import type { Revision } from "../../reconciler/git/revision.ts";
import { Reconciler } from "../../reconciler/reconciler.ts";
import { keptLog } from "../support/engine.ts";
import { ModelEngine } from "../support/model-engine.ts";
import { dedupOf, pipelineText } from "../support/pipeline-text.ts";

/** How a folder becomes another one. */
export type Way =
  // Everything is removed, then copied.
  | "emptied"
  // Files are written over, and what is left over is removed, in any order.
  | "overwritten"
  // Files get other names first.
  | "renamed"
  // The folder is renamed, another one is made in its place and filled.
  | "made-again"
  // A complete copy beside takes the place of the folder.
  | "swapped"
  // `--dir` is a link, which leads to a folder that is filled afterwards.
  | "link-first"
  // `--dir` is a link, which leads to a complete folder.
  | "link-last"
  // Files are links, as a mounted ConfigMap has them, and one link behind them all is swapped.
  | "config-map";

/** A pipeline of a state: the file that has it, and what may be edited of it. */
interface Described {
  id: string;
  file: string;
  expression: string;
}

export interface Story {
  way: Way;
  before: Described[];
  after: Described[];
  /** Who writes a file pauses within it for less than a file has to stand still: no half of one may count. */
  isBrief: boolean;
  /** One after the other for each decision: thousandths. */
  draws: number[];
}

const ids = ["alpha", "bravo", "carol", "delta", "echo-x", "fox-x"] as const;
const files = ["a.yaml", "b.yaml", "sub/c.yml", "sub/d.yaml", "e.yaml", "f.yaml"] as const;

const state = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom(...ids),
    file: fc.constantFrom(...files),
    expression: fc.constantFrom("id > 1", "id > 2"),
  }),
  { selector: ({ id }) => id, minLength: 3, maxLength: ids.length },
);

const ways: readonly Way[] = [
  "emptied",
  "overwritten",
  "renamed",
  "made-again",
  "swapped",
  "link-first",
  "link-last",
  "config-map",
];

export const anyStory: fc.Arbitrary<Story> = fc.record({
  way: fc.constantFrom(...ways),
  before: state,
  after: state,
  isBrief: fc.boolean(),
  draws: fc.array(fc.nat({ max: 999 }), { minLength: 30, maxLength: 60 }),
});

/** What a story did, so that a run can tell that it tried something. */
export interface Sightings {
  /** Pipelines that were deleted since the last state lacks them. */
  deleted: number;
  /** Turns that saw a folder without a pipeline that the last state has. */
  halves: number;
  /** Turns that saw a file that was being written. */
  changing: number;
}

const { signal } = new AbortController();

/** Milliseconds that a removal waits, and the longest pause between two steps of a copy. */
const settle = 10_000;
const longestPause = 9_900;
/** The same between two parts of one file, where a story is brief. */
const longestPart = 1_900;

/** Half of a copy may be valid and say something else: the number at its end, for which the pipeline is made anew. */
function textOf({ id, expression }: Described): string {
  const root = ["resources:", "  nats:", "    stream:", "      max_msgs: 500000"];
  return pipelineText({ id, expression, transforms: [dedupOf("id")], sluice: ["recreate: true"], root });
}

type Tree = ReadonlyMap<string, string>;

function treeOf(described: readonly Described[]): Tree {
  const tree = new Map<string, string>();
  for (const one of described) {
    const before = tree.get(one.file);
    tree.set(one.file, before === undefined ? textOf(one) : `${before}---\n${textOf(one)}`);
  }
  return tree;
}

/** One story: a folder that a reconciler follows while somebody changes it, step by step, by a clock of its own. */
export class FolderStory {
  readonly sightings: Sightings = { deleted: 0, halves: 0, changing: 0 };
  readonly #story: Story;
  readonly #home: string;
  readonly #engine = new ModelEngine();
  readonly #reconciler: Reconciler;
  readonly #kept: readonly string[];
  readonly #whole: ReadonlySet<string>;
  /** The steps after which a file is not complete. */
  readonly #parts = new Set<() => Promise<unknown>>();
  #now = 0;
  #draw = 0;
  #releases = 0;

  private constructor(story: Story, home: string, waits: number) {
    this.#story = story;
    this.#home = home;
    const last = new Set(story.after.map(({ id }) => id));
    this.#kept = story.before.map(({ id }) => id).filter((id) => last.has(id));
    this.#whole = new Set([...treeOf(story.before).values(), ...treeOf(story.after).values()]);
    const pause = async (wait: number): Promise<void> => void (this.#now += wait);
    const source = new Folder({ path: this.#dir, settle: waits, now: () => this.#now, pause });
    this.#reconciler = new Reconciler({
      source,
      engine: this.#engine,
      dataDir: join(home, "data"),
      log: keptLog(),
      registry: new Registry(),
      interval: 60_000,
      maxDeletions: "100%",
      // For as long as it takes: what is under way at the end of a turn would be seen in the next one.
      applyTimeout: 3_600_000,
    });
  }

  /**
   * Lives through a story, whose removals wait for so many milliseconds. Throws where a pipeline that the last state has was
   * deleted, and where half of a file counted though its other half came soon.
   */
  static async live(story: Story, waits = settle): Promise<Sightings> {
    const home = await mkdtemp(join(process.env["MEMORY_TMPDIR"] ?? tmpdir(), "sluice-folder-story-"));
    await mkdir(join(home, "data"));
    const one = new FolderStory(story, home, waits);
    try {
      await one.#live();
      return one.sightings;
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }

  get #dir(): string {
    return join(this.#home, "pipelines");
  }

  async #live(): Promise<void> {
    const { before, after } = this.#story;
    await this.#begin(treeOf(before));
    await this.#stand();
    const begun = this.#engine.list().map(({ pipeline_id }) => pipeline_id);
    if (begun.length !== before.length) throw new Error(`of ${before.length} pipelines ${begun.length} began`);
    this.#engine.effects.splice(0);
    for (const step of this.#steps(treeOf(before), treeOf(after))) {
      await step();
      await this.#between(this.#story.isBrief && this.#parts.has(step) ? longestPart : longestPause);
    }
    await this.#stand();
    this.#check();
  }

  #check(): void {
    const { effects } = this.#engine;
    const harmed = this.#kept.filter((id) => effects.includes(`delete ${id}`) || effects.includes(`terminate ${id}`));
    if (harmed.length > 0)
      throw new Error(`deleted, and in the last state: ${harmed.join(", ")}: ${effects.join("; ")}`);
    const missing = this.#kept.filter((id) => !this.#engine.pipelines.has(id));
    if (missing.length > 0) throw new Error(`not there, and in the last state: ${missing.join(", ")}`);
    this.sightings.deleted = effects.filter((one) => one.startsWith("delete ")).length;
  }

  #checkWhole(revision: Revision): void {
    const half = revision.files.find(({ bytes }) => !this.#whole.has(bytes.toString()));
    if (half !== undefined) throw new Error(`half of ${half.path} counted:\n${half.bytes.toString()}`);
  }

  /** The folder stands still until everything is carried out. */
  async #stand(): Promise<void> {
    for (let turn = 0; turn < 4; turn += 1) {
      await this.#reconciler.turn("poll", signal);
      this.#now += settle + 1;
    }
  }

  /** A pause within a copy, in which turns may be taken. */
  async #between(longest: number): Promise<void> {
    let left = Math.floor(this.#next() * longest);
    for (let turns = Math.floor(this.#next() * 3); turns > 0; turns -= 1) {
      const part = Math.floor(this.#next() * left);
      this.#now += part;
      left -= part;
      const { revision, pipelines } = await this.#reconciler.turn("change", signal);
      if (revision === undefined || pipelines === undefined) continue;
      if (this.#story.isBrief) this.#checkWhole(revision);
      if (revision.settling?.changing !== undefined) this.sightings.changing += 1;
      const seen = new Set(pipelines.map(({ pipeline_id }) => pipeline_id));
      if (this.#kept.some((id) => !seen.has(id))) this.sightings.halves += 1;
    }
    this.#now += left;
  }

  #next(): number {
    const { draws } = this.#story;
    this.#draw += 1;
    return (draws[this.#draw % draws.length] ?? 0) / 1_000;
  }

  #shuffled<Item>(items: readonly Item[]): Item[] {
    return items
      .map((item) => ({ item, by: this.#next() }))
      .toSorted((a, b) => a.by - b.by)
      .map(({ item }) => item);
  }

  async #begin(tree: Tree): Promise<void> {
    const { way } = this.#story;
    if (way === "link-first" || way === "link-last") {
      await this.#fill(this.#release(), tree);
      await symlink("release-1", this.#dir);
    } else if (way === "config-map") {
      await this.#fill(join(this.#dir, "..v1"), tree);
      await symlink("..v1", join(this.#dir, "..data"));
      for (const path of tree.keys()) await this.#link(path);
    } else await this.#fill(this.#dir, tree);
  }

  *#steps(before: Tree, after: Tree): Generator<() => Promise<void>> {
    const copies = this.#copies(this.#dir, after);
    const removals = (paths: readonly string[]) => paths.map((path) => () => rm(join(this.#dir, path)));
    const gone = [...before.keys()].filter((path) => !after.has(path));
    yield () => appendFile(join(this.#home, "beside.log"), "line\n");
    switch (this.#story.way) {
      case "emptied":
        yield* removals(this.#shuffled([...before.keys()]));
        yield* copies.flat();
        break;
      case "overwritten":
        yield* this.#shuffled([...removals(gone).map((step) => [step]), ...copies]).flat();
        break;
      case "renamed":
        for (const path of this.#shuffled([...before.keys()]))
          yield () => rename(join(this.#dir, path), join(this.#dir, `${path}.moved.yaml`));
        yield* copies.flat();
        for (const path of before.keys()) yield () => rm(join(this.#dir, `${path}.moved.yaml`));
        break;
      case "made-again":
        yield () => rename(this.#dir, join(this.#home, "old"));
        yield () => mkdir(this.#dir);
        yield* copies.flat();
        break;
      case "swapped":
        yield () => this.#fill(join(this.#home, "next"), after);
        yield () => rename(this.#dir, join(this.#home, "old"));
        yield () => rename(join(this.#home, "next"), this.#dir);
        break;
      case "link-first": {
        const release = this.#release();
        yield () => mkdir(release);
        yield () => this.#relink(this.#dir, release);
        yield* this.#copies(release, after).flat();
        break;
      }
      case "link-last": {
        const release = this.#release();
        yield* this.#copies(release, after).flat();
        yield () => rm(this.#dir);
        yield () => symlink(release, this.#dir);
        break;
      }
      case "config-map":
        yield () => this.#fill(join(this.#dir, "..v2"), after);
        yield () => this.#relink(join(this.#dir, "..data"), "..v2");
        for (const path of after.keys()) if (!before.has(path)) yield () => this.#link(path);
        for (const path of gone) yield () => rm(join(this.#dir, path));
        yield () => rm(join(this.#dir, "..v1"), { recursive: true });
    }
  }

  #release(): string {
    this.#releases += 1;
    return join(this.#home, `release-${this.#releases}`);
  }

  async #fill(folder: string, tree: Tree): Promise<void> {
    for (const [path, text] of tree) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  }

  async #link(path: string): Promise<void> {
    await mkdir(dirname(join(this.#dir, path)), { recursive: true });
    await symlink(`${path.includes("/") ? "../" : ""}..data/${path}`, join(this.#dir, path));
  }

  async #relink(link: string, target: string): Promise<void> {
    await symlink(target, `${link}-new`);
    await rename(`${link}-new`, link);
  }

  /** For each file the steps of its copy, in any order: in parts, as `cp` writes them, or beside and renamed. */
  #copies(folder: string, tree: Tree): (() => Promise<void>)[][] {
    return this.#shuffled([...tree]).map(([path, text]) => this.#copy(join(folder, path), text));
  }

  #copy(file: string, text: string): (() => Promise<void>)[] {
    const made = (): Promise<unknown> => mkdir(dirname(file), { recursive: true });
    const how = this.#next();
    if (how < 0.4)
      return [
        async () => {
          await made();
          await writeFile(`${file}.part`, text);
          await rename(`${file}.part`, file);
        },
      ];
    const cuts = [this.#cut(text), this.#cut(text)].toSorted((a, b) => a - b);
    const [first = 0, second = 0] = cuts;
    const begun = async (): Promise<void> => {
      await made();
      await appendFile(file, "");
      await truncate(file);
      await appendFile(file, text.slice(0, first));
      if (how > 0.8) await utimes(file, 1, 1);
    };
    // A step that writes nothing would make the pause longer than the longest one.
    const parts = [text.slice(first, second), text.slice(second)].filter((part) => part !== "");
    const steps = [begun, ...parts.map((part) => () => appendFile(file, part))];
    for (const step of steps.slice(0, -1)) this.#parts.add(step);
    return steps;
  }

  /** Often at the end of a line or near the end, where what is there may be a valid file. */
  #cut(text: string): number {
    const at = Math.floor(this.#next() * text.length);
    const where = this.#next();
    if (where < 0.5) return text.lastIndexOf("\n", at) + 1;
    return where < 0.8 ? text.length - Math.floor(this.#next() * 8) : at;
  }
}
