import { describe, expect, test } from "vitest";
import type { Pause } from "../../../engine/index.ts";
import type { Outcome, OutcomeResult } from "../../../reconciler/apply/outcome.ts";
import type { Cause, Change, ChangeKind, IdleCause, RefusalCause } from "../../../reconciler/plan/change.ts";
import type { Cost, CostFacts } from "../../../reconciler/plan/cost.ts";
import type { Loss, LossFacts } from "../../../reconciler/plan/loss.ts";
import type {
  Caution,
  CautionFacts,
  EndTrigger,
  EndWait,
  Hindrance,
  NotRunning,
  Reason,
  ReasonFacts,
  SharedTopic,
  Unsettled,
} from "../../../reconciler/plan/reason.ts";
import { cautionText, costText, lossText, reasonText } from "../../../reconciler/plan/render/index.ts";
import { type Condition, conditionsOf, sourceConditions } from "../../../reconciler/status/conditions.ts";
import { suspensionOf, withHolds } from "../../../reconciler/status/hold-conditions.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { changeFor, read } from "./world.ts";

/** Facts of each code, at least once with each thing that may be absent: a new code has none, which types do not allow. */
type Examples<Facts> = { [Code in keyof Facts]: readonly [Facts[Code], ...Facts[Code][]] };

const since = "2026-01-01T00:00:00.000Z";
const until = "2026-01-02T00:00:00.000Z";
const file = "orders.yaml";
const nothing = { held: 0, pending_batches: 0 };
const of: Reason = { code: "Edited", facts: editOf("name") };
const some = { held: 7, pending_batches: 1, rows: 2 };
const unknown = { held: "unknown", pending_batches: 0, rows: "unknown" } as const;
const start = { topic: "shop", group: "sluice-orders", start: "earliest" };
const shared: SharedTopic = { topic: "shop", start: "earliest", other: "returns", goesOn: true };
const place = { group: "sluice-orders", topics: ["shop", "returns"], lag: 3, uncommitted: 2 };
const prune: EndTrigger = { ending: "prune", file };
const recreate: EndTrigger = { ending: "recreate", path: "sources[input].topic" };

function editOf(...paths: string[]): ReasonFacts["Edited"] {
  return { paths, reading: { elsewhere: [], added: [], begins: false }, writes: nothing, isDrifted: false };
}

const dependencies: readonly [NotRunning, ...NotRunning[]] = [
  { pipeline_id: "orders", why: { is: "unknown" } },
  { pipeline_id: "orders", status: "Stopped", why: { is: "unknown" } },
  { pipeline_id: "orders", why: { is: "unusable" } },
  { pipeline_id: "orders", status: "Failed", why: { is: "unusable" } },
  { pipeline_id: "orders", why: { is: "planned" } },
  { pipeline_id: "orders", status: "Running", why: { is: "planned", state: "Terminated" } },
  { pipeline_id: "orders", why: { is: "left", isRefused: true, cause: "ImmutableField" } },
  { pipeline_id: "orders", status: "Stopped", why: { is: "left", isRefused: false, cause: "Suspended" } },
  { pipeline_id: "orders", status: "Stopped", why: { is: "left", isRefused: false, cause: "DriftIgnored" } },
  { pipeline_id: "orders", status: "Stopped", why: { is: "left", isRefused: false, cause: "Drifted" } },
  {
    pipeline_id: "orders",
    status: "Stopped",
    why: { is: "left", isRefused: false, cause: "InSync", state: "Stopped" },
  },
  { pipeline_id: "orders", status: "Stopped", why: { is: "left", isRefused: false, cause: "InTransition" } },
];
const ofDependencies = dependencies.map((dependency) => ({ dependency })) as unknown as readonly [
  { dependency: NotRunning },
];

