import type { Level } from "../../../reconciler/plan/level.ts";
import { changedIn, otlpPipeline } from "../../support/pipeline-file.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import type { Tree } from "./sides.ts";

/** A change of files, as a reviewer gets it. */
export interface PullRequest {
  title: string;
  base: Tree;
  head: Tree;
  /** Values of variables; those of the head are the base's unless they are given. */
  variables?: { base: Record<string, string>; head?: Record<string, string> };
  /** Of `--fail-on`. */
  failOn?: Level;
  /** What keeps some events from becoming rows when it is merged; it says what becomes of them. */
  trouble?: Trouble;
}

/** Records are gone unread; a view fails; an insert never came, or its answer did not. */
export type Trouble = "retention" | "view" | "unsent" | "unanswered";

function pr(
  title: string,
  base: Tree,
  head: Tree,
  more: Omit<PullRequest, "title" | "base" | "head"> = {},
): PullRequest {
  return { title, base, head, ...more };
}

const orders = { id: "orders" };
const returns = { id: "returns" };
const clicks = { id: "clicks", topic: "clicks" };

const both: PipelineText = {
  ...clicks,
  topics: ["users"],
  kafka: ["consumer_group_initial_offset: latest"],
};
const joined = (left?: string): PipelineText => ({ ...both, join: left === undefined ? {} : { left } });

/** Orders with a line of `x-sluice`. */
const told = (...sluice: string[]): PipelineText => ({ ...orders, sluice });
const dedup = (key = "id", window = "24h", resources?: string): PipelineText => ({
  ...orders,
  transforms: [`{ type: dedup, source_id: input, config: { key: ${key}, time_window: ${window} } }`],
  ...(resources !== undefined && { root: [`resources: { transform: [{ source_id: input, ${resources} }] }`] }),
});
const stream = (limits: string, ...sluice: string[]): PipelineText => ({
  ...orders,
  sluice,
  root: [`resources: { nats: { stream: { ${limits} } } }`],
});
/** The text of a pipeline with passages replaced. */
const edited = (of: PipelineText, ...passages: string[]): Record<string, string> => ({
  [`${of.id}.yaml`]: changedIn(pipelineText(of), ...passages),
});
const doubled =
  "{ type: stateless, source_id: input, config: { transforms: [{ expression: id * 2, output_name: id, output_type: int }, { expression: level, output_name: level, output_type: string }] } }";
const level = "    - { name: level, column_name: level, column_type: String }\n";
const several = (count: number): Tree => Array.from({ length: count }, (_, at) => ({ id: `shop-${at + 1}` }));

const nothing: PullRequest[] = [
  pr("nothing changes", [orders, clicks], [orders, clicks]),
  pr("only a comment", [orders], [{ "orders.yaml": `# All orders.\n${pipelineText(orders)}` }]),
  pr("another spelling of a window", [dedup("id", "1h")], [dedup("id", "60m")]),
  pr("a file is renamed", [orders], [{ "shop/orders.yaml": pipelineText(orders) }]),
  pr(
    "a file of another tool is added",
    [orders],
    [orders, { "compose.yaml": "services: { web: { image: nginx } }\n" }],
  ),
  pr(
    "an ignored file is broken",
    [orders, { ".sluiceignore": "drafts/\n" }],
    [orders, { ".sluiceignore": "drafts/\n", "drafts/new.yaml": "version: v3\npipeline_id: [" }],
  ),
];

const created: PullRequest[] = [
  pr("a new webhook pipeline", [orders], [orders, returns]),
  pr("a new kafka pipeline", [orders], [orders, clicks]),
  pr(
    "a new kafka pipeline from the end",
    [orders],
    [orders, { ...clicks, kafka: ["consumer_group_initial_offset: latest"] }],
  ),
  pr("a new kafka pipeline from a time", [orders], [orders, { ...clicks, sluice: ['start: "2026-01-01T00:00:00Z"'] }]),
  pr("a new pipeline that creates its table", [orders], [orders, { ...returns, sluice: ["create_table: true"] }]),
  pr("a new pipeline that is stopped", [orders], [orders, { ...returns, sluice: ["state: Stopped"] }]),
  pr(
    "a new pipeline with a token of its own",
    [orders],
    [orders, { ...returns, sluice: ["access_token: ${env:SLUICE_SECRET_T}"] }],
  ),
  pr("a new pipeline for logs", [orders], [orders, { "app-logs.yaml": otlpPipeline }]),
  pr("the first pipeline", [], [orders]),
  pr("a new pipeline with a join", [orders], [orders, { ...joined(), kafka: [] }]),
  pr("a topic is read twice into one table", [clicks], [clicks, { ...clicks, id: "clicks-again", table: "clicks" }]),
  pr("a topic is read twice into two tables", [clicks], [clicks, { ...clicks, id: "clicks-raw" }]),
  pr(
    "two new pipelines of which one waits for the other",
    [orders],
    [orders, { ...returns, sluice: ["depends_on: [refunds]"] }, { id: "refunds" }],
  ),
];

