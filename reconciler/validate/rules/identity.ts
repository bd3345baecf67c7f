import { printable, problem, type Problem } from "../problem.ts";
import { Circles } from "./circles.ts";
import type { Claims } from "./claims.ts";
import { claimsByTable, sharedTable } from "./tables.ts";

/**
 * What documents say of each other: each pipeline_id once, and depends_on that leads somewhere and not in a circle. Those
 * of which nothing is said are not in it.
 */
export function togetherProblems(all: readonly Claims[]): Map<Claims, Problem[]> {
  const byId = claimsById(all);
  const byTable = claimsByTable(all);
  const circles = new Circles(all.map((claims) => [pipelineIdOf(claims), dependencyIds(claims)]));
  const together = new Map<Claims, Problem[]>();
  for (const claims of all) {
    const problems = [
      ...duplicate(claims, byId.get(pipelineIdOf(claims))),
      ...sharedTable(claims, byTable),
      ...dependencyProblems(claims, circles),
    ];
    if (problems.length > 0) together.set(claims, problems);
  }
  return together;
}

/** The pipeline that a document speaks of; undefined if it does not say. */
function pipelineIdOf({ pipeline_ids }: Claims): string | undefined {
  return pipeline_ids.at(-1);
}

function claimsById(all: readonly Claims[]): Map<string | undefined, Claims[]> {
  const byId = new Map<string | undefined, Claims[]>();
  for (const claims of all) {
    const id = pipelineIdOf(claims);
    const same = byId.get(id);
    if (same === undefined) byId.set(id, [claims]);
    else same.push(claims);
  }
  return byId;
}

function duplicate(claims: Claims, same: readonly Claims[] = []): Problem[] {
  if (same.length < 2 || pipelineIdOf(claims) === undefined) return [];
  const { text, path, place } = claims.id;
  const found = `"${text}" also in ${placesOf(claims, same)}`;
  const suggestion = "neither is applied: give one of them another pipeline_id, or remove it";
  const expected = "a pipeline_id that no other document has";
  return [problem("DUPLICATE_PIPELINE_ID", place, { path, expected, found, suggestion })];
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

function dependencyProblems(claims: Claims, circles: Circles): Problem[] {
  const own = pipelineIdOf(claims);
  return claims.depends_on.flatMap(({ text: id, path, place }) => {
    if (id === undefined) return [];
    const found = `"${printable(id)}"`;
    if (!circles.has(id)) {
      const expected = "the pipeline_id of another file here";
      return [problem("DEPENDS_ON_MISSING", place, { path, expected, found })];
    }
    if (own === undefined || !circles.join(own, id)) return [];
    const circle = id === own ? "itself" : `${found}, which waits for this one`;
    const expected = "pipelines that do not wait for this one";
    return [problem("DEPENDS_ON", place, { path, expected, found: circle })];
  });
}