const holdings: readonly Unsettled[] = [
  { held: 1, pending_batches: 0, dead_letters: 0 },
  { ...some, dead_letters: 2, uncommitted: 3 },
  { ...unknown, dead_letters: 0, uncommitted: "unknown" },
];
const waits: readonly EndWait[] = [
  { for: "status", status: "Stopping" },
  ...holdings.flatMap((holds): EndWait[] => [
    { for: "settled", holds },
    { for: "written", holds },
  ]),
];
const hindrances: readonly Hindrance[] = [
  { cause: "DeadLettersHeld", why: { code: "MoreDeadLetters", facts: { planned: 1, present: 2 } } },
  ...(["EventsHeld", "GroupBehind", "DeadLettersHeld"] as const).flatMap((cause) =>
    (["prune", "recreate"] as const).flatMap((ending) =>
      [true, false].map((failed): Hindrance => {
        const facts = { pipeline_id: "orders", ending, holds: holdings[1]!, reads: failed, failed };
        return { cause, why: { code: "Holds", facts: failed ? { ...facts, trouble: "the table is gone" } : facts } };
      }),
    ),
  ),
];

const reasons: Examples<ReasonFacts> = {
  New: [
    { state: "Running", topics: [], shared: [] },
    { state: "Stopped", topics: [start, { ...start, start: "latest" }, { ...start, start: since }], shared: [shared] },
    {
      state: "Terminated",
      topics: [{ ...start, adopted: "old" }],
      shared: [{ ...shared, adopted: "old", goesOn: false }],
    },
  ],
  CreatedAgain: [
    { state: "Running", topics: [], shared: [], lost: ["DeadLetters"] },
    { state: "Stopped", topics: [start], shared: [], lost: ["AcceptedEvents", "DedupKeys", "JoinEvents", "JoinRows"] },
  ],
  Edited: [
    editOf("name"),
    {
      ...editOf("name", "sources[input].topic", "sink.table"),
      reading: {
        elsewhere: [start],
        added: [start],
        removed: { topics: ["a", "b"], lag: 1, becomesLetters: true },
        begins: true,
        take_over: "0a1b2c3d",
      },
      state: { status: "Running", wish: "Stopped", leaves: { way: "written", writes: some, max_age: "24h" } },
      writes: unknown,
      adds: ["a", "b"],
      isDrifted: true,
    },
    {
      ...editOf("name"),
      reading: { ...editOf().reading, removed: { topics: ["a"], lag: 0, becomesLetters: false } },
      adds: ["a"],
    },
  ],
  StateDiffers: [
    { status: "Running", wish: "Stopped" },
    { status: "Failed", wish: "Running", failure: "the stream is damaged", ending: "reads" },
    { status: "Stopped", wish: "Running", ending: "refuses", leaves: { way: "unread", topics: ["a"], lag: 1 } },
    { status: "Running", wish: "Terminated", leaves: { way: "dropped", held: 1 } },
    { status: "Running", wish: "Terminated", leaves: { way: "dropped", held: 5 } },
    { status: "Running", wish: "Terminated", leaves: { way: "dropped", held: "unknown" } },
    { status: "Running", wish: "Stopped", leaves: { way: "unread", topics: ["a", "b"], lag: 9 } },
  ],
  Recreated: [
    { path: "sources[input].topic", writes: nothing, losses: [], isDrifted: false },
    {
      path: "sources[input].topic",
      writes: some,
      losses: [{ code: "DeadLetters", facts: { count: 1 } }],
      position: { reads: "anew", topics: [start] },
      isDrifted: true,
    },
    { path: "a", writes: nothing, losses: [], position: { reads: "on", group: "sluice-orders" }, isDrifted: false },
    { path: "a", writes: nothing, losses: [], position: { reads: "left", place }, isDrifted: false },
  ],
  Adopted: [{ of }],
  Drifted: [{ of }],
  FileRemoved: [
    { file, way: "kept", holds: { ...nothing, dead_letters: 0 } },
    { file, way: "kept", holds: { ...some, dead_letters: 1 }, place },
    {
      file,
      way: "dropped",
      holds: { ...nothing, dead_letters: 0 },
      place: { ...place, topics: ["shop"], lag: 0, uncommitted: 0 },
    },
    { file, way: "dropped", holds: { held: 1, pending_batches: 0, dead_letters: 0 } },
    { file, way: "dropped", holds: { ...unknown, dead_letters: 3 } },
  ],
  SecretChanged: [{ secrets: ["env:A"] }, { secrets: ["env:A", "env:B"] }],
  SecretsToo: [{ of, secrets: ["env:A"] }],
  RunsAgain: [{ of, revision: "main@1" }],
  Moved: [
    { of, from: "old", isAsked: true, group: { from: "sluice-old", to: "sluice-orders" } },
    { of, from: "old", isAsked: false },
  ],
  RecreationFinished: [{ of, revision: "main@1" }],
  EndTakenBack: [{ of }],
  Replaces: [{ of }],
  StopsAfterAll: [{}],

  InSync: [{ status: "Running" }],
  SuspendedByFile: [{}, { waits: of }],
  SuspendedByOperator: [
    { pipeline_id: "orders", since },
    { pipeline_id: "orders", since, by: "ada", reason: "a move", waits: of },
  ],
  StopOver: [{ of }],
  StoppedByOperator: [
    { since, until },
    { since, until, by: "ada", reason: "a move", waits: of },
  ],
  SuspendedFileGone: [{ file }],
  PruneDisabled: [{ file }],
  PruneHeld: [
    { file, unread: "other.yaml" },
    { file, mayHold: [{ path: "other.yaml" }] },
    { file, mayHold: [{ path: "other.yaml", reason: "a link" }, { path: "more.yaml" }] },
  ],
  FolderChanging: [
    { of, after: 5000 },
    { of, after: 5000, changed: file },
  ],
  NotOwned: [{}],
  InProgress: [{}],
  InProgressMeanwhile: ofDependencies,
  InTransition: [{ status: "Stopping" }],
  EndWaits: [prune, recreate].flatMap((trigger) => waits.map((wait) => ({ trigger, wait }))) as unknown as readonly [
    ReasonFacts["EndWaits"],
  ],
  DependencyNotReady: ofDependencies,
  DriftLeft: [
    { of, mode: "report" },
    { of, mode: "ignore" },
  ],
  DriftWaits: [
    { of, times: 1, next: Date.parse(since) },
    { of, times: 3, next: Date.parse(since) },
  ],

  FieldsDiffer: [{ paths: ["name"] }, { paths: ["name", "sink.table"] }],
  StatusDiffers: [{ status: "Stopped" }],
  DeletedInEngine: [{ lost: ["DeadLetters", "AccessToken"] }],

  FileUnusable: [
    { obstacle: { problem: "name: expected a text, got nothing", more: 0 } },
    { obstacle: { problem: "name: expected a text, got nothing", more: 2 }, status: "Running" },
    { obstacle: { path: file, skipped: "a link" }, status: "Stopped" },
    { obstacle: { file } },
  ],
  ImmutableField: [
    { path: "a", from: "b", to: "c", reads: false, recreation_loses: ["DeadLetters"] },
    {
      path: "a",
      from: 1,
      to: { b: 2 },
      reads: true,
      recreation_loses: ["DeadLetters", "DedupKeys"],
      anew: {
        former: "old",
        topics: [
          { ...start, source_id: "input" },
          { ...start, start: "latest", adopted: "b", source_id: "c" },
        ],
      },
    },
  ],
  NotAdopted: [
    { paths: ["name"], calls: [], level: "none" },
    { paths: ["name", "sink.table"], calls: ["stop", "update", "resume"], level: "rows" },
    { paths: ["name"], calls: ["move"], level: "restart", moved_from: "old" },
  ],
  DriftFight: [{ of, times: 5 }],
  IdChanged: [
    { file, from: ["a"], to: ["b"], isReader: false },
    { file, from: ["a", "b"], to: ["c"], isReader: true },
  ],
  NotMoved: [
    { to: "orders", from: ["old"], is: "taken" },
    { to: "orders", from: ["old", "older"], is: "several" },
    { to: "orders", from: ["old"], is: "contested" },
    { to: "orders", from: ["old"], is: "described", file: "a.yaml" },
    { to: "orders", from: ["old"], is: "recreated", path: "sink.table" },
  ],
  EmptySource: [{}],
  DeletionBudget: [
    { file, waiting: 6, begun: 0, of: 20, limit: { count: 5, share: 20 } },
    { file, waiting: 6, begun: 1, of: 6, limit: { count: 1, share: 100 } },
    { file, waiting: 1, begun: 0, of: 1, limit: { count: 5, share: 10 } },
  ],
  SourceChanged: [
    { from: "a", to: "b", isRedirected: false, removes: ["orders"], edits: [] },
    { from: "a", to: "b", isRedirected: true, removes: [], edits: ["orders", "returns"] },
    { from: "a", to: "b", isRedirected: true, removes: ["orders"], edits: ["returns"] },
  ],
  NotApproved: [
    { of, level: "rows", approval: "rows-0" },
    { of, level: "forget", approval: "forget-0", approved: "rows" },
  ],
  EndHindered: [prune, recreate].flatMap((trigger) =>
    hindrances.map((hindrance) => ({ trigger, hindrance })),
  ) as unknown as readonly [ReasonFacts["EndHindered"]],
  GoesBack: [{ of, revision: "main@1" }],
  SuccessorLost: [{ of, revision: "main@1" }],
  Undoes: [
    { kind: "update", lost: [] },
    {
      kind: "delete",
      lost: [
        { code: "DeadLetters", facts: { count: 2 } },
        { code: "Failure", facts: {} },
      ],
    },
  ],
};

