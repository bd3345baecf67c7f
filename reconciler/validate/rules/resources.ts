import { isDeepStrictEqual } from "node:util";
import {
  canonicalDuration,
  canonicalSize,
  hasResources,
  parseDuration,
  parseQuantity,
} from "../../../schemas/index.ts";
import { found, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { mustBePositive, mustDiffer, mustNameSource } from "./references.ts";

/** Rules of `resources` (docs/reference/pipeline.md). */
export const resourceRules: readonly Rule[] = [streamAliases, streamAge, componentSources, storage, replicas];

const stream = (document: View) => document.get("resources", "nats", "stream");
const perSource = ["sources", "transform"] as const;

const canonical: Readonly<Record<string, (value: unknown) => unknown>> = {
  maxAge: (value) =>
    typeof value === "string" && parseDuration(value) !== undefined ? canonicalDuration(value) : value,
  maxBytes: (value) => (typeof value === "string" && parseQuantity(value) !== undefined ? canonicalSize(value) : value),
  maxMsgs: (value) => value,
};

function* streamAliases(document: View): Iterable<Problem> {
  for (const [alias, key] of [
    ["maxAge", "max_age"],
    ["maxBytes", "max_bytes"],
    ["maxMsgs", "max_msgs"],
  ] as const) {
    const [one, other] = [stream(document).get(key), stream(document).get(alias)];
    const same = canonical[alias];
    if (!one.exists || !other.exists || same === undefined || isDeepStrictEqual(same(one.value), same(other.value)))
      continue;
    yield other.problem("ALIAS_CONFLICT", {
      expected: `the value of ${key}, which it is another spelling of`,
      found: `${found(other.value, other.path)} beside ${found(one.value, one.path)}`,
      suggestion: `keep ${key} alone`,
    });
  }
}

function* streamAge(document: View): Iterable<Problem> {
  yield* mustBePositive(stream(document).get("max_age"));
  yield* mustBePositive(stream(document).get("maxAge"));
}

function* componentSources(document: View): Iterable<Problem> {
  for (const key of perSource) {
    const ids = document
      .get("resources", key)
      .items()
      .map((entry) => entry.get("source_id"));
    for (const id of ids) yield* mustNameSource(document, id);
    yield* mustDiffer(ids, "DUPLICATE_NAME", "one entry for a source");
  }
  for (const source of document.sources()) {
    const type = source.get("type").text ?? "";
    if (hasResources(type)) continue;
    for (const entry of document.get("resources", "sources").items()) {
      const id = entry.get("source_id");
      if (id.text === undefined || id.text !== source.get("source_id").text) continue;
      yield id.problem("SOURCE_REFERENCE", { expected: "a source that is not OTLP", found: `one of type "${type}"` });
    }
  }
}

function* storage(document: View): Iterable<Problem> {
  const keyed = new Set(document.transforms("dedup").map((dedup) => dedup.get("source_id").text));
  for (const entry of document.get("resources", "transform").items()) {
    const size = entry.get("storage", "size");
    if (!size.exists || keyed.has(entry.get("source_id").text)) continue;
    yield size.problem("STORAGE", {
      expected: "a dedup transform of that source, which alone needs storage",
      found: "none",
    });
  }
}

/** More concurrency than is useful in one process. */
const mostReplicas = 100;

function* replicas(document: View): Iterable<Problem> {
  for (const count of components(document).map((component) => component.get("replicas"))) {
    if (typeof count.value !== "number" || (count.value >= 1 && count.value <= mostReplicas)) continue;
    const acts = count.value < 1 ? ", which acts as 1" : ", all in one process";
    yield count.problem("REPLICAS", {
      expected: count.value < 1 ? "at least 1" : `at most ${mostReplicas}`,
      found: `${found(count.value, count.path)}${acts}`,
    });
  }
}

/** Valid amounts that are probably not intended. */
export const quantityRules: readonly Rule[] = [units, requests];

/** Every component of a pipeline that has resources of its own. */
export function components(document: View): View[] {
  const resources = document.get("resources");
  return [...resources.get("sources").items(), ...resources.get("transform").items(), resources.get("sink")];
}

function sizes(document: View): View[] {
  return [
    stream(document).get("max_bytes"),
    stream(document).get("maxBytes"),
    ...components(document).flatMap((component) => [
      component.get("storage", "size"),
      component.get("requests", "memory"),
      component.get("limits", "memory"),
    ]),
  ];
}

/** `128m` is an eighth of a byte, and nearly always intended as 128 MiB. */
function* units(document: View): Iterable<Problem> {
  for (const size of sizes(document)) {
    const [, amount] = /^\+?([\d.]+)[num]$/.exec(size.text ?? "") ?? [];
    const isStream = size.path.includes("stream");
    if (amount !== undefined) {
      yield size.problem("QUANTITY_UNIT", {
        expected: "a size in bytes or larger units",
        found: `${found(size.value, size.path)}, a fraction of ${amount} bytes`,
        suggestion: `write "${amount}Mi"`,
      });
    } else if (!isStream && size.text !== undefined && parseQuantity(size.text) === 0n) {
      yield size.problem("QUANTITY_UNIT", { expected: "more than 0", found: found(size.value, size.path) });
    }
  }
}

function* requests(document: View): Iterable<Problem> {
  for (const component of components(document)) {
    for (const key of ["cpu", "memory"]) {
      const asked = component.get("requests", key);
      const limit = component.get("limits", key);
      const [more, less] = [parseQuantity(asked.text ?? ""), parseQuantity(limit.text ?? "")];
      if (more === undefined || less === undefined || more <= less) continue;
      yield asked.problem("REQUESTS", {
        expected: `at most the limit of ${found(limit.value, limit.path)}`,
        found: found(asked.value, asked.path),
      });
    }
  }
}
