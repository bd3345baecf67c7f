import { grouped } from "../language/grouped.ts";
import { printable, problem, type Problem } from "../language/problem.ts";
import { pipelineIdOf, type Claim, type Claims } from "./claims.ts";
import { SharedGroups } from "./shared-groups.ts";
import { SharedTables } from "./shared-tables.ts";

/**
 * The problems between documents: a pipeline_id, a table or a consumer group that two of them have, a depends_on that
 * names no pipeline, dependency cycles, and a former id that is not free. Documents without such a problem are not in the result.
 */
export function problemsBetween(all: readonly Claims[]): Map<Claims, Problem[]> {
  const byId = grouped(all, pipelineIdOf);
  const byFormer = grouped(
    all.flatMap((claims) => claims.moved_from.map((former) => ({ claims, former }))),
    ({ former }) => former.text,
  );
  const tables = new SharedTables(all);
  const groups = new SharedGroups(all);
  const cycles = new DependencyCycles(all.map((claims) => [pipelineIdOf(claims), dependencyIds(claims)]));
  const together = new Map<Claims, Problem[]>();
  for (const claims of all) {
    const problems = [
      ...duplicate(claims, byId.get(pipelineIdOf(claims))),
      ...groups.problemsOf(claims),
      ...tables.problemsOf(claims),
      ...dependencyProblems(claims, cycles),
      ...formerProblems(claims, byId, byFormer),
    ];
    if (problems.length > 0) together.set(claims, problems);
  }
  return together;
}

function duplicate(claims: Claims, same: readonly Claims[] = []): Problem[] {
  if (same.length < 2 || pipelineIdOf(claims) === undefined) return [];
  const { text, path, place } = claims.id;
  const found = `"${text}" also in ${placesOf(claims, same)}`;
  const suggestion = "neither is applied: give one of them another pipeline_id, or remove it";
  const expected = "a pipeline_id that no other document has";
  return [problem("DUPLICATE_PIPELINE_ID", place, { path, expected, found, suggestion })];
}

interface Former {
  claims: Claims;
  former: Claim;
}

/** One pipeline becomes one other: its former id is free, and no other document asks for it. */
function formerProblems(
  claims: Claims,
  byId: ReadonlyMap<string | undefined, readonly Claims[]>,
  byFormer: ReadonlyMap<string | undefined, readonly Former[]>,
): Problem[] {
  const own = pipelineIdOf(claims);
  return claims.moved_from.flatMap(({ text: id, path, place }): Problem[] => {
    if (id === undefined) return [];
    const named = `"${printable(id)}"`;
    if (id === own) {
      const expected = "a pipeline_id that this pipeline had before";
      return [problem("MOVED_FROM", place, { path, expected, found: `${named}, which it has now` })];
    }
    const holders = byId.get(id) ?? [];
    if (holders.length > 0) {
      const found = `${named}, which is described in ${placesOf(claims, holders)}`;
      const suggestion =
        "remove that document, which is what this one becomes; or remove moved_from, where both are wanted";
      return [
        problem("MOVED_FROM", place, {
          path,
          expected: "a pipeline_id that no document has any more",
          found,
          suggestion,
        }),
      ];
    }
    const others = (byFormer.get(id) ?? []).filter((one) => one.claims !== claims);
    if (others.length === 0) return [];
    const at = others.slice(0, namedPlaces).map(({ former }) => `${former.place.file}:${former.place.line}`);
    const found = `${named}, also in ${at.join(", ")}`;
    return [
      problem("MOVED_FROM", place, { path, expected: "a pipeline_id from which no other pipeline is moved", found }),
    ];
  });
}

const namedPlaces = 3;

/** The first places of the others: `a.yaml:2, b.yaml:7`. */
function placesOf(claims: Claims, same: readonly Claims[]): string {
  const others = same.slice(0, namedPlaces + 1).filter((other) => other !== claims);
  const places = others.slice(0, namedPlaces).map(({ id }) => id.place);
  return places.map(({ file, line }) => `${file}:${line}`).join(", ");
}

function dependencyIds({ depends_on }: Claims): string[] {
  return depends_on.flatMap(({ text }) => text ?? []);
}

function dependencyProblems(claims: Claims, cycles: DependencyCycles): Problem[] {
  const own = pipelineIdOf(claims);
  return claims.depends_on.flatMap(({ text: id, path, place }) => {
    if (id === undefined) return [];
    const found = `"${printable(id)}"`;
    if (!cycles.has(id)) {
      const expected = "the pipeline_id of another file here";
      return [problem("DEPENDS_ON_MISSING", place, { path, expected, found })];
    }
    if (own === undefined || !cycles.inOne(own, id)) return [];
    const circle = id === own ? "itself" : `${found}, which depends on this one`;
    const expected = "pipelines that do not depend on this one";
    return [problem("DEPENDS_ON", place, { path, expected, found: circle })];
  });
}

/** The cycles among the dependencies of pipelines: their strongly connected components, found in one walk (Tarjan). */
class DependencyCycles {
  readonly #after: ReadonlyMap<string | undefined, readonly string[]>;
  /** The component of each pipeline. */
  readonly #components = new Map<string, number>();

  constructor(waits: Iterable<readonly [string | undefined, readonly string[]]>) {
    this.#after = new Map(waits);
    for (const [id, after] of this.#after) {
      if (id === undefined || this.#components.has(id)) continue;
      // Most depend on no other, and each is a component of its own.
      if (after.length === 0) this.#components.set(id, this.#components.size);
      else this.#walk(id);
    }
  }

  has(id: string): boolean {
    return this.#after.has(id);
  }

  /** Whether `to`, on which `from` depends, depends on `from` too. */
  inOne(from: string, to: string): boolean {
    return this.#components.get(from) === this.#components.get(to);
  }

  /** Depth first with a stack of its own: a chain may be as long as there are files. */
  #walk(start: string): void {
    const numbers = new Map<string, number>();
    const lowest = new Map<string, number>();
    const open: string[] = [];
    const path = [this.#enter(start, numbers, lowest, open)];
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      const next = step.after.pop();
      if (next === undefined) {
        path.pop();
        this.#leave(step.id, numbers, lowest, open);
        const above = path.at(-1);
        if (above !== undefined) lower(lowest, above.id, lowest.get(step.id));
      } else if (!numbers.has(next)) path.push(this.#enter(next, numbers, lowest, open));
      else if (!this.#components.has(next)) lower(lowest, step.id, numbers.get(next));
    }
  }

  #enter(
    id: string,
    numbers: Map<string, number>,
    lowest: Map<string, number>,
    open: string[],
  ): { id: string; after: string[] } {
    numbers.set(id, numbers.size);
    lowest.set(id, numbers.size - 1);
    open.push(id);
    const after = (this.#after.get(id) ?? []).filter((next) => this.#after.has(next) && !this.#components.has(next));
    return { id, after };
  }

  /** A node that reaches none above it is a component with all nodes entered after it. */
  #leave(id: string, numbers: Map<string, number>, lowest: Map<string, number>, open: string[]): void {
    if (lowest.get(id) !== numbers.get(id)) return;
    const component = this.#components.size;
    for (let member = open.pop(); member !== undefined; member = open.pop()) {
      this.#components.set(member, component);
      if (member === id) return;
    }
  }
}

function lower(lowest: Map<string, number>, id: string, to: number | undefined): void {
  if (to !== undefined && to < (lowest.get(id) ?? Infinity)) lowest.set(id, to);
}
