import { describe, expect, test } from "vitest";
import { consumerGroup, type Status } from "../../../engine/index.ts";
import { approvalOf } from "../../../reconciler/holds/approval.ts";
import { planWithHolds } from "../../../reconciler/holds/held-plan.ts";
import type { Change } from "../../../reconciler/plan/change.ts";
import { costsOf } from "../../../reconciler/plan/costs/costs.ts";
import { withMoves } from "../../../reconciler/plan/decide/index.ts";
import { levelOf } from "../../../reconciler/plan/level.ts";
import { costText } from "../../../reconciler/plan/render/index.ts";
import { previewOf } from "../../../reconciler/preview/preview.ts";
import { permissionsOf } from "../../../reconciler/secrets/permissions.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import { limit, sideOf } from "../preview/sides.ts";
import { changeFor, planFor, statesOf, type There, type World } from "./world.ts";

const orders: PipelineText = { id: "orders", table: "orders" };
const other: PipelineText = { id: "other" };
/** The same pipeline by another id. */
const sales: PipelineText = { ...orders, id: "sales", name: "Orders", sluice: ["moved_from: orders"] };
const there: There = { was: { ...orders, name: "Orders" } };
const others: There = { was: other };

/** In the file that had orders, or in one of its own. */
const files: [string, Record<string, string>][] = [
  ["the same file", { "orders.yaml": pipelineText(sales) }],
  ["another file", { "sales.yaml": pipelineText(sales) }],
];

/** What a plan does with each pipeline. */
const done = (world: World): string[] =>
  planFor(world).changes.map(({ kind, pipeline_id, calls }) => [kind, pipeline_id, ...calls].join(" "));