const removed: PullRequest[] = [
  pr("a file is removed", [orders, returns], [orders]),
  pr("the file of a kafka pipeline is removed", [orders, clicks], [orders]),
  pr("the file of a pipeline with dedup is removed", [returns, dedup()], [returns]),
  pr("the file of a pipeline with a join is removed", [orders, joined()], [orders]),
  pr("a file that said prune false is removed", [orders, { ...returns, sluice: ["prune: false"] }], [orders]),
  pr("a file that said suspend is removed", [orders, { ...returns, sluice: ["suspend: true"] }], [orders]),
  pr("the file of a terminated pipeline is removed", [returns, told("state: Terminated")], [returns]),
  pr("all files are removed", [orders, returns], []),
  pr("more files are removed than may be", several(8), several(2)),
  pr(
    "one of two documents is removed",
    [{ "shop.yaml": `${pipelineText(orders)}---\n${pipelineText(returns)}` }],
    [{ "shop.yaml": pipelineText(orders) }],
  ),
];

const live: PullRequest[] = [
  pr("another name", [orders], [{ ...orders, name: "All orders" }]),
  pr("other tags", [orders], [{ ...orders, tags: ["shop", "eu"] }]),
  pr("another name and other tags", [orders], [{ ...orders, name: "All orders", tags: ["shop"] }]),
  pr("an option of the engine", [clicks], [{ ...clicks, sluice: ["on_lost: skip"] }]),
  pr("a token of its own", [orders], [told("access_token: ${env:SLUICE_SECRET_T}")]),
  pr("directives alone", [orders, returns], [told("prune: false", "depends_on: [returns]"), returns]),
];

const onServer = (...sluice: string[]): Record<string, string> =>
  edited(
    told(...sluice),
    "host: embedded",
    'host: ch.example.com\n    port: "8124"\n    username: u\n    password: "${env:SLUICE_SECRET_P}"',
  );

/** Options of delivery: they stop nothing, and decide what becomes of events. */
const delivered: PullRequest[] = [
  pr("lost events are skipped", [clicks], [{ ...clicks, sluice: ["on_lost: skip"] }], { trouble: "retention" }),
  pr("messages are read again", [clicks], [{ ...clicks, sluice: ["rewind: earliest"] }]),
  pr("a rewind is taken out of the file", [{ ...clicks, sluice: ["rewind: earliest"] }], [clicks]),
  pr("lost events pause it again", [{ ...clicks, sluice: ["on_lost: skip"] }], [clicks]),
  pr(
    "a view that fails is left out",
    [told("create_table: true")],
    [told("create_table: true", "on_view_error: skip")],
    {
      trouble: "view",
    },
  ),
  pr("an uncertain batch counts as written", [onServer("on_uncertain: pause")], [onServer("on_uncertain: skip")], {
    trouble: "unsent",
  }),
  pr("an uncertain batch is sent again", [onServer("on_uncertain: pause")], [onServer()], { trouble: "unanswered" }),
  pr("an uncertain batch pauses", [orders], [told("on_uncertain: pause")]),
  pr("a start that applies no more", [clicks], [{ ...clicks, sluice: ["start: latest"] }]),
  pr(
    "another group is adopted and not needed",
    [clicks],
    [{ ...clicks, sluice: ["sources: { input: { adopt_group: loader } }"] }],
  ),
];

