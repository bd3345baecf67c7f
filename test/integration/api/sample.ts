import {
  type DeadLetterQueue,
  EngineError,
  type PipelineHealth,
  type PipelineView,
  zeroCounters,
} from "../../../engine/index.ts";
import { defaultOptions, type PipelineConfig } from "../../../schemas/index.ts";
import type { Info } from "../../../reconciler/api/info.ts";
import type { LiveState } from "../../../reconciler/preview/live-state.ts";
import type { ReconcileSnapshot } from "../../../reconciler/reconciler.ts";
import type { StatusSources } from "../../../reconciler/api/routes.ts";
import type { OperationRecord } from "../../../reconciler/apply/history.ts";
import type { OperatorVerbs } from "../../../reconciler/cli/control/operator-routes.ts";

const resources = { replicas: 1, requests: {}, limits: {} };

export const config: PipelineConfig = {
  version: "v3",
  pipeline_id: "orders",
  name: "Orders",
  sources: [{ type: "webhook", source_id: "orders", schema_fields: [{ name: "id", type: "string" }] }],
  transforms: [],
  sink: {
    type: "clickhouse",
    connection_params: {
      host: "embedded",
      database: "default",
      secure: false,
      skip_certificate_verification: false,
    },
    table: "orders",
    max_batch_size: 1000,
    max_delay_time: "1s",
    mapping: [{ name: "id", column_name: "id", column_type: "String" }],
  },
  metadata: { tags: ["shop"] },
  resources: {
    nats: { stream: { max_age: "24h0m0s", max_bytes: "0", max_msgs: -1 } },
    sources: [{ source_id: "orders", ...resources }],
    transform: [],
    sink: resources,
  },
};

export function view(changes: Partial<PipelineView> = {}): PipelineView {
  return {
    pipeline_id: "orders",
    config,
    options: { ...defaultOptions, access_token: "${env:ORDERS_TOKEN}" },
    status: "Running",
    revision: 1,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-02T00:00:00.000Z",
    ...changes,
  };
}

function unasked(): never {
  throw new Error("no reconciler takes requests here");
}

/** An operator of whom nothing is asked. */
export const unaskedOperator: OperatorVerbs = {
  reconcile: unasked,
  answerTo: unasked,
  approve: unasked,
  suspend: unasked,
  stop: unasked,
  resume: unasked,
  rewound: async () => undefined,
  rollBack: unasked,
  cancelRollback: unasked,
};

/** The last five have no lag. */
const by_partition = Array.from({ length: 30 }, (_, partition) => {
  return {
    topic: "orders",
    partition,
    lag: partition < 25 ? 1 : 0,
    ...(partition > 0 && { lag_seconds: partition < 25 ? 11.2 : 0 }),
  };
});

/** What the sample engine says of a pipeline; `kafka` is one that reads a topic, and not alone. */
export function healthOf(one: PipelineView): PipelineHealth {
  const {
    pipeline_id,
    config: { name },
    status,
    failure,
    created_at,
    updated_at,
  } = one;
  return {
    ...(failure !== undefined && { failure }),
    pipeline_id,
    pipeline_name: name,
    overall_status: status,
    rows_per_second: 2.5,
    freshness_seconds: 12.3,
    ...(pipeline_id === "kafka" && {
      source: { partitions: 30, lag: 42, lag_seconds: 11.2, uncommitted: 5, by_partition },
      foreign_members: ["app\u001b[2J", "app-2"],
    }),
    stream: { messages: 3, bytes: 90, first: 5, last: 7 },
    pending_batches: 1,
    dead_letters: letters.state(),
    counters: { ...zeroCounters(), events_read: 7, events_filtered: 1, rows_written: 3, dead_lettered: 2 },
    created_at,
    updated_at,
  };
}

export const letters: DeadLetterQueue = {
  state: () => ({
    last_received_at: "2026-01-03T00:00:00.000Z",
    last_consumed_at: null,
    total_messages: 2,
    unconsumed_messages: 2,
    bytes: 600,
    max_bytes: 1_000_000,
    max_messages: 1_000,
  }),
  list: (limit, cursor = "0") => {
    const messages = [1, 2].filter((id) => id > Number(cursor)).slice(0, limit);
    const last = messages.at(-1);
    return {
      messages: messages.map((id) => ({
        message_id: String(id),
        received_at: "2026-01-03T00:00:00.000Z",
        component: "sink",
        reason: "schema_mismatch",
        error: "id: expected a string, found 1",
        original_message: `{"id":${id}}`,
        position: id,
      })),
      has_more: last === 1,
      ...(last === 1 && { next_cursor: "1" }),
    };
  },
  consume: () => Promise.reject(new Error("the status API takes nothing out")),
  purge: () => Promise.reject(new Error("the status API takes nothing out")),
  discard: () => Promise.reject(new Error("the status API takes nothing out")),
};