describe("a pipeline whose file gives it another id", () => {
  test.each(files)("and says which it had, in %s, is moved, and nothing else is done", (_title, texts) => {
    const world: World = { files: { ...texts, "other.yaml": pipelineText(other) }, there: [there, others] };
    expect(done(world)).toEqual(["no-op other", "update sales stop move resume"]);
    const change = changeFor(world, "sales");
    expect(change).toMatchObject({ moved_from: "orders", cause: "Changed", effect: "restart", events: "forget" });
    expect(change.fields).toEqual([
      { path: "pipeline_id", effect: "restart", events: "forget", from: "orders", to: "sales" },
    ]);
    expect(change.reason).toBe(
      "it is moved from orders, which x-sluice.moved_from names, with what is stored of it: events, offsets, token, dedup " +
        "keys, dead letters and history",
    );
    expect(change).not.toHaveProperty("irreversible");
    const [actual, wanted] = statesOf(world);
    const present = withMoves(actual, wanted).pipelines.get("sales");
    const costs = costsOf(
      change,
      present,
      wanted.pipelines.find(({ pipeline_id }) => pipeline_id === "sales"),
    );
    // What senders lose is as grave as what else is lost; a reader of a topic loses nothing.
    expect([levelOf(change), ...costs.map((cost) => costText(cost))]).toEqual([
      "forget",
      "senders have to use sales from then on: what they send to orders is refused",
      expect.stringContaining("drains"),
    ]);
    const reader = { ...orders, topic: "t", name: "Orders" };
    const read = { wanted: [{ ...reader, id: "sales", sluice: ["moved_from: orders"] }], there: [{ was: reader }] };
    expect(levelOf(changeFor(read, "sales"))).toBe("restart");
  });

  test("is refused without moved_from where it stands in the same file, and says how it is moved", () => {
    const world: World = { files: { "orders.yaml": pipelineText({ ...sales, sluice: [] }) }, there: [there] };
    expect(done(world)).toEqual(["refuse sales", "refuse orders"]);
    expect(changeFor(world, "sales").reason).toContain("set x-sluice.moved_from: orders");
  });

  test.each<[Status, string[], string[]]>([
    ["Stopped", ["state: Stopped"], ["move"]],
    ["Stopped", [], ["move", "resume"]],
    ["Failed", [], ["move", "resume"]],
    ["Terminated", ["state: Terminated"], ["move"]],
    ["Running", ["state: Stopped"], ["stop", "move"]],
  ])("and that is %s, by %j, is moved by %j", (status, sluice, calls) => {
    const wanted = { ...sales, sluice: ["moved_from: orders", ...sluice] };
    expect(changeFor({ wanted: [wanted], there: [{ ...there, status }] }, "sales").calls).toEqual(calls);
  });

  test("says what else changes, and is as grave as that", () => {
    const change = changeFor({ wanted: [{ ...sales, expression: "id > 1" }], there: [there] }, "sales");
    expect(change).toMatchObject({ calls: ["stop", "move", "resume"] });
    expect(change.reason).toMatch(/history; transforms\[filter of input\]\.config\.expression changed/);
  });

  test("says which consumer group it has from then on, unless a file names it", () => {
    const topic = { ...orders, topic: "t", name: "Orders" };
    const moved = (sluice: string[] = [], was: PipelineText = topic): string =>
      changeFor(
        { wanted: [{ ...was, id: "sales", sluice: ["moved_from: orders", ...sluice] }], there: [{ was }] },
        "sales",
      ).reason;
    const [before, after] = [consumerGroup("orders"), consumerGroup("sales")];
    expect(moved()).toContain(`; its consumer group is ${after} from now on, and was ${before}: it reads on`);
    expect(moved([`consumer_group: ${before}`])).not.toContain("consumer group");
    const named = { ...topic, sluice: ["consumer_group: shop"] };
    expect(moved(["consumer_group: shop"], named)).not.toContain("consumer group");
    expect(moved([], named)).toContain("x-sluice.consumer_group");
  });

  test("is the other one of several that it had before", () => {
    const wanted = [{ ...sales, sluice: ["moved_from: [invoices, orders]"] }];
    expect(changeFor({ wanted, there: [there] }, "sales")).toMatchObject({ moved_from: "orders" });
    const both: There[] = [there, { was: { id: "invoices" } }];
    expect(done({ wanted, there: both })).toEqual(["refuse sales", "refuse invoices", "refuse orders"]);
    expect(changeFor({ wanted, there: both }, "sales").reason).toContain(
      "invoices and orders are there, and one of them",
    );
  });

  test("is new where that other one is not there, which the plan says", () => {
    const change = changeFor({ wanted: [sales], there: [] }, "sales");
    expect(change).toMatchObject({ kind: "create", calls: ["create"] });
    expect(change.warnings).toEqual([
      "x-sluice.moved_from names orders, and no pipeline of that id is there: this one begins with nothing",
    ]);
  });

  test("has been moved once it is there: the line may stay, and says nothing any more", () => {
    const moved: There = { was: sales };
    expect(done({ wanted: [sales], there: [moved] })).toEqual(["no-op sales"]);
    expect(changeFor({ wanted: [sales], there: [moved] }, "sales").reason).toBe("it is Running and matches its file");
    // One of that id which somebody else made is none of its concern.
    const foreign: There = { ...there, owned: null };
    expect(done({ wanted: [sales], there: [moved, foreign] })).toEqual(["no-op sales", "no-op orders"]);
  });

  test("keeps both where the new id is taken", () => {
    const world: World = { wanted: [sales], there: [there, { was: sales }] };
    expect(done(world)).toEqual(["refuse sales", "refuse orders"]);
    expect(changeFor(world, "orders")).toMatchObject({ cause: "NotMoved" });
    expect(changeFor(world, "sales").reason).toContain("there is a pipeline sales already: both stay as they are");
  });

  test("is not moved while a file that cannot be used may describe the former one", () => {
    const broken = `pipeline_id: orders\n  broken: [`;
    const world: World = { files: { "sales.yaml": pipelineText(sales), "b.yaml": broken }, there: [there] };
    expect(done(world)).toEqual(["refuse sales", "no-op orders"]);
    expect(changeFor(world, "sales").reason).toContain("may be described in b.yaml, which cannot be used");
    // The file that had it cannot be read at all.
    const unread: World = { files: { "sales.yaml": pipelineText(sales), "orders.yaml": "{" }, there: [there] };
    expect(done(unread)).toEqual(["refuse sales", "no-op orders"]);
  });

  test.each<[string, Record<string, string>]>([
    ["has a mistake", { "sales.yaml": pipelineText({ ...sales, expression: "level ===" }) }],
    ["has a mistake, in the same file", { "orders.yaml": pipelineText({ ...sales, expression: "level ===" }) }],
    ["cannot be parsed", { "sales.yaml": `${pipelineText(sales)}broken: [` }],
    ["cannot be parsed, with a list", { "sales.yaml": `pipeline_id: sales\nmoved_from:\n  - orders\nbroken: [` }],
    [
      "has another id in the same file, and a mistake",
      { "orders.yaml": pipelineText({ id: "sales", expression: "level ===" }) },
    ],
  ])("is kept as it is where that file %s", (_title, texts) => {
    const world: World = { files: { ...texts, "other.yaml": pipelineText(other) }, there: [there, others] };
    expect(done(world)).toEqual(["no-op other", "refuse sales", "no-op orders"]);
    expect(changeFor(world)).toMatchObject({
      cause: "PruneHeld",
      reason: expect.stringContaining("cannot be used and may have it"),
    });
  });

  test("is not moved and recreated by one commit", () => {
    const root = ["resources: { nats: { stream: { max_age: 48h } } }"];
    const moved = (sluice: string[]): World => ({
      wanted: [{ ...sales, root, sluice: ["moved_from: orders", ...sluice] }],
      there: [there],
    });
    expect(changeFor(moved([]), "sales")).toMatchObject({ kind: "refuse", cause: "ImmutableField" });
    expect(changeFor(moved(["recreate: true"]), "sales")).toMatchObject({ kind: "refuse", cause: "NotMoved" });
    expect(done(moved(["recreate: true"]))).toEqual(["refuse sales"]);
  });

  test("and that was not created from this source is moved only where it is adopted", () => {
    const foreign: There = { ...there, owned: null };
    const change = changeFor({ wanted: [sales], there: [foreign] }, "sales");
    expect(change).toMatchObject({ kind: "refuse", cause: "NotAdopted" });
    expect(change.reason).toContain("orders, from which it is to be moved, was not created from this source");
    const adopted = { ...sales, sluice: ["moved_from: orders", "adopt: true"] };
    expect(done({ wanted: [adopted], there: [foreign] })).toEqual(["update sales stop move resume"]);
  });

  test("waits where others have to run first, or a change of it is under way", () => {
    const waiting = { ...sales, sluice: ["moved_from: orders", "depends_on: [other]"] };
    const stopped: There = { ...others, status: "Stopped" };
    const wanted = [waiting, { ...other, sluice: ["state: Stopped"] }];
    expect(done({ wanted, there: [there, stopped] })).toEqual(["no-op other", "no-op sales"]);
    const busy = { orders: { wish: "", isStopping: false } };
    expect(changeFor({ wanted: [sales], there: [there], busy }, "sales")).toMatchObject({ cause: "InProgress" });
  });
});

