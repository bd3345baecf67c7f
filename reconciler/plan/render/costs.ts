import { shortDuration } from "../../../schemas/index.ts";
import type { Cost, CostCode, CostFacts, TableNeed, Target } from "../cost.ts";
import { topicsText } from "./kafka.ts";
import { holdingsText } from "./losses.ts";
import { counted, someOf } from "./words.ts";

type Sentences = { readonly [Code in CostCode]: (facts: CostFacts[Code]) => string };

const sentences: Sentences = {
  TopicsLeft: ({ topics, lag }) => {
    const unread =
      lag === 0
        ? `what comes to ${topicsText(topics)} before it stops`
        : `what is not read yet of ${topicsText(topics)}${figure(lag, "offset")}`;
    return `${unread} stays unread, and so does what comes there later`;
  },
  BrokersChange: ({ topics }) =>
    `if the new brokers are another cluster, what is not read yet of ${topicsText(topics)} at the old ones stays unread`,
  LostSkipped: () =>
    "events that are gone from their source before they are read are left out and counted, where it paused before",
  UncertainSkipped: () =>
    "a batch of which it is not known whether it was written counts as written from then on: its rows may be missing",
  UncertainSent: () =>
    "a batch of which it is not known whether it was written is sent again from then on: its rows may be in the table twice",
  ViewSkipped: () =>
    "where a materialized view refuses rows, they are left out there and counted, where it paused before",
  TakenOver: ({ run }) =>
    `it goes on at the offsets that run ${run} committed: prepared batches below them are given up, and repeats of events of that run pass once`,
  Rewinds: ({ to, hasDedup }) => {
    const from = to === "earliest" ? "the beginning of its topics" : to;
    const repeats = hasDedup ? ", but for those whose key dedup still remembers" : "";
    return `messages from ${from} on are read again, once, and become rows once more${repeats}`;
  },
  NullChanges: ({ to }) =>
    `for a field that is null or absent, a column that is not Nullable ${nulls[to]} from then on`,
  TombstonesChange: ({ source_id, kept }) =>
    `records of ${source_id} with a null value ${kept ? "become dead letters" : "are skipped and counted"} from then on`,
  SourcesBegin: ({ sources }) => `events of ${someOf(sources)} are taken from then on`,
  AppliedLive: () => "is applied while the pipeline runs",
  Drains: ({ waits, writes }) =>
    `drains, about a second: it writes what it has read${writes === undefined ? "" : ` (${holdingsText({ ...writes, dead_letters: 0 })})`}, and goes on with the new config; events wait in ${waits === "stream" ? "its stream" : "the topic"} meanwhile`,
  DedupForgets: ({ source_id, window, keys }) =>
    `dedup of ${source_id} forgets its window${figure(keys, "key")}: repeats of the last ${shortDuration(window)} pass once`,
  DedupEnds: ({ source_id, window, keys }) =>
    `dedup of ${source_id} ends${figure(keys, "key")}: repeats, which were dropped within ${shortDuration(window)}, are written from then on`,
  DedupBegins: ({ source_id, window }) =>
    `dedup of ${source_id} begins with an empty window of ${shortDuration(window)}: a repeat of an earlier event passes once`,
  JoinForgets: ({ events }) =>
    `the join forgets what it buffers${figure(events, "event")}: left events that wait get no row, and others match only right events that come from then on`,
  JoinOutputs: () => "the join makes other events from then on; rows that are written stay as they are",
  JoinDropped: ({ events, rows }) =>
    `what the join buffers${figure(events, "event")} is dropped${rows === undefined ? "" : `, and so are rows of it${figure(rows, "row")} that are in no prepared batch`}`,
  WindowChanges: ({ source_id, from, to }) =>
    `dedup of ${source_id} remembers new keys for ${shortDuration(to)}, and those that it has for ${shortDuration(from)} as before`,
  ExpressionChanges: ({ source_id, type }) =>
    type === "filter"
      ? `the filter of ${source_id} keeps other events from then on; rows that are written stay as they are`
      : `the stateless transform of ${source_id} makes other events from then on; rows that are written stay as they are`,
  FieldsDemanded: ({ source_id, fields }) =>
    `events of ${source_id} become dead letters where ${someOf(fields)} ${fields.length === 1 ? "is missing, null or of another type" : "are missing, null or of other types"}`,
  FieldsTyped: ({ source_id, fields }) =>
    `events of ${source_id} become dead letters where ${someOf(fields)} ${fields.length === 1 ? "is" : "are"} of another type`,
  FieldsFreed: ({ source_id, fields }) =>
    `events of ${source_id} become rows where ${someOf(fields)} ${fields.length === 1 ? "is" : "are"} missing or null, which were dead letters`,
  PortChanges: ({ host }) => `rows go to another port of ${host} from then on, which may be another server`,
  ColumnsFilled: ({ columns }) =>
    `${someOf(columns)} ${columns.length === 1 ? "is" : "are"} filled in another way from then on; rows that are written stay as they are`,
  TargetChanges: ({ from, to }) => `rows go to ${nameOf(to)} from then on; those in ${nameOf(from)} stay there`,
  ColumnsLeft: ({ columns }) =>
    `${someOf(columns)} ${columns.length === 1 ? "is" : "are"} no longer written: new rows have the default there`,
  SendersMove: ({ from, to }) => `senders have to use ${to} from then on: what they send to ${from} is refused`,
  SendersRefused: () => "events that are sent to it are refused from then on",
  TokenMade: ({ pipeline_id }) =>
    `a new access token is needed to send events: sluice token rotate ${pipeline_id} prints it`,
  DeadLettersFirst: ({ pipeline_id, count }) =>
    `is not deleted while it has dead letters${figure(count, "dead letter")}: sluice dlq consume, discard or purge ${pipeline_id} takes them out`,
  ReadingStops: ({ lag }) =>
    `reading stops${lag === undefined ? "" : ` at a lag of ${lag}`}: events wait in the topic, as long as that keeps them`,
  EventsDropped: ({ held }) =>
    `accepted events${figure(held, "event")} are dropped, unless they are written or in a prepared batch`,
  DeadLettersDropped: ({ count }) =>
    `its dead letters${figure(count, "dead letter")} are dropped; accepted events are written first`,
};