/** An engine that holds `views` and does nothing: what the reading side needs of one. */
export function restingEngine(views: PipelineView[]): StatusSources["engine"] {
  const get = (id: string): PipelineView => {
    const found = views.find(({ pipeline_id }) => pipeline_id === id);
    if (found === undefined) throw new EngineError("PIPELINE_NOT_FOUND", `there is no pipeline ${id}`);
    return found;
  };
  return {
    list: () => views,
    get,
    health: (id) => healthOf(get(id)),
    deadLetters: (id) => (get(id), letters),
  };
}

export const info: Info = {
  version: "1.2.3",
  node: "v20.20.0",
  pid: 7,
  started_at: "2026-01-01T00:00:00.000Z",
  data_dir_id: "0123456789ab",
  listeners: { api: "127.0.0.1:8081", events: "off" },
};

/** What a reconciler says before or after the end of its first turn. */
export function snapshot(turn: "under way" | "ended"): ReconcileSnapshot {
  return {
    source: { kind: "git", url: "https://git.example/pipelines.git", branch: "main", path: "." },
    conditions: [],
    ...(turn === "ended" && { lastTurn: "2026-01-03T00:00:00.000Z" }),
    pipelines: [],
    problems: [],
    skipped: [],
    history: [],
  };
}

/** What a plan would depend on, where nothing runs. */
export const actual = (): LiveState => ({
  version: 1,
  at: "2026-01-03T00:00:00.000Z",
  source: snapshot("ended").source,
  max_deletions: { count: 5, share: 20 },
  pipelines: [],
  owned: {},
  under_way: [],
  interrupted: {},
  holds: { version: 1, pipelines: {} },
});

/** Two operations: one of `orders`, and before it one of a pipeline that is gone. */
export const records: OperationRecord[] = [
  {
    id: 7,
    pipeline_id: "orders",
    revision: "main@sha1:0123456789abcdef0123456789abcdef01234567",
    author: "Ada",
    subject: "Raise the limit",
    plan: {
      kind: "update",
      cause: "Changed",
      effect: "restart",
      reason: "sink.table changed",
      calls: ["stop", "update", "resume"],
      fields: ["sink.table"],
      held: { events: 12, pending_batches: 1, dead_letters: 0 },
    },
    began: "2026-01-02T00:00:00.000Z",
    ended: "2026-01-02T00:00:01.500Z",
    result: "applied",
    measured: {
      seconds: 1.5,
      pause_ms: 321,
      events_drained: 12,
      errors: 0,
      retries: 0,
      calls: [
        { call: "stop", result: "success", seconds: 0.25 },
        { call: "update", result: "success", seconds: 0.01 },
        { call: "resume", result: "success", seconds: 0.06 },
      ],
    },
    interrupted: 1,
  },
  {
    id: 3,
    pipeline_id: "gone",
    revision: "main@sha1:0123456789abcdef0123456789abcdef01234567",
    plan: {
      kind: "delete",
      cause: "FileRemoved",
      effect: "none",
      events: "forget",
      level: "delete",
      reason: "",
      calls: ["stop", "delete"],
      fields: [],
    },
    began: "2026-01-01T00:00:00.000Z",
    ended: "2026-01-01T00:00:01.000Z",
    result: "applied",
    measured: { seconds: 1, events_drained: 0, errors: 0, retries: 0, calls: [] },
  },
];

export const history: StatusSources["reconciler"]["history"] = ({ pipeline_id, limit, cursor }) => {
  const before = cursor === undefined ? Infinity : Number(cursor);
  const found = records.filter((one) => one.id < before && (pipeline_id ?? one.pipeline_id) === one.pipeline_id);
  return { records: found.slice(0, limit), ...(found.length > limit && { next_cursor: String(found[limit - 1]?.id) }) };
};
