import { createHash } from "node:crypto";
import { canonicalBroker, type Path } from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import type { Place } from "../language/problem.ts";
import { View } from "../language/view.ts";
import { joins } from "./rules/feeds.ts";

/** Dependencies of a document at most; the schema says the same. */
const mostDependencies = 100;

/** Former ids of a document at most; the schema says the same. */
const mostFormer = 16;

/** Columns and brokers of a document at most. */
const [mostColumns, mostBrokers] = [1000, 100];
/** Characters of a column's name or type that are compared, and of a mapping that is kept. */
const [longestColumn, longestMapping] = [400, 8192];

const pattern = /^[a-z](?:[a-z0-9]|-(?!-))*[a-z0-9]$/;

/** A text of a document, and where it is written. */
export interface Claim {
  text: string | undefined;
  path: Path;
  place: Place;
}

/**
 * The values of a document that checks between documents need, without the document itself: so a changed file does not
 * require reading the others again.
 */
export interface Claims {
  /** Every pipeline_id of the document, whether or not the rest is valid; more than one if the key is duplicate. */
  pipeline_ids: string[];
  /** The value under pipeline_id; null where it is a list or a mapping. */
  written: unknown;
  id: Claim;
  /** `key` identifies the table; undefined if the document does not name it completely. */
  table: Claim & { key: string | undefined };
  /** The columns that it writes, as a list of names and types in JSON, or their digest; the same for the same mapping. */
  mapping: Claim;
  /** The brokers of its Kafka topics. Empty for other sources. */
  brokers: string[];
  /** The name of its consumer group, where it gives one. */
  group: Claim;
  depends_on: Claim[];
  /** The ids that it had before. */
  moved_from: Claim[];
}

/** The pipeline_id of a document; undefined if it has none. */
export function pipelineIdOf({ pipeline_ids }: Claims): string | undefined {
  return pipeline_ids.at(-1);
}

export function claimsOf(document: Document): Claims {
  const root = View.of(document);
  const id = root.get("pipeline_id");
  const former = root.get("x-sluice", "moved_from");
  return {
    pipeline_ids: document.texts("pipeline_id").filter((text) => pattern.test(text)),
    written: typeof id.value === "object" ? null : id.value,
    id: claimOf(id),
    table: { ...claimOf(root.get("sink", "table")), key: tableKey(root) },
    mapping: { ...claimOf(root.get("sink", "mapping")), text: columnsOf(root) },
    brokers: brokersOf(root),
    group: claimOf(root.get("x-sluice", "consumer_group")),
    depends_on: root.get("x-sluice", "depends_on").items(mostDependencies).map(claimOf),
    moved_from: (former.text === undefined ? former.items(mostFormer) : [former]).map(claimOf),
  };
}

function claimOf({ document, path, text }: View): Claim {
  return { text, path, place: document.place(path) };
}

/** Host, port, database and table: what identifies a table. Two names of one host count as two. */
function tableKey(root: View): string | undefined {
  const sink = root.get("sink");
  const connection = sink.get("connection_params");
  const [host, table] = [connection.get("host").text?.trim().toLowerCase(), sink.get("table").text?.trim()];
  if (host === undefined || host === "" || table === undefined || table === "") return undefined;
  const database = connection.get("database").text ?? "default";
  const port = host === "embedded" ? "" : (connection.get("port").text ?? "");
  return JSON.stringify([host, port, database, table]);
}

/** Names and types in one order and without spaces, as JSON; their digest where that is long. */
function columnsOf(root: View): string {
  const columns = root
    .get("sink", "mapping")
    .items(mostColumns)
    .map((entry): [string, string] => {
      return [columnText(entry.get("column_name")), columnText(entry.get("column_type"))];
    });
  const text = JSON.stringify(columns.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return text.length <= longestMapping ? text : createHash("sha256").update(text).digest("hex");
}

/** Its beginning: one long text may be repeated very often. */
function columnText({ text = "" }: View): string {
  return text.slice(0, longestColumn).replaceAll(/\s/g, "");
}

function brokersOf(root: View): string[] {
  // Without a join all have the connection of the first. A join has two sides.
  const sources = root.sources("kafka").slice(0, joins(root) ? 2 : 1);
  const brokers = sources.flatMap((source) => source.get("connection_params", "brokers").items(mostBrokers));
  return brokers.flatMap(({ text }) => (text === undefined ? [] : canonicalBroker(text)));
}