/** Each of them stops its pipeline; that is not what its class says. */
const otherRows: PullRequest[] = [
  pr("a filter that nothing passes", [orders], [{ ...orders, expression: "level == `eror`" }]),
  pr("a filter of one topic more", [clicks], [{ ...clicks, topics: ["views"], expression: "id > 100" }]),
  pr(
    "a field that is not required any more",
    [orders],
    [edited(orders, "{ name: level, type: string }", "{ name: level, type: string, required: false }")],
  ),
  pr(
    "a field that is no longer declared",
    [edited(orders, "type: string }]", "type: string }, { name: amount, type: float }]")],
    [orders],
  ),
  pr(
    "a field that may be absent is declared",
    [orders],
    [edited(orders, "type: string }]", "type: string }, { name: amount, type: float, required: false }]")],
  ),
  pr("a column of another field", [orders], [edited(orders, "name: level, column_name", "name: id, column_name")]),
  pr("null is refused", [orders], [told("null: reject")]),
  pr(
    "tombstones become dead letters",
    [clicks],
    [{ ...clicks, sluice: ["sources: { input: { on_tombstone: dead_letter } }"] }],
  ),
  pr("a stateless transform is removed", [{ ...orders, transforms: [doubled] }], [orders]),
  pr(
    "other output fields of a join",
    [joined()],
    [edited(joined(), "{ source_id: users, name: level }", "{ source_id: input, name: level }")],
  ),
];

/** Each of them leaves something unread. */
const unread: PullRequest[] = [
  pr(
    "another topic of a pipeline that is behind",
    [{ ...clicks, sluice: ["state: Stopped"] }],
    [{ ...clicks, topic: "clicks-v2" }],
  ),
  pr("one broker more", [clicks], [{ ...clicks, brokers: ["kafka:9092", "kafka-2:9092"] }]),
];

const restarted: PullRequest[] = [
  pr("another filter", [orders], [{ ...orders, expression: "id > 100" }]),
  pr(
    "a filter of several lines",
    [{ ...orders, expression: 'id > 1 &&\nlevel == "x"' }],
    [{ ...orders, expression: 'id > 1 &&\nlevel != "x"' }],
  ),
  pr("another filter of a kafka pipeline", [clicks], [{ ...clicks, expression: "id > 100" }]),
  pr(
    "a file is renamed and edited",
    [orders],
    [{ "shop/orders.yaml": pipelineText({ ...orders, expression: "id > 100" }) }],
  ),
  pr("another size of batches", [orders], [{ ...orders, max_batch_size: 50_000 }]),
  pr("another table", [orders], [{ ...orders, table: "orders_v2" }]),
  pr(
    "another table that is created",
    [told("create_table: true")],
    [{ ...told("create_table: true"), table: "orders_v2" }],
  ),
  pr(
    "another server",
    [orders],
    [
      edited(
        orders,
        "host: embedded",
        'host: ch.example.com\n    port: "8123"\n    username: u\n    password: "${env:SLUICE_SECRET_P}"',
      ),
    ],
  ),
  pr("a new column", [edited(orders, level, "")], [orders]),
  pr("a new column that is added", [edited(told("alter_table: true"), level, "")], [told("alter_table: true")]),
  pr("a column that is no longer written", [orders], [edited(orders, level, "")]),
  pr(
    "another type of a column",
    [orders],
    [edited(orders, "column_type: String", "column_type: LowCardinality(String)")],
  ),
  pr(
    "another password in plain text",
    [{ ...orders, connection: ["password: old-s3cret"] }],
    [{ ...orders, connection: ["password: new-s3cret"] }],
  ),
  pr(
    "another reference to a password",
    [{ ...orders, connection: ["password: ${env:SLUICE_SECRET_A}"] }],
    [{ ...orders, connection: ["password: ${env:SLUICE_SECRET_B}"] }],
  ),
  pr(
    "a field that is declared anew",
    [orders],
    [edited(orders, "type: string }]", "type: string }, { name: amount, type: float }]")],
  ),
  pr(
    "another type of a declared field",
    [orders],
    [edited(orders, "{ name: id, type: int }", "{ name: id, type: uint }")],
  ),
  pr("another topic", [clicks], [{ ...clicks, topic: "clicks-v2" }]),
  pr("one more topic", [clicks], [{ ...clicks, topics: ["views"] }]),
  pr("one topic less", [{ ...clicks, topics: ["views"] }], [clicks]),
  pr("other brokers", [clicks], [{ ...clicks, brokers: ["kafka-2:9092"] }]),
  pr("another start of a group", [clicks], [{ ...clicks, kafka: ["consumer_group_initial_offset: latest"] }]),
  pr("the offsets of another run are taken over", [clicks], [{ ...clicks, sluice: ["take_over: 0123456789abcdef"] }]),
  pr("a dedup is added", [orders], [dedup()]),
  pr("another window", [dedup("id", "1h")], [dedup("id", "24h")]),
  pr(
    "a stateless transform is added",
    [orders],
    [
      {
        ...orders,
        transforms: [doubled],
      },
    ],
  ),
];

