import { ExpressionError, freeNames } from "../../engine/language.ts";
import type { Field } from "./field.ts";
import { leaf, list, type MapPart, mapping, type Part, text, withoutComments } from "./part.ts";
import { sourceOf, type Topic } from "./schema-list.ts";
import type { Warn } from "./warning.ts";

/** The transforms in the order in which v2 runs them: a dedup for each topic that has one, the filter, the stateless one. */
export function transformsOf(
  root: Field,
  topics: readonly Topic[],
  keepBehaviour: boolean,
  warn: Warn,
): Part | undefined {
  const [filter, stateless] = [root.get("filter"), root.get("stateless_transformation")];
  const dedups = topics.filter(hasDedup);
  const transforms = [
    ...dedups.map(dedupOf),
    ...(filter.get("enabled").isOn ? [filterOf(root, topics, keepBehaviour, warn)] : []),
    ...(stateless.get("enabled").isOn ? [statelessOf(stateless, topics)] : []),
  ];
  if (transforms.length === 0) return undefined;
  const holder = [filter, stateless].find((one) => one.get("enabled").isOn);
  return withoutComments(list(transforms, holder ?? root.get("source")));
}

export function hasDedup({ field }: Topic): boolean {
  return field.get("deduplication", "enabled").isOn;
}

interface TransformParts {
  /** Its enabled, whose comment moves to the type. */
  enabled: Field;
  source: readonly [string, Field];
  config: Part;
  field: Field;
}

function transformOf(type: string, { enabled, source: [source_id, named], config, field }: TransformParts): Part {
  const id = leaf(source_id, named);
  const isOwn = named.path[0] === field.path[0] && named.path.at(-1) === "source_id";
  const members = {
    type: leaf(type, enabled),
    source_id: isOwn ? id : withoutComments(id),
    config: withoutComments(config),
  };
  // In the order of v3: in v2 most of these fields are elsewhere.
  return { ...mapping({}, field), members: new Map(Object.entries(members)) };
}

function dedupOf({ field, source_id, id }: Topic): Part {
  const dedup = field.get("deduplication");
  const key = dedup.get(dedup.get("key").text === "" ? "id_field" : "key");
  const config = mapping({ key: text(key), time_window: text(dedup.get("time_window")) }, dedup);
  return transformOf("dedup", { enabled: dedup.get("enabled"), source: [source_id, id], config, field: dedup });
}

function filterOf(root: Field, topics: readonly Topic[], keepBehaviour: boolean, warn: Warn): Part {
  const filter = root.get("filter");
  const expression = filter.get("expression");
  const written = keepBehaviour ? negated(expression, warn) : undefined;
  if (written === undefined) toReview(root, expression, warn);
  else if (isReviewed(root)) negatedReviewed(expression, warn);
  const config = mapping({ expression: written === undefined ? text(expression) : leaf(written, expression) }, filter);
  const source = sourceOf(undefined, topics, filter);
  return transformOf("filter", { enabled: filter.get("enabled"), source, config, field: filter });
}

/** The opposite of an expression, on the lines that it has; undefined and a warning if it does not parse. */
function negated(expression: Field, warn: Warn): string | undefined {
  const inner = expression.text.trim();
  try {
    freeNames(inner);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const found = inner === "" ? "nothing" : "one that does not parse: it was left as it is";
    warn("V2_FILTER", expression, { expected: "an expression that can be negated", found });
    return undefined;
  }
  // After a comment, the parenthesis needs a new line.
  return inner.includes("//") ? `!(${inner}\n)` : `!(${inner})`;
}

function toReview(root: Field, expression: Field, warn: Warn): void {
  if (isReviewed(root)) return;
  warn("V2_FILTER", expression, {
    expected: "an expression that is true for the events to keep",
    found: "one that is true for the events to drop, as v2 has it; its text was not changed",
    suggestion: "negate it, or check that it is intended so, then write x-sluice.filters_reviewed: true",
  });
}

function negatedReviewed(expression: Field, warn: Warn): void {
  warn("V2_FILTER", expression, {
    expected: "an expression that was not negated yet",
    found: "one that x-sluice.filters_reviewed marks as a v3 filter; it was negated anyway",
    suggestion: "convert the file without keeping the behaviour of v2, or check that the filter keeps the right events",
  });
}

function statelessOf(stateless: Field, topics: readonly Topic[]): Part {
  const outputs = stateless.get("config", "transform");
  const transforms = outputs.items().map((output) =>
    mapping(
      {
        expression: text(output.get("expression")),
        output_name: text(output.get("output_name")),
        output_type: text(output.get("output_type")),
      },
      output,
    ),
  );
  const config = mapping({ transforms: list(transforms, outputs) }, stateless.get("config"));
  const source = sourceOf(stateless.get("source_id"), topics, stateless);
  return transformOf("stateless", { enabled: stateless.get("enabled"), source, config, field: stateless });
}

/** Whether a person has reviewed the filter and confirmed that it has the meaning of v3. */
export function isReviewed(root: Field): boolean {
  return root.get("x-sluice", "filters_reviewed").isOn;
}

/**
 * The same document with `x-sluice.filters_reviewed: false`, which blocks it until a person sets true. An existing
 * value stays: anything but true and false is an error itself.
 */
export function markedForReview(root: MapPart, filter: Field): MapPart {
  const directives = root.members.get("x-sluice") ?? withoutComments(mapping({}, filter));
  if (directives.kind !== "map" || directives.members.has("filters_reviewed")) return root;
  const mark = withoutComments(leaf(false, filter));
  const marked = { ...directives, members: new Map([...directives.members, ["filters_reviewed", mark]]) };
  return { ...root, members: new Map([...root.members, ["x-sluice", marked]]) };
}