const nulls: Readonly<Record<CostFacts["NullChanges"]["to"], string>> = {
  default: "stores its DEFAULT, or else a zero,",
  zero: "stores a zero",
  reject: "takes nothing, and the event becomes a dead letter",
};

/** Such as ` (now 12 events)`; empty where the figure is not known. */
function figure(count: number | undefined, one: string): string {
  return count === undefined ? "" : ` (now ${counted(count, one)})`;
}

/** What a change costs, as a reviewer reads it. */
export function costText<Code extends CostCode>({ code, facts }: Cost<Code>): string {
  return sentences[code](facts);
}

/** What is needed of a table, and who sees to it. */
export function tableText({ columns, by, statements, ...target }: TableNeed): string {
  const name = nameOf(target);
  if (columns === undefined) {
    return by === "sluice"
      ? `creates table ${name} where it is missing`
      : `needs table ${name}, which it does not create without x-sluice.create_table`;
  }
  const [noun, pronoun] = columns.length === 1 ? ["column", "it"] : ["columns", "them"];
  if (statements.length === 0) {
    const types = someOf(columns.map((column) => `${column.name} as ${column.type}`));
    return `needs ${types} in table ${name}: it alters no type`;
  }
  const names = someOf(columns.map((column) => column.name));
  return by === "sluice"
    ? `adds ${noun} ${names} to table ${name}, where that lacks ${pronoun}`
    : `needs ${noun} ${names} in table ${name}, and does not add ${pronoun} without x-sluice.alter_table`;
}

/** Such as `shop.orders on clickhouse`. */
function nameOf({ host, database, table }: Target): string {
  return `${database}.${table} on ${host}`;
}