const states: PullRequest[] = [
  pr("a pipeline is stopped", [orders], [told("state: Stopped")]),
  pr("a kafka pipeline is stopped", [clicks], [{ ...clicks, sluice: ["state: Stopped"] }]),
  pr("a pipeline is started again", [told("state: Stopped")], [orders]),
  pr("a pipeline is terminated", [orders], [told("state: Terminated")]),
  pr("a stopped pipeline is edited", [told("state: Stopped")], [{ ...told("state: Stopped"), expression: "id > 100" }]),
  pr("a pipeline is stopped and edited", [orders], [{ ...told("state: Stopped"), expression: "id > 100" }]),
  pr("a pipeline is suspended and edited", [orders], [{ ...told("suspend: true"), expression: "id > 100" }]),
  pr("a suspended pipeline is edited", [told("suspend: true")], [{ ...told("suspend: true"), expression: "id > 100" }]),
  pr(
    "a pipeline waits for one that is stopped",
    [returns, orders],
    [
      { ...returns, sluice: ["state: Stopped"] },
      { ...told("depends_on: [returns]"), expression: "id > 100" },
    ],
  ),
];

const lossy: PullRequest[] = [
  pr("another key of a dedup", [dedup()], [dedup("level")]),
  pr("another key of a join", [joined()], [joined("key: level, time_window: 1h")]),
  pr("another window of a join", [joined()], [joined("key: id, time_window: 2h")]),
  pr("a join is added", [both], [joined()]),
  pr("a join is removed with recreate", [joined()], [{ ...both, sluice: ["recreate: true"] }]),
  pr("another key of a dedup fails where nothing may be forgotten", [dedup()], [dedup("level")], { failOn: "forget" }),
  pr("a dedup is removed", [dedup()], [orders]),
  pr("an immutable field with recreate", [stream("max_age: 24h")], [stream("max_age: 48h", "recreate: true")]),
  pr("a webhook becomes a topic with recreate", [orders], [{ ...told("recreate: true"), topic: "orders" }]),
];

const refused: PullRequest[] = [
  pr("a longer age of a stream", [stream("max_age: 24h")], [stream("max_age: 48h")]),
  pr("a larger stream", [stream("max_bytes: 1Gi")], [stream("max_bytes: 2Gi")]),
  pr("more messages of a stream", [stream("max_msgs: 1000")], [stream("max_msgs: 2000")]),
  pr(
    "a larger store of a dedup",
    [dedup("id", "24h", "storage: { size: 10Gi }")],
    [dedup("id", "24h", "storage: { size: 20Gi }")],
  ),
  pr("more workers of a dedup", [dedup("id", "24h", "replicas: 1")], [dedup("id", "24h", "replicas: 2")]),
  pr("another type of source", [orders], [{ ...orders, topic: "orders" }]),
  pr("a refused change that may pass", [stream("max_age: 24h")], [stream("max_age: 48h")], { failOn: "none" }),
  pr("another id in a file", [orders], [{ "orders.yaml": pipelineText({ ...orders, id: "orders-v2" }) }]),
  pr(
    "an id goes to another file",
    [{ "a.yaml": pipelineText(orders), "b.yaml": pipelineText(returns) }],
    [{ "a.yaml": pipelineText(returns), "b.yaml": pipelineText(orders) }],
  ),
  pr("two files with one id", [orders], [orders, { "copy.yaml": pipelineText(orders) }]),
];

const movedClicks: PipelineText = {
  ...clicks,
  id: "clicks-eu",
  table: "clicks",
  name: "Clicks",
  sluice: ["moved_from: clicks"],
};

const moved: PullRequest[] = [
  pr("another id of the same pipeline", [clicks], [{ "clicks.yaml": pipelineText(movedClicks) }]),
  pr("another id and another file of the same pipeline", [clicks], [movedClicks]),
  pr("another id and another filter", [clicks], [{ ...movedClicks, expression: "id > 100" }]),
  pr("another id is taken back", [movedClicks], [clicks]),
  pr("another id while the former one stays", [clicks], [clicks, movedClicks]),
];

