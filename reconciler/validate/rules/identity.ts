import type { Document } from "../../desired/document.ts";
import { printable, type Problem } from "../problem.ts";
import { View } from "../view.ts";

const pattern = /^[a-z](?:[a-z0-9]|-(?!-))*[a-z0-9]$/;

/** The pipeline that a document speaks of, whether or not the rest of it is valid; undefined if it does not say. */
export function pipelineIdOf(document: Document): string | undefined {
  return pipelineIdsOf(document).at(-1);
}

/** The same, where the key may stand twice. */
export function pipelineIdsOf(document: Document): string[] {
  return document.texts("pipeline_id").filter((id) => pattern.test(id));
}

/** What documents say of each other: each pipeline_id once, and depends_on that leads somewhere and not in a circle. */
export function togetherProblems(documents: readonly Document[]): Map<Document, Problem[]> {
  const problems = new Map<Document, Problem[]>(documents.map((document) => [document, []]));
  const byId = documentsById(documents);
  const graph = new Map(documents.map((document) => [pipelineIdOf(document), dependencies(document)]));
  for (const document of documents) {
    const id = pipelineIdOf(document);
    const same = id === undefined ? [] : (byId.get(id) ?? []).filter((other) => other !== document);
    problems.get(document)?.push(...duplicate(document, same), ...dependencyProblems(document, graph));
  }
  return problems;
}

function documentsById(documents: readonly Document[]): Map<string | undefined, Document[]> {
  const byId = new Map<string | undefined, Document[]>();
  for (const document of documents) {
    const id = pipelineIdOf(document);
    const same = byId.get(id);
    if (same === undefined) byId.set(id, [document]);
    else same.push(document);
  }
  return byId;
}

function duplicate(document: Document, same: readonly Document[]): Problem[] {
  if (same.length === 0) return [];
  const id = View.of(document).get("pipeline_id");
  const places = same.slice(0, 3).map((other) => other.place(["pipeline_id"]));
  const found = `"${id.text}" also in ${places.map(({ file, line }) => `${file}:${line}`).join(", ")}`;
  const suggestion = "neither is applied: give one of them another pipeline_id, or remove it";
  return [
    id.problem("DUPLICATE_PIPELINE_ID", { expected: "a pipeline_id that no other document has", found, suggestion }),
  ];
}

/** Dependencies of a document at most; the schema says the same. */
const mostDependencies = 100;

function dependencies(document: Document): View[] {
  return View.of(document).get("x-sluice", "depends_on").items().slice(0, mostDependencies);
}

function dependencyProblems(document: Document, graph: ReadonlyMap<string | undefined, readonly View[]>): Problem[] {
  const own = pipelineIdOf(document);
  return dependencies(document).flatMap((view) => {
    const id = view.text;
    if (id === undefined) return [];
    const found = `"${printable(id)}"`;
    if (!graph.has(id))
      return [view.problem("DEPENDS_ON_MISSING", { expected: "the pipeline_id of another file here", found })];
    if (own === undefined || !reaches(graph, id, own)) return [];
    const circle = id === own ? "itself" : `${found}, which waits for this one`;
    return [view.problem("DEPENDS_ON", { expected: "pipelines that do not wait for this one", found: circle })];
  });
}

function reaches(graph: ReadonlyMap<string | undefined, readonly View[]>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(graph.get(id) ?? []).flatMap((view) => view.text ?? []));
  }
  return false;
}
