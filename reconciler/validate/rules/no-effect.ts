import { hasResources } from "../../../schemas/index.ts";
import { found, printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { joins } from "./feeds.ts";
import { components } from "./resources.ts";
import { kindOfSource, sourcesOf } from "./source-kinds.ts";

/**
 * Settings of the format that have no effect in one process, or with this kind of source or sink. They are infos: no
 * correction is needed.
 */
export const noEffectRules: readonly Rule[] = [
  streamOfLog,
  replicasOfOne,
  fewerMembers,
  transformResources,
  joinReplicas,
  embeddedConnection,
  sinkSource,
  otlpKeys,
  skipAuth,
  disabledJoin,
  cpu,
];

function noEffect(view: View, expected: string, why: string): Problem {
  return view.problem("NO_EFFECT", { expected, found: `${why}: it has no effect here` });
}

function* streamOfLog(document: View): Iterable<Problem> {
  const stream = document.get("resources", "nats", "stream");
  const [log] = sourcesOf(document, (kind) => !kind.isPushed);
  if (log === undefined || !stream.exists) return;
  yield noEffect(stream, "a source that needs a stream", `${kindOfSource(log)?.name}, whose log is the queue`);
}

function entryOf(document: View, section: string, source: View): View[] {
  const id = source.get("source_id").text;
  const entries = document.get("resources", section).items();
  return id === undefined ? [] : entries.filter((entry) => entry.get("source_id").text === id);
}

function* replicasOfOne(document: View): Iterable<Problem> {
  for (const source of sourcesOf(document, (kind) => !kind.hasConsumerGroup && kind.types.every(hasResources))) {
    for (const entry of entryOf(document, "sources", source)) {
      const replicas = entry.get("replicas");
      if (typeof replicas.value !== "number" || replicas.value <= 1) continue;
      yield noEffect(replicas, "a Kafka source, whose group has members", readerOf(source));
    }
  }
}

function readerOf(source: View): string {
  const { name, isPushed } = kindOfSource(source) ?? {};
  return isPushed === true ? `a ${name}, which is one listener` : `a ${name} source, which has one reader`;
}

/** Members of a group read all topics of their pipeline. */
function* fewerMembers(document: View): Iterable<Problem> {
  const given = sourcesOf(document, (kind) => kind.hasConsumerGroup)
    .flatMap((source) => entryOf(document, "sources", source))
    .flatMap((entry) => {
      const replicas = entry.get("replicas");
      return typeof replicas.value === "number" ? [{ replicas, count: replicas.value }] : [];
    });
  const most = Math.max(...given.map(({ count }) => count));
  for (const { replicas, count } of given) {
    if (count < most)
      yield noEffect(replicas, `${most}, as for another source`, `${count}, and members read all topics`);
  }
}

/** With a join, they are the memory of what it buffers. */
function* transformResources(document: View): Iterable<Problem> {
  if (joins(document)) return;
  const transformed = new Set(document.transforms().map((transform) => transform.get("source_id").text));
  for (const source of document.sources()) {
    if (transformed.has(source.get("source_id").text)) continue;
    for (const entry of entryOf(document, "transform", source))
      yield noEffect(entry, "a transform of that source", "none");
  }
}

/** A join is one worker; the transforms of its sources are their dedups. */
function* joinReplicas(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const keyed = new Set(document.transforms("dedup").map((dedup) => dedup.get("source_id").text));
  for (const entry of document.get("resources", "transform").items()) {
    const replicas = entry.get("replicas");
    if (keyed.has(entry.get("source_id").text) || typeof replicas.value !== "number" || replicas.value <= 1) continue;
    yield noEffect(replicas, "1, because a join is one worker", found(replicas.value, replicas.path));
  }
}

const needless = ["port", "http_port", "username", "password", "secure", "skip_certificate_verification"];

function* embeddedConnection(document: View): Iterable<Problem> {
  const connection = document.get("sink", "connection_params");
  if (connection.get("host").text !== "embedded") return;
  const given = needless
    .map((key) => connection.get(key))
    .filter(({ value }) => value !== undefined && value !== false);
  for (const view of given)
    yield noEffect(view, "host, database and nothing else", "a setting for a server, beside host: embedded");
}

function* sinkSource(document: View): Iterable<Problem> {
  const source = document.get("sink", "source_id");
  if (source.exists) yield noEffect(source, "a sink without it, to which the rows of all sources come", "source_id");
}

function* otlpKeys(document: View): Iterable<Problem> {
  for (const source of document.sources()) {
    if (!source.get("type").text?.startsWith("otlp.")) continue;
    for (const key of ["schema_version", "consumer_group_initial_offset"]) {
      if (source.get(key).exists) yield noEffect(source.get(key), "a Kafka source", "an OTLP source");
    }
  }
}

function* skipAuth(document: View): Iterable<Problem> {
  for (const source of document.sources("kafka")) {
    const skip = source.get("connection_params", "skip_auth");
    if (skip.value === true) yield noEffect(skip, "mechanism: NO_AUTH, which says it", "skip_auth, which is ignored");
  }
}

function* disabledJoin(document: View): Iterable<Problem> {
  const join = document.get("join");
  if (join.get("enabled").value !== false || join.members().length < 2) return;
  yield noEffect(join.get("enabled"), "true, for the settings beside it to count", "false");
}

/** Reported once for a document. */
function* cpu(document: View): Iterable<Problem> {
  const amounts = components(document).flatMap((component) => [
    component.get("requests", "cpu"),
    component.get("limits", "cpu"),
  ]);
  const first = amounts.find((amount) => amount.exists);
  if (first === undefined) return;
  yield first.problem("CPU_NOT_ENFORCED", {
    expected: "a note for people",
    found: `${found(first.value, first.path)}: cpu is kept and shown, not enforced`,
  });
}

/** Values that are computed or set and not used. */
export const unusedRules: readonly Rule[] = [outputs, joinOutputs, token];

function mapped(document: View): Set<string | undefined> {
  const mapping = document.get("sink", "mapping").items();
  return new Set(mapping.map((entry) => entry.get("name").text));
}

/** A missing mapping is another problem. */
function* notMapped(document: View, names: readonly View[]): Iterable<Problem> {
  const used = mapped(document);
  if (used.size === 0) return;
  for (const name of names) {
    if (name.isBlank || used.has(name.text)) continue;
    yield name.problem("UNUSED", {
      expected: "a column that takes it in sink.mapping",
      found: `none for "${printable(name.text ?? "")}"`,
    });
  }
}

function* outputs(document: View): Iterable<Problem> {
  const [stateless] = document.transforms("stateless");
  if (stateless === undefined || joins(document)) return;
  const names = stateless.get("config", "transforms").items();
  yield* notMapped(
    document,
    names.map((output) => output.get("output_name")),
  );
}

function* joinOutputs(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const fields = document.get("join", "output_fields").items();
  yield* notMapped(
    document,
    fields.map((field) => (field.get("output_name").exists ? field.get("output_name") : field.get("name"))),
  );
}

function* token(document: View): Iterable<Problem> {
  const access_token = document.get("x-sluice", "access_token");
  if (!access_token.exists || document.sources().length === 0) return;
  if (sourcesOf(document, (kind) => kind.hasAccessToken).length > 0) return;
  yield access_token.problem("UNUSED", { expected: "a webhook source, which alone has a token", found: "none" });
}
