import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultOptions, type EngineOptions, normalise, type PipelineConfig } from "../../../schemas/index.ts";
import type { ActualPipeline } from "../../../reconciler/actual/state.ts";
import { fingerprintOf } from "../../../reconciler/desired/fingerprint.ts";
import { assumedState } from "../../../reconciler/preview/assumed.ts";
import { liveState, type LiveState } from "../../../reconciler/preview/live-state.ts";
import { previewOfLive } from "../../../reconciler/preview/preview.ts";
import { readLiveState } from "../../../reconciler/preview/read-live-state.ts";
import { type PlanReport, reportOf } from "../../../reconciler/preview/report.ts";
import { arbitraryPipeline } from "../schemas/arbitrary-pipeline.ts";
import { isEveryCase, runsOf } from "../../support/cases.ts";
import { type PullRequest, pullRequests } from "./pull-requests.ts";
import { limit, reportBetween, sideOf, type Tree } from "./sides.ts";

/** What an API answers where everything runs as these files say, over the wire. */
function answerOf(base: Tree, values: Record<string, string>, figures: Partial<ActualPipeline> = {}): LiveState {
  const { pipelines } = sideOf(base, values).desired;
  const actual = assumedState(pipelines, limit);
  const running = new Map([...actual.pipelines].map(([id, one]) => [id, { ...one, ...figures }]));
  const facts = { max_deletions: limit, holds: { version: 1, pipelines: {} }, described: pipelines } as const;
  const source = { kind: "git", url: "https://git.example/pipelines.git", path: "." } as const;
  return JSON.parse(JSON.stringify(liveState({ ...actual, pipelines: running }, { ...facts, source }))) as LiveState;
}

function liveReport(live: LiveState, head: Tree, values: Record<string, string>): PlanReport {
  return reportOf(previewOfLive(readLiveState(live), sideOf(head, values)), { name: "a server" }, { name: "files" });
}

/** Without what only a server knows, or only a base. */
const comparable = ({ changes, errors, counts, level, notes }: PlanReport): unknown => ({
  changes: changes.map(({ now: _now, ...change }) => change),
  errors,
  counts,
  level,
  notes: notes.filter(({ code }) => code !== "SecretsNotCompared" && code !== "BaseUnusable"),
});

/** Where a server says something else than the files before: it never shows a secret. */
const secretive = ["another password in plain text"];

function expectPlanOfBase({ base, head, variables = { base: {} } }: PullRequest): void {
  const after = variables.head ?? variables.base;
  const report = liveReport(answerOf(base, variables.base), head, after);
  expect(comparable(report)).toEqual(comparable(reportBetween(base, head, variables.base, after)));
}

describe("where everything runs as the base says, a server gives the plan of the base", () => {
  const told = pullRequests.filter(({ title }) => !secretive.includes(title));
  // Neighbours in the list are alike.
  test.each(told.filter((_, index) => index % 4 === 0))("$title", expectPlanOfBase);

  test.each(told.filter((_, index) => index % 4 === 2 || (isEveryCase && index % 2 === 1)))(
    "$title",
    { tags: ["rest"] },
    expectPlanOfBase,
  );

  test.each(pullRequests.filter(({ title }) => secretive.includes(title)))("$title: a note says so", (request) => {
    const report = liveReport(answerOf(request.base, {}), request.head, {});
    expect([report.changes, report.notes.map(({ code }) => code)]).toEqual([[], ["SecretsNotCompared"]]);
  });
});

test.each([
  [7, "what is not read yet of topic orders (now 7 offsets) stays unread, and so does what comes there later"],
  [0, "what comes to topic orders before it stops stays unread, and so does what comes there later"],
  [undefined, "what is not read yet of topic orders stays unread, and so does what comes there later"],
])("a server says how much of a topic stays unread at a lag of %s", (lag, text) => {
  const orders = { id: "orders", topic: "orders" };
  const live = answerOf([orders], {}, lag === undefined ? {} : { lag });
  const [change] = liveReport(live, [{ ...orders, topic: "sales" }], {}).changes;
  expect([change!.level, change!.costs[0]!.text]).toEqual(["forget", text]);
});

