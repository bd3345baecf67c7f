import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";
import { joins } from "./feeds.ts";
import { components } from "./quantities.ts";

/** What the format has, and one process, or this kind of source or sink, has no use for. Nothing to mend: infos. */
export const noEffectRules: readonly Rule[] = [
  streamOfKafka,
  webhookReplicas,
  fewerMembers,
  transformResources,
  joinReplicas,
  embeddedConnection,
  otlpKeys,
  skipAuth,
  disabledJoin,
  cpu,
];

function noEffect(view: View, expected: string, why: string): Problem {
  return view.problem("NO_EFFECT", { expected, found: `${why}: it has no effect here` });
}

function* streamOfKafka(document: View): Iterable<Problem> {
  const stream = document.get("resources", "nats", "stream");
  if (document.sources("kafka").length === 0 || !stream.exists) return;
  yield noEffect(stream, "a source that needs a stream", "kafka, whose log is the queue");
}

function entryOf(document: View, section: string, source: View): View[] {
  const id = source.get("source_id").text;
  const entries = document.get("resources", section).items();
  return id === undefined ? [] : entries.filter((entry) => entry.get("source_id").text === id);
}

function* webhookReplicas(document: View): Iterable<Problem> {
  for (const source of document.sources("webhook")) {
    for (const entry of entryOf(document, "sources", source)) {
      const replicas = entry.get("replicas");
      if (typeof replicas.value !== "number" || replicas.value <= 1) continue;
      yield noEffect(replicas, "a Kafka source, whose group has members", "a webhook, which is one listener");
    }
  }
}

/** Members of a group read all topics of their pipeline. */
function* fewerMembers(document: View): Iterable<Problem> {
  if (joins(document)) return;
  const given = document
    .sources("kafka")
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

/** Said once for a document. */
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