const losses: Examples<LossFacts> = {
  AcceptedEvents: [some, { held: "unknown", pending_batches: 0 }],
  DeadLetters: [{ count: 1 }],
  DedupKeys: [{}, { keys: 3 }],
  JoinEvents: [{}, { events: 3 }],
  JoinRows: [{}, { rows: 1 }],
  AccessToken: [{}, { pipeline_id: "orders" }],
  SecretValues: [{ secrets: ["env:A"] }, { secrets: ["env:A", "env:B"] }],
  GroupPlace: [{ run: "0a1b2c3d" }],
  Failure: [{}],
  BegunEnd: [{}],
};

const cautions: Examples<CautionFacts> = {
  RowsTwice: [
    shared,
    { ...shared, goesOn: false },
    { ...shared, start: "latest" },
    { ...shared, start: "latest", adopted: "old" },
  ],
  JoinReplays: [{ left: "a", right: "b" }],
  NothingToMove: [{ from: ["old"] }, { from: ["old", "older"] }],
};

const dedup = { source_id: "input", window: "24h0m0s" };
const target = { host: "clickhouse", database: "shop", table: "orders" };
const costs: Examples<CostFacts> = {
  TopicsLeft: [{ topics: ["a"] }, { topics: ["a", "b"], lag: 1 }, { topics: ["a"], lag: 0 }],
  BrokersChange: [{ topics: ["a"] }],
  SendersMove: [{ from: "old", to: "orders" }],
  LostSkipped: [{}],
  UncertainSkipped: [{}],
  UncertainSent: [{}],
  ViewSkipped: [{}],
  TakenOver: [{ run: "0a1b2c3d" }],
  Rewinds: [
    { to: "earliest", hasDedup: false },
    { to: "2026-01-31T12:00:00Z", hasDedup: true },
  ],
  NullChanges: [{ to: "default" }, { to: "zero" }, { to: "reject" }],
  TombstonesChange: [
    { source_id: "a", kept: true },
    { source_id: "a", kept: false },
  ],
  SourcesBegin: [{ sources: ["a", "b"] }],
  AppliedLive: [{}],
  Drains: [{ waits: "stream" }, { waits: "topic", writes: some }],
  DedupForgets: [dedup, { ...dedup, keys: 1 }],
  DedupEnds: [dedup, { ...dedup, keys: 1 }],
  DedupBegins: [dedup],
  JoinOutputs: [{}],
  JoinForgets: [{}, { events: 1 }],
  JoinDropped: [{}, { events: 1, rows: 2 }],
  WindowChanges: [{ source_id: "a", from: "1h0m0s", to: "2h0m0s" }],
  ExpressionChanges: [
    { source_id: "a", type: "filter" },
    { source_id: "a", type: "stateless" },
  ],
  FieldsDemanded: [
    { source_id: "a", fields: ["b"] },
    { source_id: "a", fields: ["b", "c"] },
  ],
  FieldsTyped: [
    { source_id: "a", fields: ["b"] },
    { source_id: "a", fields: ["b", "c"] },
  ],
  FieldsFreed: [
    { source_id: "a", fields: ["b"] },
    { source_id: "a", fields: ["b", "c"] },
  ],
  PortChanges: [{ host: "clickhouse" }],
  ColumnsFilled: [{ columns: ["a"] }, { columns: ["a", "b"] }],
  TargetChanges: [{ from: target, to: { ...target, table: "sales" } }],
  ColumnsLeft: [{ columns: ["a"] }, { columns: ["a", "b"] }],
  ReadingStops: [{}, { lag: 1 }],
  EventsDropped: [{}, { held: 1 }],
  DeadLettersDropped: [{}, { count: 1 }],
  SendersRefused: [{}],
  TokenMade: [{ pipeline_id: "orders" }],
  DeadLettersFirst: [{ pipeline_id: "orders" }, { pipeline_id: "orders", count: 1 }],
};

