import type { Field } from "./field.ts";
import { leaf, mapping, withoutComments, type MapPart } from "./part.ts";

/** Whether a person has looked at the filter and says that it is meant as v3 has it. */
export function isReviewed(root: Field): boolean {
  return root.get("x-sluice", "filters_reviewed").isOn;
}

/**
 * The same document with `x-sluice.filters_reviewed: false`, which holds it back until a person has set it to true.
 * What is there already stays: anything but true and false is an error of its own.
 */
export function markedForReview(root: MapPart, filter: Field): MapPart {
  const directives = root.members.get("x-sluice") ?? withoutComments(mapping({}, filter));
  if (directives.kind !== "map" || directives.members.has("filters_reviewed")) return root;
  const mark = withoutComments(leaf(false, filter));
  const marked = { ...directives, members: new Map([...directives.members, ["filters_reviewed", mark]]) };
  return { ...root, members: new Map([...root.members, ["x-sluice", marked]]) };
}