test("a server says how much a join forgets, and what it drops", () => {
  const join = { left: "key: id, time_window: 1h" };
  const orders = { id: "orders", topic: "orders", topics: ["users"], join };
  const live = answerOf([orders], {}, { join: { events: 12, rows: 3 } });
  const costsOf = (head: Tree): string[] => liveReport(live, head, {}).changes[0]!.costs.map(({ text }) => text);
  expect(costsOf([{ ...orders, join: { left: "key: level, time_window: 1h" } }])).toContain(
    "the join forgets what it buffers (now 12 events): left events that wait get no row, and others match only right events " +
      "that come from then on",
  );
  expect(costsOf([{ ...orders, max_batch_size: 500 }])).toEqual([
    "drains, about a second: it writes what it has read (3 joined rows), and goes on with the new config; events wait in the topic " +
      "meanwhile",
  ]);
  expect(costsOf([{ ...orders, sluice: ["state: Terminated"] }])).toContain(
    "what the join buffers (now 12 events) is dropped, and so are rows of it (now 3 rows) that are in no prepared batch",
  );
});

test("a server keeps a pipeline that may be in what came as its file went, also where that is gone since", () => {
  const live = answerOf([{ id: "orders" }, { id: "returns" }], {});
  const head = [{ id: "orders" }];
  const kindsOf = (state: LiveState): string[] => liveReport(state, head, {}).changes.map(({ kind }) => kind);
  expect(kindsOf(live)).toEqual(["delete"]);
  expect(kindsOf({ ...live, not_read: { library: { version: "1", may_hold: ["returns"] } } })).toEqual(["no-op"]);
});

test("a server that holds grave changes back says which ones, and their fingerprints", () => {
  const base = [{ id: "orders" }, { id: "returns" }];
  const live: LiveState = { ...answerOf(base, {}), approve: "delete" };
  const { notes } = liveReport(live, [{ id: "orders", expression: "id > 1" }], {});
  expect(notes.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^returns waits for an approval in Git, unless it has one: delete-[0-9a-f]{32}$/),
  ]);
});

test("a server says what a change goes back to, which needs no approval", () => {
  const [was] = sideOf([{ id: "orders" }], {}).desired.pipelines;
  const before = { orders: [{ applied: fingerprintOf(was!), revision: "main@sha1:1a" }] };
  const live: LiveState = { ...answerOf([{ id: "orders", expression: "id > 1" }], {}), approve: "rows", before };
  const notesFor = (head: Tree): string[] => liveReport(live, head, {}).notes.map(({ text }) => text);
  expect(notesFor([{ id: "orders" }])).toEqual([
    "orders goes back to what was applied with main@sha1:1a, so it needs no approval",
  ]);
  expect(notesFor([{ id: "orders", expression: "id > 2" }])).toEqual([
    expect.stringMatching(/^orders waits for an approval in Git, unless it has one: rows-/),
  ]);
});

test("a server says that a pipeline runs again whose stop by an operator is over, whatever becomes of its file", () => {
  const live = answerOf([{ id: "orders" }, { id: "returns" }], {}, { status: "Stopped" });
  const owned = { ...live.owned, returns: { ...live.owned["returns"]!, prune: false, stopped: true as const } };
  const { changes } = liveReport({ ...live, owned }, [{ id: "orders" }], {});
  expect(changes.map(({ pipeline_id, kind }) => `${kind} ${pipeline_id}`)).toContain("resume returns");
});

test("a server says of pipelines that stay what it knows of their targets", () => {
  const figures = { at_least_once: "s.t remembers no insert", profile_remark: "user u has join_use_nulls = 1" };
  const live = answerOf([{ id: "orders" }, { id: "returns" }], {}, figures);
  expect(liveReport(live, [{ id: "orders" }], {}).notes).toEqual([
    { code: "AtLeastOnce", text: "orders is delivered at least once: s.t remembers no insert" },
    { code: "ProfileSettings", text: "rows of orders may be changed by the server: user u has join_use_nulls = 1" },
  ]);
});

