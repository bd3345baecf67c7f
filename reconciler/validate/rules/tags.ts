import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";

/** Tags have no limit in the format; a warning tells where they stop being labels. */
export const tagRules: readonly Rule[] = [tagLimits];

const mostTags = 50;
const longestTag = 64;

function* tagLimits(document: View): Iterable<Problem> {
  const tags = document.get("metadata", "tags");
  const all = tags.items();
  if (all.length > mostTags)
    yield tags.problem("TAGS", { expected: `at most ${mostTags} tags`, found: `${all.length}` });
  for (const tag of all) {
    if ((tag.text?.length ?? 0) <= longestTag) continue;
    yield tag.problem("TAGS", { expected: `at most ${longestTag} characters`, found: found(tag.value, tag.path) });
  }
}