describe("a pipeline that was moved", () => {
  const moved: There = { was: { ...sales, sluice: [] }, owned: { moved_from: ["orders", "invoices"] } };
  const back = { ...orders, name: "Orders" };

  test.each([
    ["the same file", { "sales.yaml": pipelineText(back) }],
    ["another file", { "orders.yaml": pipelineText(back) }],
  ])("is moved back where a revert gives its former id back, in %s", (_title, texts) => {
    expect(done({ files: texts, there: [moved] })).toEqual(["update orders stop move resume"]);
    expect(changeFor({ files: texts, there: [moved] })).toMatchObject({
      moved_from: "sales",
      reason: expect.stringContaining("it is moved back from sales to an id that it had before, with what is stored"),
    });
  });

  test("is kept as it is where another file gives its former id back, and has a mistake", () => {
    const texts = {
      "orders.yaml": pipelineText({ ...back, expression: "level ===" }),
      "other.yaml": pipelineText(other),
    };
    expect(done({ files: texts, there: [moved, others] })).toEqual(["no-op other", "refuse orders", "no-op sales"]);
    // That of a pipeline which has the id by now is no file of this one.
    const taken = done({ files: texts, there: [moved, others, there] });
    expect(taken).toEqual(["no-op other", "no-op orders", "delete sales stop delete"]);
  });

  test("is moved back by two commits at once", () => {
    expect(done({ wanted: [{ ...back, id: "invoices", table: "orders" }], there: [moved] })).toEqual([
      "update invoices stop move resume",
    ]);
  });

  test("stays as it is where two files give ids back that it had", () => {
    const wanted = [back, { ...back, id: "invoices", table: "invoices" }];
    expect(done({ wanted, there: [moved] })).toEqual(["refuse invoices", "refuse orders", "refuse sales"]);
    const asked = [back, { ...wanted[1]!, sluice: ["moved_from: sales"] }];
    expect(done({ wanted: asked, there: [moved] })).toEqual([
      "update invoices stop move resume",
      "create orders create",
    ]);
  });

  test("and whose former id another pipeline has by now is deleted with its file, as any other", () => {
    expect(done({ wanted: [back], there: [moved, there] })).toEqual(["no-op orders", "delete sales stop delete"]);
  });

  test("is deleted where its file is removed and no former id is given back", () => {
    expect(done({ wanted: [other], there: [moved, others] })).toEqual(["no-op other", "delete sales stop delete"]);
  });
});