test("a server says it of pipelines that get another id too", () => {
  const password = { id: "orders", connection: ["password: a plain password"] };
  const live = answerOf([password], {}, { at_least_once: "s.t remembers no insert" });
  const { notes } = liveReport(live, [{ ...password, id: "sales", sluice: ["moved_from: orders"] }], {});
  expect(notes.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^sales has a secret in plain text,.* not known here$/),
    "sales is delivered at least once: s.t remembers no insert",
    "sales moves from orders.yaml to sales.yaml, and runs on",
  ]);
});

/** An answer with one pipeline of this config. */
function answerWith(config: PipelineConfig, options: EngineOptions = defaultOptions): LiveState {
  const [one] = assumedState(sideOf([{ id: "orders" }], {}).desired.pipelines, limit).pipelines.values();
  const { pipeline_id } = config;
  const pipelines = new Map([[pipeline_id, { ...one!, pipeline_id, config, options }]]);
  const actual = { ...assumedState([], limit), pipelines };
  const source = { kind: "git", url: "https://git.example/pipelines.git", path: "." } as const;
  const facts = { source, max_deletions: limit, holds: { version: 1, pipelines: {} }, described: [] } as const;
  return JSON.parse(JSON.stringify(liveState(actual, facts))) as LiveState;
}

describe("an answer is read as it was meant", () => {
  test("for any pipeline", () => {
    fc.assert(
      fc.property(arbitraryPipeline, (document) => {
        const config = normalise(document);
        expect(readLiveState(answerWith(config)).pipelines[0]!.config).toEqual(config);
      }),
      { numRuns: runsOf(200) },
    );
  });

  test("for one whose secrets are all in plain text, which it does not hold", () => {
    const kafka = normalise({
      version: "v3",
      pipeline_id: "orders",
      sources: [
        {
          type: "kafka",
          source_id: "input",
          topic: "orders",
          connection_params: {
            brokers: ["kafka:9093"],
            protocol: "SASL_SSL",
            mechanism: "PLAIN",
            username: "plain-user",
            password: "plain-password",
            client_cert: "plain-cert",
            client_key: "plain-key",
          },
          schema_registry: {
            url: "https://me:plain-registry@registry:8081",
            api_key: "plain-api",
            api_secret: "plain-x",
          },
          schema_fields: [{ name: "id", type: "int" }],
        },
      ],
      sink: {
        type: "clickhouse",
        connection_params: {
          host: "db",
          port: "9000",
          database: "default",
          username: "writer",
          password: "plain-sink",
        },
        table: "orders",
        mapping: [{ name: "id", column_name: "id", column_type: "Int64" }],
      },
    });
    const answer = answerWith(kafka, { ...defaultOptions, access_token: "plain-access-token-of-senders" });
    expect(JSON.stringify(answer)).not.toMatch(/plain-(?:password|key|registry|x|sink|access)/);
    expect(readLiveState(answer).pipelines[0]!.config.sink.connection_params.password).toBe("<secret>");
  });
});

test("costs and losses name the figures of this moment", () => {
  const returns = { id: "returns", sluice: ["state: Terminated"] };
  const live = answerOf(
    [{ id: "orders", topic: "orders" }, returns],
    {},
    { status: "Running", lag: 42, held: 7, pending_batches: 1, dead_letters: 2 },
  );
  const { changes } = liveReport(live, [{ id: "orders", topic: "orders", sluice: ["state: Stopped"] }, returns], {});
  const said = Object.fromEntries(
    changes.map(({ pipeline_id, costs }) => [pipeline_id, costs.map(({ text }) => text)]),
  );
  expect(said["orders"]).toEqual([
    "reading stops at a lag of 42: events wait in the topic, as long as that keeps them",
  ]);
  expect(said["returns"]?.[0]).toBe(
    "accepted events (now 7 events) are dropped, unless they are written or in a prepared batch",
  );
  expect(changes[0]?.now).toMatchObject({ status: "Running", events: 7, pending_batches: 1, lag: 42, dead_letters: 2 });
});
