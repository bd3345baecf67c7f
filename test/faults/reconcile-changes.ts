import { pipelineFile } from "../support/daemon.ts";

/** What a commit says of one pipeline, and what must be seen when it is applied. */
export interface Wished {
  /** Absent: there is no file. */
  text?: string;
  status?: "Running" | "Stopped" | "Terminated";
  name?: string;
  /** Edits since the pipeline was made, and the one that made it. */
  revision?: number;
  /** The commit changes something. */
  isChanged: boolean;
}

/** A pipeline that is changed in one way by each commit. */
export interface ChangedPipeline {
  /** Of its file. */
  id: string;
  /** Its pipeline_id by a commit. */
  idAt: (commit: number) => string;
  /** Events are posted to it. */
  isPosted: boolean;
  /** It is not in the inventory when the commit is read. */
  isForgotten: boolean;
  wished: (commit: number) => Wished;
}

type Say = (commit: number, id: string) => { rest?: string; xSluice?: string; wished?: Partial<Wished> } | undefined;

const isOdd = (commit: number): boolean => commit % 2 === 1;
const filter = (commit: number): string =>
  `transforms:\n  - { type: filter, source_id: input, config: { expression: "n >= -${commit}" } }`;
const named = (name: string): string => `name: ${name}`;

/** By kind of change, what a commit says. Each commit after the first is one change of each. */
const kinds: Readonly<Record<string, Say>> = {
  created: (commit) => (isOdd(commit) ? {} : undefined),
  deleted: (commit) => (isOdd(commit) ? undefined : {}),
  hot: (commit) => ({
    rest: `${named(`Hot ${commit}`)}\nmetadata: { tags: [t${commit}] }`,
    xSluice: `  on_lost: ${isOdd(commit) ? "skip" : "pause"}`,
    wished: { name: `Hot ${commit}` },
  }),
  edited: (commit) => ({ rest: filter(commit), wished: { revision: commit + 1 } }),
  renamed: (commit) => ({ rest: named(`Name ${commit}`), wished: { name: `Name ${commit}` } }),
  recreated: (commit) => ({
    rest: `resources: { nats: { stream: { max_age: ${isOdd(commit) ? 48 : 24}h } } }`,
    xSluice: "  recreate: true",
  }),
  stopped: (commit) => {
    const status = isOdd(commit) ? "Running" : "Stopped";
    return { xSluice: `  state: ${status}`, wished: { status } };
  },
  terminated: (commit) => {
    const status = isOdd(commit) ? "Terminated" : "Running";
    return { xSluice: `  state: ${status}`, wished: { status } };
  },
  moved: (commit, id) => ({
    ...(commit > 0 && { xSluice: `  moved_from: ${movedId(id, commit - 1)}` }),
    wished: { revision: commit + 1 },
  }),
  adopted: () => ({ wished: { isChanged: false } }),
  dependent: (commit, id) => ({
    rest: filter(commit),
    xSluice: `  depends_on: [${id.replace("dependent", "edited")}]`,
    wished: { revision: commit + 1 },
  }),
};

/** The other one of two ids with each commit. */
function movedId(id: string, commit: number): string {
  return isOdd(commit) ? `${id}-odd` : id;
}

const posted: ReadonlySet<string> = new Set(["hot", "edited", "renamed", "recreated", "stopped", "dependent"]);

/** So many pipelines of each kind; events are posted to the first of those that always take them. */
export function changedPipelines(ofEach: number): ChangedPipeline[] {
  return Object.entries(kinds).flatMap(([kind, say]) =>
    Array.from({ length: ofEach }, (_, index): ChangedPipeline => {
      const id = `${kind}-${index}`;
      const idAt = (commit: number): string => (kind === "moved" ? movedId(id, commit) : id);
      return {
        id,
        idAt,
        isPosted: index === 0 && posted.has(kind),
        isForgotten: kind === "adopted",
        wished: (commit) => wishedOf(id, idAt(commit), commit, say),
      };
    }),
  );
}

function wishedOf(id: string, pipeline_id: string, commit: number, say: Say): Wished {
  const said = say(commit, id);
  const before = commit === 0 ? undefined : say(commit - 1, id);
  if (said === undefined) return { isChanged: before !== undefined };
  const { rest = "", xSluice = "", wished } = said;
  const text = pipelineFile(pipeline_id, { rest, xSluice });
  return { text, status: "Running", revision: 1, isChanged: true, ...wished, ...(commit === 0 && { isChanged: true }) };
}
