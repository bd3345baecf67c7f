import { describe, expect, test } from "vitest";
import { pipelineText } from "../../support/pipeline-text.ts";
import { changeFor, editing, inSyncWith, planFor } from "./world.ts";
import type { Expected, World } from "./world.ts";

const orders = { id: "orders" };
const immutable = { id: "orders", root: ["resources:", "  nats: { stream: { max_age: 48h } }"] };

describe("a pipeline that a file describes", () => {
  test.each<[string, World, Expected]>([
    ["is created where it is not there", { wanted: [orders] }, { kind: "create", cause: "New", calls: ["create"] }],
    [
      "is created and stopped where it should be Stopped",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }] },
      { kind: "create", calls: ["create", "stop"] },
    ],
    [
      "is created and terminated where it should be Terminated",
      { wanted: [{ ...orders, sluice: ["state: Terminated"] }] },
      { kind: "create", calls: ["create", "terminate"] },
    ],
    [
      "is left alone where nothing differs",
      { wanted: [orders], there: [{ was: orders }] },
      { kind: "no-op", cause: "InSync", calls: [] },
    ],
    [
      "is drained, edited and resumed where its filter changed",
      { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }] },
      {
        kind: "update",
        cause: "Changed",
        effect: "restart",
        calls: ["stop", "update", "resume"],
        reason: "transforms[filter of input].config.expression changed",
      },
    ],
    [
      "is renamed while it runs",
      { wanted: [{ ...orders, name: "Sales" }], there: [{ was: orders }] },
      {
        kind: "rename",
        effect: "hot",
        calls: ["rename"],
        fields: [{ path: "name", effect: "hot", from: "Orders", to: "Sales" }],
      },
    ],
    [
      "is tagged while it runs",
      { wanted: [{ ...orders, tags: ["a"] }], there: [{ was: orders }] },
      { kind: "update", effect: "hot", calls: ["tag"] },
    ],
    [
      "is given its options while it runs",
      { wanted: [{ ...orders, sluice: ["create_table: true"] }], there: [{ was: orders }] },
      { kind: "update", effect: "hot", calls: ["configure"] },
    ],
    ...["on_uncertain: skip", "on_lost: skip", "on_view_error: skip"].map((line): [string, World, Expected] => [
      `is told ${line} while it runs`,
      { wanted: [{ ...orders, sluice: [line] }], there: [{ was: orders }] },
      {
        kind: "update",
        effect: "hot",
        calls: ["configure"],
        fields: [expect.objectContaining({ path: `x-sluice.${line.split(":")[0]}`, effect: "hot", to: "skip" })],
      },
    ]),
    [
      "is told its options at rest as well",
      {
        wanted: [{ ...orders, sluice: ["on_uncertain: pause", "state: Stopped"] }],
        there: [{ was: orders, status: "Stopped" }],
      },
      { kind: "update", effect: "hot", calls: ["configure"] },
    ],
    [
      "is renamed, tagged and configured in one go",
      { wanted: [{ ...orders, name: "Sales", tags: ["a"], sluice: ["create_table: true"] }], there: [{ was: orders }] },
      { kind: "update", effect: "hot", calls: ["rename", "tag", "configure"] },
    ],
    [
      "carries a rename along in an edit",
      { wanted: [{ ...orders, name: "Sales", expression: "id > 1" }], there: [{ was: orders }] },
      { kind: "update", effect: "restart", calls: ["stop", "update", "resume"] },
    ],
    [
      "is stopped where the file says so, with the edit in between",
      { wanted: [{ ...orders, expression: "id > 1", sluice: ["state: Stopped"] }], there: [{ was: orders }] },
      { kind: "update", calls: ["stop", "update"] },
    ],
    [
      "is stopped where the file says so",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }], there: [{ was: orders }] },
      { kind: "stop", cause: "StateWished", calls: ["stop"], fields: [] },
    ],
    [
      "is stopped, and told how long its stream keeps what comes meanwhile",
      {
        wanted: [
          { ...orders, root: ["resources: { nats: { stream: { max_age: 36h } } }"], sluice: ["state: Stopped"] },
        ],
        there: [{ was: { ...orders, root: ["resources: { nats: { stream: { max_age: 36h } } }"] }, held: 7 }],
      },
      {
        kind: "stop",
        reason:
          "it is Running, x-sluice.state is Stopped; 7 accepted events are written first; events that arrive while it is " +
          "stopped are kept for at most 36h0m0s (resources.nats.stream.max_age), then removed unwritten, and counted",
      },
    ],
    [
      "is terminated where the file says so",
      { wanted: [{ ...orders, sluice: ["state: Terminated"] }], there: [{ was: orders, status: "Stopped" }] },
      { kind: "terminate", calls: ["terminate"] },
    ],
    [
      "is resumed where it was stopped by hand",
      { wanted: [orders], there: [{ was: orders, status: "Stopped" }] },
      { kind: "resume", cause: "StateWished", calls: ["resume"], reason: "it is Stopped, x-sluice.state is Running" },
    ],
    [
      "is resumed where it failed",
      { wanted: [orders], there: [{ was: orders, status: "Failed", failure: "no table" }] },
      { kind: "resume", calls: ["resume"], reason: expect.stringContaining("no table") },
    ],
    [
      "is edited where it rests, and resumed",
      { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders, status: "Stopped" }] },
      { kind: "update", calls: ["update", "resume"] },
    ],
    [
      "is resumed and stopped again where it should buffer and was terminated",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }], there: [{ was: orders, status: "Terminated" }] },
      { kind: "stop", calls: ["resume", "stop"] },
    ],
    [
      "stays Failed where it should be Stopped",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }], there: [{ was: orders, status: "Failed" }] },
      { kind: "no-op", calls: [] },
    ],
    [
      "is suspended: differences are left",
      { wanted: [{ ...orders, expression: "id > 1", sluice: ["suspend: true"] }], there: [{ was: orders }] },
      { kind: "no-op", cause: "Suspended", calls: [] },
    ],
    [
      "is suspended before it is created",
      { wanted: [{ ...orders, sluice: ["suspend: true"] }] },
      { kind: "no-op", cause: "Suspended" },
    ],
    [
      "waits while an earlier change is at work",
      { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }], busy: { orders: editing } },
      { kind: "no-op", cause: "InProgress", calls: [] },
    ],
    [
      "keeps what it left out of the immutable fields",
      { wanted: [{ ...orders, max_batch_size: 10 }], there: [{ was: immutable }] },
      {
        kind: "update",
        effect: "restart",
        fields: [{ path: "sink.max_batch_size", effect: "restart", from: 1000, to: 10 }],
      },
    ],
    [
      "that somebody else made is owned where it equals the file",
      { wanted: [orders], there: [{ was: orders, owned: null }] },
      { kind: "no-op", cause: "InSync" },
    ],
    [
      "that somebody else made is refused where it differs",
      { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders, owned: null }] },
      {
        kind: "refuse",
        cause: "NotAdopted",
        calls: [],
        line: 11,
        column: 19,
        reason: expect.stringContaining("choose another pipeline_id"),
      },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });

  test.each(["Created", "Resuming", "Stopping", "Terminating"] as const)(
    "waits for a pipeline that is %s",
    (status) => {
      const world = { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders, status }] };
      expect(changeFor(world)).toMatchObject({ kind: "no-op", cause: "InTransition", calls: [], effect: "restart" });
    },
  );

  test("is refused where an immutable field changed: field, values, place and ways out", () => {
    const wanted = {
      ...orders,
      expression: "id > 1",
      root: ["resources:", "  nats:", "    stream:", "      max_age: 72h"],
    };
    const change = changeFor({ wanted: [wanted], there: [{ was: immutable }] });
    expect(change).toMatchObject({ kind: "refuse", cause: "ImmutableField", effect: "refuse", calls: [] });
    expect(change).toMatchObject({ file: "orders.yaml", line: 26 });
    expect(change.fields.map(({ path }) => path)).toEqual([
      "transforms[filter of input].config.expression",
      "resources.nats.stream.max_age",
    ]);
    expect(change.reason).toMatch(
      /^resources\.nats\.stream\.max_age cannot change .*"48h.*" to "72h.*Ways out: restore the old value/,
    );
  });
});

