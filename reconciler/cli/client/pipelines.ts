import type { PartitionLag, PipelineHealth } from "../../../engine/index.ts";
import type { Info } from "../../api/info.ts";
import type { TimedCondition } from "../../status/status.ts";
import { openTransactionsText } from "../../status/open-transactions.ts";
import { throttlingText } from "../../status/throttling.ts";
import { unmatched } from "../../status/unmatched.ts";
import { conditionFacts, freshnessText, snapshotOf } from "./get.ts";
import { columns, facts, printableLines, type Terminal } from "../invocation/terminal.ts";
import { daemonOf, pipelineUrl } from "../control/client.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/** `sluice health [ID]`: the health of all pipelines, or of one. */
export async function health(invocation: Invocation, id?: string): Promise<ExitCode> {
  const daemon = daemonOf(invocation);
  if (id !== undefined) {
    const one = (await daemon.get(pipelineUrl(id, "/health"))) as PipelineHealth;
    const { pipelines } = await snapshotOf(daemon);
    const conditions = pipelines.find(({ pipeline_id }) => pipeline_id === id)?.conditions ?? [];
    return show(invocation, { ...one, conditions }, () => healthFacts(one, conditions));
  }
  const all = (await daemon.get("/control/v1/health")) as PipelineHealth[];
  return show(invocation, all, () => healthTable(all, invocation.terminal));
}

function healthTable(all: PipelineHealth[], terminal: Pick<Terminal, "width">): string {
  if (all.length === 0) return "There are no pipelines.";
  return columns(
    ["ID", "STATUS", "BUFFERED", "LAG", "FRESHNESS", "ROWS WRITTEN", "DEAD LETTERS", "REMARK"],
    all.map((one) => [
      one.pipeline_id,
      one.overall_status,
      one.source === undefined ? String(one.stream?.messages ?? "unknown") : "",
      one.source === undefined ? "" : String(one.source.lag ?? "unknown"),
      freshnessText(one),
      String(one.counters.rows_written),
      String(one.dead_letters.total_messages),
      remarkOf(one),
    ]),
    terminal,
  );
}

/** What a person should look at first. */
function remarkOf(one: PipelineHealth): string {
  const [found] = [
    one.failure,
    one.paused?.text,
    one.refused_senders?.text,
    foreignRemark(one),
    openTransactionsText(one),
    throttlingText(one),
    unmatched(one)?.message,
    one.at_least_once,
    one.profile_remark,
  ].filter((text) => text !== undefined);
  return found ?? "";
}

function healthFacts(one: PipelineHealth, conditions: readonly TimedCondition[]): string {
  return facts([
    ["pipeline", one.pipeline_id],
    ["name", one.pipeline_name],
    ["status", one.overall_status],
    ...conditionFacts(conditions),
    ["failed because", one.failure],
    ["paused since", one.paused?.since],
    ["paused because", one.paused?.text],
    ["way out", one.paused?.way_out],
    ["senders are refused since", one.refused_senders?.since],
    ["requests refused since then", one.refused_senders?.count],
    ["senders are refused because", one.refused_senders?.text],
    ["delivery is at-least-once", one.at_least_once],
    ["settings that may change rows", one.profile_remark],
    ["consumer group", one.consumer_group],
    ["group members that are not Sluice", foreignMembersOf(one)],
    ["an open transaction", openTransactionsText(one)],
    ["throttled by a quota", throttlingText(one)],
    [
      "seconds of the last minute that brokers throttled",
      one.source?.throttled_by?.map(({ seconds }) => seconds).join(", "),
    ],
    ["oldest event not yet a row", freshnessText(one)],
    ["rows written per second", Math.round(one.rows_per_second * 10) / 10],
    ...positionFacts(one),
    ["pending batches", one.pending_batches],
    ["dead letters", one.dead_letters.total_messages],
    ["bytes of dead letters", `${one.dead_letters.bytes} of at most ${one.dead_letters.max_bytes}`],
    ["dedup remembers", one.keys && `${one.keys.keys} keys in ${one.keys.memory} bytes`],
    ...joinFacts(one),
    ["events read since start", one.counters.events_read],
    ["events filtered since start", one.counters.events_filtered],
    ["rows written since start", one.counters.rows_written],
    ...deliveryFacts(one.counters),
    ["created", one.created_at],
    ["updated", one.updated_at],
  ]);
}

