import type { Path } from "../../../schemas/index.ts";
import type { Document } from "../../desired/document.ts";
import { printable, type Problem } from "../problem.ts";
import { View } from "../view.ts";
import { Circles } from "./circles.ts";
import { documentsByTable, sharedTable } from "./tables.ts";

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
  const byId = documentsById(documents);
  const byTable = documentsByTable(documents);
  const circles = new Circles(documents.map((document) => [pipelineIdOf(document), dependencyIds(document)]));
  return new Map(
    documents.map((document) => [
      document,
      [
        ...duplicate(document, byId.get(pipelineIdOf(document))),
        ...sharedTable(document, byTable),
        ...dependencyProblems(document, circles),
      ],
    ]),
  );
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

function duplicate(document: Document, same: readonly Document[] = []): Problem[] {
  if (same.length < 2 || pipelineIdOf(document) === undefined) return [];
  const id = View.of(document).get("pipeline_id");
  const found = `"${id.text}" also in ${placesOf(document, same, ["pipeline_id"])}`;
  const suggestion = "neither is applied: give one of them another pipeline_id, or remove it";
  return [
    id.problem("DUPLICATE_PIPELINE_ID", { expected: "a pipeline_id that no other document has", found, suggestion }),
  ];
}

const namedPlaces = 3;

/** The first places of the others: `a.yaml:2, b.yaml:7`. */
function placesOf(document: Document, same: readonly Document[], path: Path): string {
  const others = same.slice(0, namedPlaces + 1).filter((other) => other !== document);
  const places = others.slice(0, namedPlaces).map((other) => other.place(path));
  return places.map(({ file, line }) => `${file}:${line}`).join(", ");
}

/** Dependencies of a document at most; the schema says the same. */
const mostDependencies = 100;

function dependencies(document: Document): View[] {
  return View.of(document).get("x-sluice", "depends_on").items(mostDependencies);
}

function dependencyIds(document: Document): string[] {
  return dependencies(document).flatMap(({ text }) => text ?? []);
}

function dependencyProblems(document: Document, circles: Circles): Problem[] {
  const own = pipelineIdOf(document);
  return dependencies(document).flatMap((view) => {
    const id = view.text;
    if (id === undefined) return [];
    const found = `"${printable(id)}"`;
    if (!circles.has(id))
      return [view.problem("DEPENDS_ON_MISSING", { expected: "the pipeline_id of another file here", found })];
    if (own === undefined || !circles.join(own, id)) return [];
    const circle = id === own ? "itself" : `${found}, which waits for this one`;
    return [view.problem("DEPENDS_ON", { expected: "pipelines that do not wait for this one", found: circle })];
  });
}
