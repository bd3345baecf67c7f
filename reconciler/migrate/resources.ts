import type { Field } from "./field.ts";
import type { Side } from "./join.ts";
import { copied, leaf, list, mapping, text, withoutComments, type Part } from "./part.ts";
import { sourceOf, type Topic } from "./schema-list.ts";
import { hasDedup } from "./transforms.ts";
import type { Warn } from "./warning.ts";

/** Resources; undefined if the document has none. */
export function resourcesOf(
  root: Field,
  topics: readonly Topic[],
  sides: Side | undefined,
  warn: Warn,
): Part | undefined {
  const given = root.get("pipeline_resources");
  const members = {
    nats: streamOf(given.get("nats")),
    sources: sourcesOf(root, topics, sides, warn),
    transform: transformsOf(root, topics),
    sink: whole(given.get("sink"), {}),
  };
  if (given.get("join").keys().length > 0) {
    warn("V2_DROPPED", given.get("join"), {
      expected: "resources of a component that v3 has",
      found: "those of the join, which is always one: they are left out",
    });
  }
  return Object.values(members).every((one) => one === undefined) ? undefined : mapping(members, given);
}

function streamOf(nats: Field): Part | undefined {
  const stream = nats.get("stream");
  const limits = {
    max_age: text(stream.get("maxAge")),
    max_bytes: text(stream.get("maxBytes")),
    maxMsgs: copied(stream.get("maxMsgs")),
  };
  if (Object.values(limits).every((one) => one === undefined)) return undefined;
  return mapping({ stream: mapping(limits, stream) }, nats);
}

function sourcesOf(root: Field, topics: readonly Topic[], sides: Side | undefined, warn: Warn): Part | undefined {
  const ingestor = root.get("pipeline_resources", "ingestor");
  if (root.get("source", "type").text.trim().toLowerCase().startsWith("otlp.")) return undefined;
  const sideOf = (source_id: string): Field | undefined => {
    const side = (["left", "right"] as const).find((one) => sides?.[one].get("source_id").text === source_id);
    return side && ingestor.get(side);
  };
  const entries = topics.flatMap(({ source_id, id, field }, index) => {
    const own = sideOf(source_id);
    const component = own?.exists ? own : ingestor.get(index === 0 ? "base" : "none");
    const replicas = component.get("replicas").isGiven ? component.get("replicas") : field.get("replicas");
    const entry = whole(component, { source_id: withoutComments(leaf(source_id, id)) }, replicas);
    return entry === undefined ? [] : [entry];
  });
  for (const side of ["left", "right"]) {
    if (sides !== undefined || ingestor.get(side).keys().length === 0) continue;
    const expected = "a join, whose sides have resources of their own";
    warn("V2_DROPPED", ingestor.get(side), { expected, found: "none: they are left out" });
  }
  return entries.length === 0 ? undefined : list(entries, ingestor);
}

/** One entry for each source with a dedup, and one for the source that the other transforms work on. */
function transformsOf(root: Field, topics: readonly Topic[]): Part | undefined {
  const component = root.get("pipeline_resources", "transform");
  const dedups = topics.filter(hasDedup);
  const sources = new Map(dedups.map(({ source_id, id }) => [source_id, id]));
  for (const [key, named] of [["stateless_transformation", "source_id"], ["filter"]] as const) {
    const transform = root.get(key);
    if (!transform.get("enabled").isOn) continue;
    const [source_id, id] = sourceOf(named && transform.get(named), topics, transform);
    if (!sources.has(source_id)) sources.set(source_id, id);
  }
  const entries = [...sources].flatMap(([source_id, id]) => {
    const hasKeys = dedups.some((one) => one.source_id === source_id);
    const storage = component.get("storage");
    const size = hasKeys ? text(storage.get("size")) : undefined;
    const entry = whole(component, {
      source_id: withoutComments(leaf(source_id, id)),
      storage: size && mapping({ size }, storage),
    });
    return entry === undefined ? [] : [entry];
  });
  return entries.length === 0 ? undefined : list(entries, component);
}

/** A component with its resources in v2; undefined if it has none. */
function whole(
  component: Field,
  before: Readonly<Record<string, Part | undefined>>,
  replicas = component.get("replicas"),
): Part | undefined {
  const said = {
    replicas: replicas.isGiven ? copied(replicas) : undefined,
    requests: amountsOf(component.get("requests")),
    limits: amountsOf(component.get("limits")),
  };
  const parts = [...Object.values(said), before["storage"]];
  if (parts.every((one) => one === undefined)) return undefined;
  return mapping({ ...before, ...said }, component);
}

function amountsOf(amounts: Field): Part | undefined {
  const members = { cpu: text(amounts.get("cpu")), memory: text(amounts.get("memory")) };
  return Object.values(members).every((one) => one === undefined) ? undefined : mapping(members, amounts);
}