/** What is wrong with a sentence, to the eye of its reader. */
function faultsOf(sentence: string): string[] {
  const signs: Record<string, RegExp> = {
    "a value that is none": /\b(undefined|NaN|Infinity)\b|\[object /,
    "two blanks, or one before a sign": / {2}| [,;:)]| \.(?!\w)/,
    "two signs in a row, or a sign alone": /[,;:][,;:]|[,;:] ?$|^[,;:. ]|\(\)/,
    "a count of one of several":
      /(?<!of |[\d.@-])\b1 (events|batches|letters|changes|offsets|pipelines|rows|times|keys|errors)\b/,
    "more than one line": /[\n\r]/,
    "which without its verb": /\bwhich (?=[;:,]|$)/,
  };
  return Object.entries(signs).flatMap(([what, sign]) => (sentence.trim() === "" || sign.test(sentence) ? [what] : []));
}

const entries = <Facts extends object>(examples: Examples<Facts>): { code: keyof Facts; facts: never }[] =>
  (Object.keys(examples) as (keyof Facts)[]).flatMap((code) =>
    (examples[code] as readonly unknown[]).map((facts) => ({ code, facts: facts as never })),
  );

const ofReasons = entries(reasons);

describe("every code has sentences without a fault, whatever its facts", () => {
  test.each(
    Object.entries({
      reasons: ofReasons.map(({ code, facts }) => `${code}: ${reasonText({ code, facts } as Reason)}`),
      losses: entries(losses).map((one) => `${one.code}: ${lossText(one as Loss)}`),
      cautions: entries(cautions).map((one) => `${one.code}: ${cautionText(one as Caution)}`),
      costs: entries(costs).map((one) => `${one.code}: ${costText(one as Cost)}`),
    }),
  )("%s", (_, sentences) => {
    expect(
      sentences.flatMap((one) => faultsOf(one.slice(one.indexOf(": ") + 2)).map((fault) => `${fault}: ${one}`)),
    ).toEqual([]);
  });
});

