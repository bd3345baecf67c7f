import { compileFilter, ExpressionError } from "../../engine/language.ts";
import { isObject, type SchemaField } from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import { sourceFeed, typedFields } from "../validate/rules/feeds.ts";
import { View } from "../language/view.ts";

/** What becomes of an event. `fails`: the expression cannot be evaluated on it, so it is a dead letter. */
export type Fate = "kept" | "dropped" | "fails";

/** A filter of version v2, which drops where it is true, beside that of v3, which keeps. */
export interface FilterReview {
  /** As the v2 file has it. */
  before: string;
  /** As the v3 file has it. */
  after: string;
  samples: { event: string; before: Fate; after: Fate }[];
}

/**
 * What the filter of a v2 document does with sample events, each one JSON, before and after its conversion to `converted`.
 * `clock`, in milliseconds since the epoch, is their now(). Undefined for a document without a filter. Samples that are no
 * JSON objects are left out.
 */
export function filterReview(
  original: Document,
  converted: Document,
  samples: readonly string[],
  clock: number,
): FilterReview | undefined {
  const [filter] = View.of(converted).transforms("filter");
  const before = View.of(original).get("filter", "expression").text;
  const after = filter?.get("config", "expression").text;
  if (before === undefined || after === undefined) return undefined;
  const fields = typedFields(sourceFeed(View.of(converted), filter?.get("source_id").text)) ?? [];
  const [drops, keeps] = [matching(before, fields, clock), matching(after, fields, clock)];
  const rows = samples.flatMap((event) => {
    const record = recordOf(event);
    if (record === undefined) return [];
    return [{ event, before: fate(drops(record), "dropped"), after: fate(keeps(record), "kept") }];
  });
  return { before, after, samples: rows };
}

/** `where`: what becomes of an event on which the filter is true. */
function fate(isTrue: boolean | undefined, where: "kept" | "dropped"): Fate {
  if (isTrue === undefined) return "fails";
  return isTrue === (where === "kept") ? "kept" : "dropped";
}

type Matching = (record: Record<string, unknown>) => boolean | undefined;

/** Whether an expression is true on a record; undefined where it cannot be evaluated. */
function matching(expression: string, fields: readonly SchemaField[], clock: number): Matching {
  const filter = failing(() => compileFilter(expression, fields));
  return (record) => failing(() => filter?.matches(record, clock));
}

/** What `work` gives; undefined where an expression fails. */
function failing<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpressionError) return undefined;
    throw error;
  }
}

function recordOf(event: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(event);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
