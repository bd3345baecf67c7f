import { isDeepStrictEqual } from "node:util";
import { parseDuration } from "../../../schemas/index.ts";
import { found, printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { fieldType, joins, sourceFeed } from "./feeds.ts";
import { kindOfSource } from "./source-kinds.ts";
import { mustBeJoinWindow, mustDiffer, mustNameFieldOf, mustNameSource } from "./references.ts";

/** Rules of `join` (docs/reference/pipeline.md). A disabled join counts as none. */
export const joinRules: readonly Rule[] = [joinSources, joinSides, joinKeyTypes, endlessLeft, joinOutputs, replay];

/** Two topics of Kafka, or two sources whose events are pushed; both sides may read one topic or signal. */
function* joinSources(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const sources = document.sources();
  if (sources.length !== 2) {
    const expected = "exactly two sources to join";
    yield document.get("join").problem("JOIN", { expected, found: String(sources.length) });
    return;
  }
  const [one, other] = sources as [View, View];
  if (originOf(one) === undefined || originOf(one) !== originOf(other)) return;
  const [configs, others] = [transformsOf(document, one), transformsOf(document, other)];
  if (isDeepStrictEqual(configs, others)) return;
  yield document.get("join").problem("JOIN", {
    expected: `the same transforms for both sides, as both read ${printable(originOf(one)!)}`,
    found: `${configs.length} and ${others.length}${configs.length === others.length ? " that differ" : ""}`,
  });
}

/** The topic or signal of a source; undefined where it has none. */
function originOf(source: View): string | undefined {
  const origin = kindOfSource(source)?.origin;
  return origin && source.get(origin.key).text;
}

function transformsOf(document: View, source: View): unknown[] {
  return document
    .transforms()
    .filter((transform) => transform.get("source_id").text === source.get("source_id").text)
    .map((transform) => [transform.get("type").value, transform.get("config").value]);
}

function* joinSides(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const [left, right] = ["left_source", "right_source"].map((side) => document.get("join", side));
  for (const side of [left, right]) {
    if (side === undefined) continue;
    yield* mustNameSource(document, side.get("source_id"));
    yield* mustNameFieldOf(document, side.get("key"), side.get("source_id"));
    yield* mustBeJoinWindow(side.get("time_window"));
  }
  const id = right?.get("source_id");
  if (id === undefined || id.isBlank || id.text !== left?.get("source_id").text) return;
  yield id.problem("JOIN", { expected: "another source than the left side", found: found(id.value, id.path) });
}

/** Keys are compared as texts; lists and mappings have none. */
function* joinKeyTypes(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  for (const side of ["left_source", "right_source"]) {
    const [key, source_id] = ["key", "source_id"].map((name) => document.get("join", side, name));
    const type = fieldType(sourceFeed(document, source_id?.text), key?.text ?? "");
    if (key === undefined || (type !== "array" && type !== "map")) continue;
    yield key.problem("JOIN", {
      expected: "a key of type string, int, uint, float or bool",
      found: `"${printable(key.text ?? "")}" of type ${type}`,
      suggestion: type === "map" ? "declare the field inside of it that identifies the event" : undefined,
    });
  }
}

/** A right event makes room for the next one of its key; a left event without a match only leaves with its window. */
function* endlessLeft(document: View): Iterable<Problem> {
  const window = document.get("join", "left_source", "time_window");
  if (!joins(document) || window.text === undefined || parseDuration(window.text) !== 0n) return;
  yield window.problem("JOIN_WITHOUT_END", {
    expected: "a window that ends: a left event without a match stays buffered as long as that",
    found: `${found(window.value, window.path)}, which has no end`,
  });
}

function* joinOutputs(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const outputs = document.get("join", "output_fields").items();
  for (const output of outputs) {
    yield* mustNameSource(document, output.get("source_id"));
    yield* mustNameFieldOf(document, output.get("name"), output.get("source_id"));
  }
  const names = outputs.map((output) =>
    output.get("output_name").exists ? output.get("output_name") : output.get("name"),
  );
  yield* mustDiffer(names, "DUPLICATE_NAME", "each field of the joined event once");
}

/**
 * Both topics read from their past: a left event joins the right event that was read before it, however their own times
 * compare, and waits no longer than its window for one that is read later.
 */
function* replay(document: View): Iterable<Problem> {
  if (!joins(document) || document.get("x-sluice", "start").text === "latest") return;
  const sources = document.sources("kafka");
  const [left, right] = ["left_source", "right_source"].map((side) => {
    const source_id = document.get("join", side, "source_id").text;
    return sources.find((source) => source.get("source_id").text === source_id);
  });
  if (left === undefined || right === undefined || left === right) return;
  // Events of one topic come in their order, whichever side they are.
  if (left.get("topic").text === right.get("topic").text) return;
  const isStarted = document.get("x-sluice", "start").exists;
  const offsets = [left, right].map((source) => source.get("consumer_group_initial_offset"));
  if (!isStarted && offsets.some(({ text }) => text?.trim().toLowerCase() === "latest")) return;
  const at = isStarted ? document.get("x-sluice", "start") : document.get("join", "left_source", "source_id");
  yield at.problem("JOIN_REPLAY", {
    expected: "a left topic that is read from its end, or after the right side is loaded: a replay joins by arrival",
    found: "both topics read from their past at the same time",
    suggestion: `write consumer_group_initial_offset: latest for "${printable(left.get("source_id").text ?? "")}"`,
  });
}