/** The events that wait in its stream, or the lag and the uncommitted offsets of its topic. */
function positionFacts({ source, stream }: PipelineHealth): [string, number | string | undefined][] {
  if (source === undefined) {
    return [
      ["events buffered", stream?.messages ?? "unknown"],
      [
        "bytes buffered",
        stream && `${stream.bytes}${stream.max_bytes === undefined ? "" : ` of at most ${stream.max_bytes}`}`,
      ],
    ];
  }
  return [
    ["partitions read", source.partitions],
    ["consumer lag in offsets", source.lag ?? "unknown"],
    ["consumer lag in seconds", secondsOf(source.lag_seconds)],
    ...partitionFacts(source.by_partition ?? []),
    ["offsets that open transactions hold back", source.held_back === 0 ? undefined : source.held_back],
    ["offsets not yet committed to the group", source.uncommitted === 0 ? undefined : source.uncommitted],
  ];
}

/** So many partitions that lag are shown. */
const mostPartitions = 20;

/** The partitions that lag most, and those of which it is not known. */
function partitionFacts(all: readonly PartitionLag[]): [string, string | number | undefined][] {
  const lagging = all.filter(({ lag }) => lag !== 0);
  const shown = lagging.slice(0, mostPartitions).map(({ cluster, topic, partition, lag, lag_seconds }) => {
    const where = `${topic}/${partition}${cluster === undefined ? "" : ` (${cluster})`}`;
    const text = `${where}: ${lag ?? "unknown"} in offsets, ${secondsOf(lag_seconds)} in seconds`;
    return ["partition that lags", text] as [string, string];
  });
  const more = lagging.length - shown.length;
  return [...shown, ["more partitions that lag", more === 0 ? undefined : more]];
}

/** Rounded up, so that only what has no lag is 0. */
function secondsOf(lag_seconds: number | undefined): string {
  return lag_seconds === undefined ? "unknown" : String(Math.ceil(lag_seconds));
}

function joinFacts({ join }: PipelineHealth): [string, number | string][] {
  if (join === undefined) return [];
  const { left, right, waiting, memory, storage } = join;
  const rows: [string, number] = ["joined rows that wait for the table", waiting];
  if (left === undefined || right === undefined) return [rows];
  return [
    ["left events that the join buffers", `${left.events} in ${left.bytes} bytes`],
    ["right events that the join buffers", `${right.events} in ${right.bytes} bytes`],
    rows,
    ["join", `${memory} bytes in memory, ${storage} on disk`],
  ];
}

function foreignRemark(one: PipelineHealth): string | undefined {
  const members = foreignMembersOf(one);
  return members === undefined ? undefined : `group member ${members}`;
}

/** Group members that are not Sluice; their number and the length of their names are not limited. */
function foreignMembersOf({ foreign_members: members = [] }: PipelineHealth): string | undefined {
  if (members.length === 0) return undefined;
  const [first = ""] = members;
  const more = members.length === 1 ? "" : `, and ${members.length - 1} more`;
  return `${first.slice(0, 60)}${more}, whose partitions are not read here`;
}

/** The other counters, if they are not 0. */
function deliveryFacts(counters: PipelineHealth["counters"]): [string, number | undefined][] {
  return Object.entries(counters)
    .filter(([name]) => !["events_read", "events_filtered", "rows_written"].includes(name))
    .map(([name, count]) => [`${name.replaceAll("_", " ")} since start`, count === 0 ? undefined : count]);
}

/** `sluice info`: the version of the daemon and its listeners. */
export async function info(invocation: Invocation): Promise<ExitCode> {
  const all = (await daemonOf(invocation).get("/api/v1/info")) as Info;
  const { listeners, insecure_listeners: insecure, ...rest } = all;
  const warning: [string, string | undefined][] = [["plain and not on loopback", insecure?.join(", ")]];
  return show(invocation, all, () => facts([...Object.entries(rest), ...Object.entries(listeners), ...warning]));
}

/**
 * `sluice sql QUERY`: runs a query on the embedded ClickHouse. Control characters are escaped in formats for people,
 * and kept in others.
 */
export async function sql(invocation: Invocation, query: string): Promise<ExitCode> {
  const format = invocation.settings.optional("sql_format") ?? usualFormat(invocation);
  const answer = await daemonOf(invocation).postForText("/control/v1/sql", { query, format });
  const isYaml =
    invocation.settings.optional("sql_format") === undefined && invocation.settings.text("output") === "yaml";
  // JSON keeps all digits, and is YAML but for its tabs, which are indentation alone: within texts they are escaped.
  const text = answer.replace(/\n$/, "").replaceAll("\t", isYaml ? "  " : "\t");
  if (text !== "") invocation.terminal.out(/^(?:Pretty|Vertical)/.test(format) ? printableLines(text) : text);
  return 0;
}

function usualFormat({ settings, terminal }: Invocation): string {
  if (settings.text("output") !== "text") return "JSON";
  return terminal.isInteractive === true ? "PrettyCompactMonoBlock" : "TabSeparatedWithNames";
}