const since = "2026-01-01T00:00:00.000Z";
const until = "2999-01-01T00:00:00.000Z";

/** What is done about the move while an operator holds something. */
function held(holds: object, status: Status = "Running"): Change {
  const [actual, wanted] = statesOf({ wanted: [sales], there: [{ ...there, status }] });
  const [change] = planWithHolds(withMoves(actual, wanted), wanted, { version: 1, pipelines: {}, ...holds }).plan
    .changes;
  return change!;
}

describe("what an operator said of a pipeline", () => {
  test("by its former id holds its move up as well", () => {
    const change = held({ pipelines: { orders: { since } } });
    expect(change).toMatchObject({ pipeline_id: "sales", kind: "no-op", cause: "Suspended", calls: [] });
    expect(change.why).toMatchObject({ facts: { pipeline_id: "orders", waits: { code: "Moved" } } });
    expect(held({ pipelines: { sales: { since } } }).why).toMatchObject({ facts: { pipeline_id: "sales" } });
  });

  test("by its former id stops it, and it is moved as a stopped one", () => {
    const stops = { orders: { since, until } };
    expect(held({ stops })).toMatchObject({ moved_from: "orders", kind: "stop", calls: ["stop"] });
    expect(held({ stops }, "Stopped")).toMatchObject({ calls: ["move"] });
  });
});

test.each<[string, string, object[]]>([
  ["its former id alone", "orders", [{ refused: { line: '"${env:PASSWORD}": "sales towards embedded"' } }]],
  ["both ids", "orders, sales", []],
  ["neither, which is nothing new", "clicks", []],
])("a secret that is allowed by %s", (_title, ids, secrets) => {
  const connection = ["password: ${env:PASSWORD}"];
  const before = sideOf([{ ...orders, connection }], {});
  const after = sideOf([{ ...sales, connection }], {});
  const { changes } = previewOf(before, after, limit, permissionsOf({ "${env:PASSWORD}": ids }));
  expect(changes[0]).toMatchObject({ change: { moved_from: "orders" } });
  expect(changes[0]?.secrets).toMatchObject(secrets);
  expect(changes[0]?.secrets).toHaveLength(secrets.length);
});

test("an approval is of the move of this pipeline, whoever asks, and of no other", () => {
  const [actual, wanted] = statesOf({ wanted: [sales], there: [there] });
  const moved = withMoves(actual, wanted);
  expect(withMoves(moved, wanted)).toBe(moved);
  const { changes } = planFor({ wanted: [sales], there: [there] });
  const approval = approvalOf(changes[0]!, moved.pipelines.get("sales"), wanted.pipelines[0]);
  expect(approval).toMatch(/^forget-/);
  const elsewhere = withMoves(
    ...statesOf({ wanted: [sales], there: [{ was: { ...there.was, expression: "id > 1" } }] }),
  );
  expect(approvalOf(changes[0]!, elsewhere.pipelines.get("sales"), wanted.pipelines[0])).not.toBe(approval);
});