const invalid: PullRequest[] = [
  pr("a mistake in a field", [orders], [edited(orders, "max_delay_time: 50ms", "max_delay_time: soon")]),
  pr(
    "several mistakes",
    [orders],
    [edited(orders, "max_delay_time: 50ms", "max_delay_time: soon", "type: int }", "type: whole }")],
  ),
  pr("broken yaml", [orders], [{ "orders.yaml": "version: v3\npipeline_id: orders\nsources: [\n" }]),
  pr("a new file with a mistake", [orders], [orders, { ...returns, expression: "level =" }]),
  pr("a new file that is no yaml", [orders], [orders, { "returns.yaml": "version: v3\n  sources: [" }]),
  pr(
    "a file becomes one of another tool",
    [orders, returns],
    [returns, { "orders.yaml": "services: { web: { image: nginx } }\n" }],
  ),
  pr("a file of a pipeline is ignored", [orders, returns], [orders, returns, { ".sluiceignore": "orders.yaml\n" }]),
  pr("a file is hidden", [orders, returns], [returns, { ".orders.yaml": pipelineText(orders) }]),
  pr("a mistake of the base is mended", [edited(orders, "max_delay_time: 50ms", "max_delay_time: soon")], [orders]),
  pr(
    "a mistake of the base stays",
    [edited(orders, "max_delay_time: 50ms", "max_delay_time: soon"), returns],
    [edited(orders, "max_delay_time: 50ms", "max_delay_time: soon"), returns],
  ),
  pr(
    "a cycle of dependencies",
    [orders, returns],
    [told("depends_on: [returns]"), { ...returns, sluice: ["depends_on: [orders]"] }],
  ),
];

const v2 = `version: v2
pipeline_id: events
source:
  type: kafka
  connection_params: { brokers: ["kafka:9092"], protocol: PLAINTEXT }
  topics: [{ name: events }]
filter: { enabled: true, expression: kind == "heartbeat" }
sink: { type: clickhouse, host: embedded, database: default, table: events }
schema:
  fields:
    - { source_id: events, name: id, type: string, column_name: id, column_type: String }
    - { source_id: events, name: kind, type: string }
`;

const topic = pipelineText({ ...clicks, topic: "${var:TOPIC}" });

const others: PullRequest[] = [
  pr("a new file of version v2 with a filter", [orders], [orders, { "events.yaml": v2 }]),
  pr("a new file of version v2", [orders], [orders, { "events.yaml": changedIn(v2, /^filter.*\n/m.exec(v2)![0], "") }]),
  pr("another value of a variable", [{ "clicks.yaml": topic }], [{ "clicks.yaml": topic }], {
    variables: { base: { TOPIC: "clicks" }, head: { TOPIC: "clicks-v2" } },
  }),
  pr("a variable without a value", [clicks], [{ "clicks.yaml": topic }]),
  pr("a value becomes a variable", [clicks], [{ "clicks.yaml": topic }], { variables: { base: { TOPIC: "clicks" } } }),
  pr(
    "many things at once",
    [
      orders,
      clicks,
      returns,
      { id: "legacy" },
      { id: "carts", root: ["resources: { nats: { stream: { max_age: 24h } } }"] },
    ],
    [
      { ...orders, expression: "id > 100", name: "All orders" },
      { ...clicks, sluice: ["state: Stopped"] },
      { ...returns, max_batch_size: 5 },
      { id: "refunds", sluice: ["create_table: true"] },
      { id: "carts", root: ["resources: { nats: { stream: { max_age: 48h } } }"] },
    ],
  ),
  pr("text that could be markup", [orders], [{ ...orders, name: '"a | `b` *c* <img src=x> @everyone #1 \\e[31m"' }]),
  pr("a name of several fences", [orders], [{ ...orders, expression: "level == `x` && ```" }]),
];

export const pullRequests: readonly PullRequest[] = [
  ...nothing,
  ...created,
  ...removed,
  ...live,
  ...delivered,
  ...otherRows,
  ...unread,
  ...restarted,
  ...states,
  ...lossy,
  ...refused,
  ...moved,
  ...invalid,
  ...others,
];
