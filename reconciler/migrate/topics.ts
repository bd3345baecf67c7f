import type { Field } from "./field.ts";

/** A topic of a v2 source, which becomes a source of its own. */
export interface Topic {
  /** Its `id`, or its `name` where that is empty. */
  source_id: string;
  /** Where the source_id is written. */
  id: Field;
  field: Field;
}

export function topicsOf(root: Field): Topic[] {
  return root
    .get("source", "topics")
    .items()
    .map((field) => {
      const id = field.get(field.get("id").text === "" ? "name" : "id");
      return { source_id: id.text, id, field };
    });
}

/** The source that a transform works on: the one that it names, else the first. */
export function sourceOf(named: Field | undefined, topics: readonly Topic[], otherwise: Field): [string, Field] {
  if (named !== undefined && named.text !== "") return [named.text, named];
  const [first] = topics;
  return [first?.source_id ?? "", first?.id ?? otherwise];
}