const idle: Record<IdleCause, true> = {
  InSync: true,
  Suspended: true,
  DriftIgnored: true,
  Drifted: true,
  PruneDisabled: true,
  StoppedByOperator: true,
  NotOwned: true,
  InTransition: true,
  InProgress: true,
  DependencyNotReady: true,
  PruneHeld: true,
  FolderChanging: true,
  InvalidFile: true,
};
const refused: Record<RefusalCause, true> = {
  InvalidFile: true,
  DuplicateId: true,
  ImmutableField: true,
  IdChanged: true,
  NotMoved: true,
  NotAdopted: true,
  DriftFight: true,
  EmptySource: true,
  DeletionBudget: true,
  SourceChanged: true,
  NotApproved: true,
  EventsHeld: true,
  GroupBehind: true,
  DeadLettersHeld: true,
};
const results: Record<OutcomeResult, true> = {
  applied: true,
  failed: true,
  waiting: true,
  blocked: true,
  held: true,
  refused: true,
  replaced: true,
  suspended: true,
  "under way": true,
};
const pauses: Record<Pause["class"], true> = {
  transient: true,
  row: true,
  partitions: true,
  view: true,
  setup: true,
  disk: true,
  probe: true,
  uncertain: true,
  lost: true,
  storage: true,
  source: true,
  owner: true,
  thread: true,
  letters: true,
};

