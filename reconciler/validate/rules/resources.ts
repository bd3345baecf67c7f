import { isDeepStrictEqual } from "node:util";
import { canonicalDuration, canonicalSize, parseDuration, parseQuantity } from "../../../schemas/index.ts";
import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";
import { mustDiffer, mustNameSource } from "./references.ts";
import { mustBePositive } from "./windows.ts";

/** Rules of the v3 format, section 7. */
export const resourceRules: readonly Rule[] = [
  streamAliases,
  streamAge,
  streamOfKafka,
  componentSources,
  storage,
  replicas,
  cpu,
];

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

function* streamOfKafka(document: View): Iterable<Problem> {
  const isKafka = document
    .get("sources")
    .items()
    .some((source) => source.get("type").text === "kafka");
  if (!isKafka || !stream(document).exists) return;
  yield stream(document).problem("NO_EFFECT", {
    expected: "a source that needs a stream",
    found: "kafka, whose log is the queue: it has no effect here",
  });
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
  for (const { id, type } of sourceTypes(document)) {
    if (!type.startsWith("otlp.")) continue;
    const entry = document
      .get("resources", "sources")
      .items()
      .find((one) => one.get("source_id").text === id);
    if (entry !== undefined)
      yield entry.problem("SOURCE_REFERENCE", { expected: "a source that is not OTLP", found: `"${type}"` });
  }
}

function sourceTypes(document: View): { id: string | undefined; type: string }[] {
  const sources = document.get("sources").items();
  return sources.map((source) => ({ id: source.get("source_id").text, type: source.get("type").text ?? "" }));
}

function* storage(document: View): Iterable<Problem> {
  const dedups = document
    .get("transforms")
    .items()
    .filter((transform) => transform.get("type").text === "dedup");
  const keyed = new Set(dedups.map((dedup) => dedup.get("source_id").text));
  for (const entry of document.get("resources", "transform").items()) {
    const size = entry.get("storage", "size");
    if (!size.exists || keyed.has(entry.get("source_id").text)) continue;
    yield size.problem("STORAGE", {
      expected: "a dedup transform of that source, which alone needs storage",
      found: "none",
    });
  }
}

function* replicas(document: View): Iterable<Problem> {
  const components = [
    ...perSource.flatMap((key) => document.get("resources", key).items()),
    document.get("resources", "sink"),
  ];
  for (const count of components.map((component) => component.get("replicas"))) {
    if (typeof count.value !== "number" || count.value >= 1) continue;
    yield count.problem("REPLICAS", {
      expected: "at least 1",
      found: `${found(count.value, count.path)}, which acts as 1`,
    });
  }
}

/** Said once for a document. */
function* cpu(document: View): Iterable<Problem> {
  const components = [
    ...perSource.flatMap((key) => document.get("resources", key).items()),
    document.get("resources", "sink"),
  ];
  const amounts = components.flatMap((component) => [component.get("requests", "cpu"), component.get("limits", "cpu")]);
  const first = amounts.find((amount) => amount.exists);
  if (first === undefined) return;
  yield first.problem("CPU_NOT_ENFORCED", {
    expected: "a note for people",
    found: `${found(first.value, first.path)}: cpu is kept and shown, not enforced`,
  });
}
