import { durationMs, parseDuration, parseQuantity, quantityBytes } from "../../../schemas/index.ts";
import { found, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { sourcesOf } from "./source-kinds.ts";

/** Batches and the stream before them: limits that a batch can never reach, or that drop events before their batch. */
export const batchRules: readonly Rule[] = [smallBatch, delayOfZero, agesOut, fillsUp, smallStream];

/** ClickHouse makes a part of the table of each insert and merges them later; fewer rows are mostly merging. */
const smallest = 100;
/** An event may have a megabyte. */
const smallestStream = 1024 * 1024;
const defaults = { max_batch_size: 1000, max_delay_time: "60s", max_age: "24h" };

function batchSize(document: View): number {
  const { value } = document.get("sink", "max_batch_size");
  return typeof value === "number" ? value : defaults.max_batch_size;
}

function delay(document: View): string {
  const { text } = document.get("sink", "max_delay_time");
  const length = text === undefined ? undefined : parseDuration(text);
  return text === undefined || length === undefined || length <= 0n ? defaults.max_delay_time : text;
}

function streamLimit(document: View, key: string, alias: string): View {
  const stream = document.get("resources", "nats", "stream");
  return stream.get(key).exists ? stream.get(key) : stream.get(alias);
}

function hasStream(document: View): boolean {
  return sourcesOf(document, (kind) => kind.isPushed).length > 0;
}

function* smallBatch(document: View): Iterable<Problem> {
  const size = document.get("sink", "max_batch_size");
  if (typeof size.value !== "number" || size.value < 1 || size.value >= smallest) return;
  yield size.problem("BATCH", {
    expected: `at least ${smallest} rows, because each insert is a part that ClickHouse has to merge`,
    found: found(size.value, size.path),
  });
}

function* delayOfZero(document: View): Iterable<Problem> {
  const time = document.get("sink", "max_delay_time");
  if (time.text === undefined || parseDuration(time.text) !== 0n) return;
  yield time.problem("BATCH", {
    expected: "a duration of more than 0",
    found: `${found(time.value, time.path)}, which means ${defaults.max_delay_time}`,
    suggestion: `write "${defaults.max_delay_time}", or "1s" for rows that should not wait`,
  });
}

function* agesOut(document: View): Iterable<Problem> {
  const time = document.get("sink", "max_delay_time");
  const age = streamLimit(document, "max_age", "maxAge");
  const limit = parseDuration(age.text ?? defaults.max_age);
  if (!hasStream(document) || limit === undefined || limit <= 0n) return;
  if (durationMs(delay(document)) < Number(limit) / 1e6) return;
  const at = age.exists ? age : time;
  yield at.problem("BATCH", {
    expected: "sink.max_delay_time to be shorter than max_age of the stream, after which events are removed",
    found: `a delay of ${delay(document)} and an age of ${age.text ?? defaults.max_age}`,
  });
}

function* fillsUp(document: View): Iterable<Problem> {
  const limit = streamLimit(document, "max_msgs", "maxMsgs");
  const size = batchSize(document);
  if (!hasStream(document) || typeof limit.value !== "number" || limit.value < 1 || limit.value >= size) return;
  yield limit.problem("BATCH", {
    expected: `at least the ${size} rows of a batch, or senders wait for max_delay_time each time`,
    found: found(limit.value, limit.path),
  });
}

function* smallStream(document: View): Iterable<Problem> {
  const limit = streamLimit(document, "max_bytes", "maxBytes");
  const amount = parseQuantity(limit.text ?? "");
  if (!hasStream(document) || amount === undefined || amount <= 0n || quantityBytes(limit.text ?? "") >= smallestStream)
    return;
  yield limit.problem("BATCH", {
    expected: 'at least "1Mi", the size that one event may have, or "0" for no limit',
    found: found(limit.value, limit.path),
  });
}