/** The faults of conditions, each with what it says. */
function said(found: readonly Condition[]): string[] {
  return found.flatMap(({ type, reason, message }) =>
    [...faultsOf(reason), ...faultsOf(message)].map((fault) => `${fault}: ${type} ${reason}: ${message}`),
  );
}

describe("every condition says something without a fault", () => {
  const engine = new ModelEngine();
  const { config, options } = read({ id: "orders" });
  engine.put(config, options, "Running");
  const health = engine.health("orders");
  const inSync = changeFor({ wanted: [{ id: "orders" }], there: [{ was: { id: "orders" } }] });
  const changeOf = (kind: ChangeKind, cause: Cause, why: Reason): Change =>
    ({
      ...inSync,
      kind,
      cause,
      why,
      calls: kind === "update" ? ["stop", "update", "resume"] : [],
    }) as unknown as Change;
  const hold = { since, by: "ada" };

  test.each(ofReasons.map(({ code, facts }, index) => ({ code, index, why: { code, facts } as Reason })))(
    "$code ($index), whatever its cause",
    ({ why }) => {
      const changes = [
        ...Object.keys(idle).map((cause) => changeOf("no-op", cause as IdleCause, why)),
        ...Object.keys(refused).map((cause) => changeOf("refuse", cause as RefusalCause, why)),
        changeOf("update", "Changed", why),
      ];
      const observed = changes.flatMap((change) => {
        const suspended = suspensionOf(change, change.pipeline_id, hold, undefined);
        return [
          conditionsOf({ change, busy: false, wished: "Running", health }),
          conditionsOf({ change, busy: true, health }),
          conditionsOf({ change, busy: false, ...(suspended !== undefined && { suspended }) }),
        ];
      });
      expect(observed.flatMap(said)).toEqual([]);
      expect(observed.every((found) => found.some(({ type }) => type === "Ready"))).toBe(true);
    },
  );

  test.each(Object.keys(results) as OutcomeResult[])("the outcome %s", (result) => {
    const change = changeOf("update", "Changed", of);
    const outcomes: Outcome[] = [
      { pipeline_id: "orders", kind: "update", result, message: "the table is missing" },
      {
        pipeline_id: "orders",
        kind: "update",
        result,
        message: "it is stopped",
        next_attempt: until,
        cause: "InTransition",
      },
    ];
    const found = outcomes.flatMap((outcome) =>
      conditionsOf({ change, outcome, busy: false, wished: "Running", health }),
    );
    expect(said(found)).toEqual([]);
  });

  test.each(Object.keys(pauses) as Pause["class"][])("the pause %s", (kind) => {
    const paused = { class: kind, since, text: "the table is missing", way_out: "create it" };
    const found = conditionsOf({ change: inSync, busy: false, wished: "Running", health: { ...health, paused } });
    expect(said(found)).toEqual([]);
    expect(found[0]).toMatchObject({
      status: "False",
      reason: `Paused${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    });
  });

  test("of the source: while something waits, is suspended, pinned or kept", () => {
    const open = { stalled: [], retrying: [], suspended: [], kept: [] };
    const seen = { revision: "main@1", documents: 1 };
    const found = [
      {},
      { revision: "main@1", documents: 0 },
      { error: new Error("it failed") },
      { ...seen, fetchError: new Error("no route") },
      { ...seen, redirected: "https://b.example.com" },
      { ...seen, changing: { paths: ["a.yaml"], after: 5000, at: 0, isBrief: false } },
    ].flatMap((one) => [
      sourceConditions(one, open),
      sourceConditions(one, { stalled: ["a"], retrying: ["b"], suspended: ["c"], kept: ["d"] }),
      sourceConditions(one, { ...open, suspended: ["c"], kept: ["d"] }),
      withHolds(
        sourceConditions(one, open),
        {
          version: 1,
          pipelines: {},
          everything: hold,
          pin: { ...hold, commit: "0", revision: "main@0", head: "main@1" },
        },
        ["orders"],
      ),
    ]);
    expect(found.flatMap(said)).toEqual([]);
  });
});