describe("a file that cannot be used", () => {
  const broken = "version: v3\npipeline_id: orders\nsink: {}\n";
  test.each<[string, World, Expected]>([
    [
      "leaves its pipeline as it runs",
      { files: { "orders.yaml": broken }, there: [{ was: orders }] },
      {
        kind: "no-op",
        cause: "InvalidFile",
        file: "orders.yaml",
        calls: [],
        reason: expect.stringContaining("it stays Running"),
      },
    ],
    [
      "leaves its pipeline as it runs where not even the id can be read",
      { files: { "orders.yaml": "\t{" }, there: [{ was: orders }] },
      { kind: "no-op", cause: "InvalidFile" },
    ],
    [
      "is refused where there is no such pipeline yet",
      { files: { "orders.yaml": broken } },
      { kind: "refuse", cause: "InvalidFile" },
    ],
    [
      "that became a link leaves its pipeline as it runs",
      { skipped: [{ path: "orders.yaml", reason: "a symbolic link" }], there: [{ was: orders }] },
      { kind: "no-op", cause: "InvalidFile", reason: expect.stringContaining("orders.yaml is a symbolic link") },
    ],
    [
      "because its folder became a submodule leaves its pipeline as it runs",
      { skipped: [{ path: "prod", reason: "a submodule" }], there: [{ was: orders, owned: { file: "prod/a.yaml" } }] },
      { kind: "no-op", cause: "InvalidFile" },
    ],
    [
      "and is new keeps a pipeline that vanished: it may have moved there",
      { wanted: [{ id: "other" }], files: { "new.yaml": "{ not yaml" }, there: [{ was: orders }] },
      { kind: "no-op", cause: "PruneHeld", reason: expect.stringContaining("new.yaml") },
    ],
    [
      "and is known to hold another pipeline does not keep one that vanished",
      {
        wanted: [{ id: "third" }],
        files: { "other.yaml": "{ not yaml" },
        there: [{ was: orders }, { was: { id: "other" } }],
      },
      { kind: "delete" },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });

  test("touches no other pipeline", () => {
    const world = { files: { "orders.yaml": broken }, wanted: [{ id: "other" }], there: [{ was: orders }] };
    expect(changeFor(world, "other")).toMatchObject({ kind: "create" });
  });
});

describe("two files with one pipeline_id", () => {
  test("are both refused, and the running one goes on", () => {
    const files = { "a.yaml": pipelineText(orders), "b.yaml": pipelineText({ ...orders, expression: "id > 1" }) };
    const change = changeFor({ files, there: [{ was: orders }] });
    expect(change).toMatchObject({ kind: "refuse", cause: "DuplicateId", calls: [] });
    expect(change.reason).toContain("it stays Running");
  });
});

describe("depends_on", () => {
  const on = (...ids: string[]) => ({ ...orders, sluice: [`depends_on: [${ids.join(", ")}]`] });
  const kafka = { id: "zebra" };

  test("puts dependencies first, and names them", () => {
    const { changes } = planFor({ wanted: [on("zebra"), kafka, { id: "alpha" }] });
    expect(changes.map(({ pipeline_id }) => pipeline_id)).toEqual(["alpha", "zebra", "orders"]);
    expect(changes[2]).toMatchObject({ kind: "create", after: ["zebra"] });
  });

  test.each<[string, World, Expected]>([
    [
      "is nothing where the dependency runs and does not change",
      { wanted: [on("zebra"), kafka], there: [{ was: kafka }] },
      { kind: "create", after: [] },
    ],
    [
      "blocks where no file describes the dependency",
      { wanted: [on("zebra")] },
      { kind: "no-op", cause: "DependencyNotReady", reason: expect.stringContaining("blocked by zebra") },
    ],
    [
      "is met by a running pipeline without a file",
      { wanted: [on("zebra")], there: [{ was: kafka, owned: null }] },
      { kind: "create" },
    ],
    [
      "blocks where the dependency should be Stopped",
      { wanted: [on("zebra"), { ...kafka, sluice: ["state: Stopped"] }] },
      { cause: "DependencyNotReady" },
    ],
    [
      "blocks where the dependency is refused and does not run",
      { wanted: [on("zebra")], files: { "zebra.yaml": "version: v3\npipeline_id: zebra\n" } },
      { cause: "DependencyNotReady" },
    ],
    [
      "does not hold up what is only stopped",
      { wanted: [{ ...orders, sluice: ["state: Stopped", "depends_on: [zebra]"] }], there: [{ was: orders }] },
      { kind: "stop" },
    ],
    [
      "changes nothing where there is nothing to do",
      { wanted: [on("zebra")], there: [{ was: orders }] },
      { kind: "no-op", cause: "InSync" },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });

  test("blocks along a chain", () => {
    const middle = { id: "middle", sluice: ["depends_on: [gone-away]"] };
    expect(changeFor({ wanted: [on("middle"), middle] }).reason).toContain(
      "blocked by middle, which is not there (DependencyNotReady)",
    );
  });

  test.each<[string, World, string]>([
    ["is not there", {}, "no valid file describes"],
    [
      "has a file that cannot be used",
      { files: { "zebra.yaml": "pipeline_id: zebra\nversion: v9" } },
      "is not there, and its file cannot be used",
    ],
    [
      "is suspended",
      { wanted: [on("zebra"), { id: "zebra", sluice: ["suspend: true"] }], there: [{ was: kafka, status: "Stopped" }] },
      "is Stopped, and is suspended",
    ],
    [
      "was stopped by hand, and is to stay so",
      {
        wanted: [on("zebra"), { id: "zebra", sluice: ["drift: report"] }],
        there: [{ was: kafka, status: "Stopped", owned: inSyncWith(kafka) }],
      },
      "is Stopped, unlike in its file (Drifted)",
    ],
    [
      "was stopped by hand, which is ignored",
      {
        wanted: [on("zebra"), { id: "zebra", sluice: ["drift: ignore"] }],
        there: [{ was: kafka, status: "Stopped", owned: inSyncWith(kafka) }],
      },
      "is Stopped, and its x-sluice.drift is ignore",
    ],
    [
      "has a change that was refused",
      {
        wanted: [on("zebra"), { id: "zebra", root: immutable.root }],
        there: [{ was: kafka, status: "Stopped" }],
      },
      "is Stopped, and its change was refused (ImmutableField)",
    ],
    [
      "is to be Stopped, and is",
      {
        wanted: [on("zebra"), { id: "zebra", sluice: ["state: Stopped"] }],
        there: [{ was: kafka, status: "Stopped" }],
      },
      "is Stopped, as its x-sluice.state is Stopped",
    ],
  ])("says so where the dependency %s", (_title, world, why) => {
    expect(changeFor({ wanted: [on("zebra")], ...world })).toMatchObject({
      cause: "DependencyNotReady",
      calls: [],
      reason: `blocked by zebra, which ${why}: this is carried out when zebra runs`,
    });
  });

  test("in a circle is refused for each of them", () => {
    const back = { id: "zebra", sluice: ["depends_on: [orders]"] };
    const world = { wanted: [on("zebra"), back, { id: "alpha" }] };
    for (const id of ["orders", "zebra"]) {
      expect(changeFor(world, id)).toMatchObject({ kind: "refuse", calls: [] });
      expect(changeFor(world, id).reason).toContain("which depends on this one");
    }
    expect(changeFor(world, "alpha")).toMatchObject({ kind: "create" });
  });
});

describe("secrets", () => {
  const canary = "c4n4ry";
  const given = (password: string) => ({ ...orders, connection: [`password: "${password}"`] });
  test.each([
    [
      "a password that changes",
      given(canary),
      given(`${canary}-2`),
      { secret: true, from: "<secret>", to: "<secret>" },
    ],
    [
      "a password that is replaced by a reference",
      given(canary),
      given("${env:P}"),
      { from: "<secret>", to: "${env:P}" },
    ],
    ["a reference that changes", given("${env:P}"), given("${env:Q}"), { from: "${env:P}", to: "${env:Q}" }],
    [
      "a password behind a reference",
      given("${env:P}"),
      given(`\${env:P}${canary}`),
      { from: "${env:P}", to: "<secret>" },
    ],
    ["a password that is new", orders, given(canary), { to: "<secret>" }],
    [
      "a token that changes",
      { ...orders, sluice: [`access_token: ${canary}-1`] },
      { ...orders, sluice: [`access_token: ${canary}-2`] },
      { secret: true },
    ],
  ])("are not shown: %s", (_title, was, wanted, field) => {
    const change = changeFor({ wanted: [wanted], there: [{ was }] });
    expect(change.fields).toEqual([expect.objectContaining(field)]);
    expect(JSON.stringify(change)).not.toContain(canary);
  });
});
