import { describe, expect, test } from "vitest";
import type { InventoryEntry } from "../../../reconciler/actual/inventory.ts";
import { actualOf, changeFor, inSyncWith, noon, planFor, read } from "./world.ts";
import type { Expected, There } from "./world.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { shownChange } from "../../../reconciler/plan/render/index.ts";

const orders = { id: "orders" };
const renamed = { id: "orders", name: "By hand" };
const told = (mode: string) => ({ id: "orders", sluice: [`drift: ${mode}`] });

/** What the engine has, where the file was found in sync before. */
const was = (text: typeof renamed | typeof orders, facts: Partial<There> = {}): There => ({
  was: text,
  owned: inSyncWith(orders),
  ...facts,
});

/** With a secret in plain text. */
const given = (password: string) => ({ ...orders, connection: [`password: ${password}`] });

const ago = (...minutes: number[]): InventoryEntry["corrections"] =>
  minutes.map((one) => ({ at: new Date(noon - one * 60_000).toISOString(), fields: ["name"] }));

/** What is done where somebody deleted it. */
const deleted = (mode: string) => {
  const wanted = { pipelines: [read(told(mode))], refused: [], skipped: [] };
  const entry = { file: "was.yaml", prune: true, suspend: false, ...inSyncWith(orders) };
  return plan({ ...actualOf([]), owned: { orders: entry } }, wanted).changes.map(shownChange)[0];
};

/** What is done about a name that was put back before. */
const after = (corrections: InventoryEntry["corrections"], facts: Partial<InventoryEntry> = {}) =>
  changeFor({
    wanted: [orders],
    there: [was(renamed, { owned: { ...inSyncWith(orders), ...(corrections && { corrections }), ...facts } })],
  });

describe("what somebody changed in the engine", () => {
  test.each<[string, There, Expected]>([
    [
      "a field that can change while it runs is put back, and shown",
      was(renamed),
      {
        kind: "rename",
        cause: "Drifted",
        effect: "hot",
        calls: ["rename"],
        reason: "it drifted from its file: name changed",
        fields: [{ path: "name", effect: "hot", from: "By hand", to: "Orders" }],
        drift: { fields: ["name"], stance: "correct", times: 0 },
      },
    ],
    [
      "a filter is put back through rest",
      was({ ...orders, expression: "id > 9" } as typeof orders, { held: 3 }),
      {
        kind: "update",
        cause: "Drifted",
        effect: "restart",
        calls: ["stop", "update", "resume"],
        reason: expect.stringContaining("3 accepted events are written first"),
      },
    ],
    [
      "a stop is undone, and shown as a field",
      was(orders, { status: "Stopped" }),
      {
        kind: "resume",
        cause: "Drifted",
        calls: ["resume"],
        reason: "it drifted from its file: it is Stopped, x-sluice.state is Running",
        fields: [{ path: "x-sluice.state", effect: "none", from: "Stopped", to: "Running" }],
      },
    ],
    ["a terminate is undone", was(orders, { status: "Terminated" }), { kind: "resume", cause: "Drifted" }],
    [
      "a failure is nobody's doing",
      was(orders, { status: "Failed", failure: "no disk" }),
      { kind: "resume", cause: "StateWished" },
    ],
    ["a transition is waited for", was(renamed, { status: "Stopping" }), { kind: "no-op", cause: "InTransition" }],
    [
      "what a change of ours left half done is a part of that change",
      was(orders, { status: "Stopped", owned: { ...inSyncWith(orders), changing: true } }),
      { kind: "resume", cause: "StateWished" },
    ],
    [
      "what differs from a file of which nothing is known is a change",
      { was: renamed },
      { kind: "rename", cause: "Changed", reason: "name changed" },
    ],
    [
      "a deletion that was begun is no stop by hand",
      was(orders, { status: "Stopped", intake: "closed" }),
      { kind: "resume", cause: "StateWished" },
    ],
    ["nothing is in sync", was(orders), { kind: "no-op", cause: "InSync" }],
  ])("%s", (_title, there, expected) => {
    const change = changeFor({ wanted: [orders], there: [there] });
    expect(change).toMatchObject(expected);
    if (expected.cause !== "Drifted") expect(change).not.toHaveProperty("drift");
  });

  test("is a change where the file changed, and the drift is said", () => {
    const file = { ...orders, expression: "id > 1" };
    const change = changeFor({ wanted: [file], there: [was(renamed)] });
    expect(change).toMatchObject({ cause: "Changed", calls: ["stop", "update", "resume"] });
    expect(change.reason).toContain("it was also changed in the engine meanwhile");
    expect(changeFor({ wanted: [file], there: [was(orders)] }).reason).not.toContain("meanwhile");
  });

  test("may be a secret in plain text of the file, which nobody remembers: that is a change", () => {
    const there = { was: given("old-one"), owned: inSyncWith(given("old-one")) };
    expect(changeFor({ wanted: [given("new-one")], there: [there] })).toMatchObject({ cause: "Changed" });
    expect(JSON.stringify(inSyncWith(given("old-one")))).toBe(JSON.stringify(inSyncWith(given("new-one"))));
  });
});

describe("x-sluice.drift", () => {
  test("report says what differs, and leaves it", () => {
    expect(changeFor({ wanted: [told("report")], there: [was(renamed)] })).toMatchObject({
      kind: "no-op",
      cause: "Drifted",
      calls: [],
      fields: [{ path: "name", from: "By hand", to: "Orders" }],
      drift: { fields: ["name"], stance: "report" },
      reason: "it drifted from its file: name changed, which x-sluice.drift: report leaves as it is",
    });
    expect(changeFor({ wanted: [told("report")], there: [was(orders, { status: "Stopped" })] })).toMatchObject({
      kind: "no-op",
      fields: [{ path: "x-sluice.state", from: "Stopped", to: "Running" }],
    });
  });

  test("ignore says nothing, and leaves it", () => {
    const change = changeFor({ wanted: [told("ignore")], there: [was(renamed)] });
    expect(change).toMatchObject({ kind: "no-op", cause: "DriftIgnored", calls: [], fields: [] });
    expect(change).not.toHaveProperty("drift");
  });

  test.each(["report", "ignore"])("%s resumes what failed all the same", (mode) => {
    const there = was(renamed, { status: "Failed" });
    expect(changeFor({ wanted: [told(mode)], there: [there] })).toMatchObject({ kind: "resume", fields: [] });
  });

  test.each(["report", "ignore"])("%s carries out what the file asks for", (mode) => {
    const file = { ...told(mode), expression: "id > 1" };
    expect(changeFor({ wanted: [file], there: [was(renamed)] })).toMatchObject({ cause: "Changed", kind: "update" });
  });
});

describe("a pipeline that somebody deleted", () => {
  test("is made again, and what went with it is said", () => {
    expect(deleted("correct")).toMatchObject({
      kind: "create",
      cause: "Drifted",
      calls: ["create"],
      reason:
        "it drifted from its file: it was deleted in the engine, and with it accepted events that were not written, its dead letters and " +
        "its access token; it is created again",
      drift: { fields: ["x-sluice.state"], stance: "correct" },
    });
  });

  test("stays away where its file says so", () => {
    expect(deleted("report")).toMatchObject({ kind: "no-op", cause: "Drifted", drift: { stance: "report" } });
    expect(deleted("ignore")).toMatchObject({ kind: "no-op", cause: "DriftIgnored" });
  });
});

describe("a drift that comes back", () => {
  test.each<[string, InventoryEntry["corrections"], Expected]>([
    ["is put back where the last time is long ago", ago(61, 60), { cause: "Drifted", calls: ["rename"] }],
    ["is put back after a pause", ago(1), { cause: "Drifted", calls: ["rename"] }],
    [
      "waits until the pause is over",
      ago(0.25),
      {
        kind: "no-op",
        cause: "Drifted",
        calls: [],
        fields: [expect.objectContaining({ path: "name" })],
        drift: { fields: ["name"], stance: "wait", times: 1, next: noon + 15_000 },
        reason: expect.stringContaining("and is corrected again at 2026-01-01T12:00:15.000Z"),
      },
    ],
    ["waits longer each time", ago(30, 20, 10, 3), { drift: expect.objectContaining({ next: noon + 60_000 }) }],
    [
      "is left to a person after the fifth time",
      ago(30, 20, 15, 10, 5),
      {
        kind: "refuse",
        cause: "DriftFight",
        calls: [],
        fields: [expect.objectContaining({ path: "name" })],
        drift: { fields: ["name"], stance: "fight", times: 5 },
        reason: expect.stringMatching(/name changed; it was corrected 5 times within an hour: .* Ways out: /),
      },
    ],
  ])("%s", (_title, corrections, expected) => {
    expect(after(corrections)).toMatchObject(expected);
  });

  test("stays left to a person, however long ago that was", () => {
    const fight = { since: "2025-12-31T00:00:00.000Z", fields: ["name"], times: 5 };
    expect(after(undefined, { fight })).toMatchObject({ kind: "refuse", cause: "DriftFight" });
  });

  test("is another one where other fields drifted", () => {
    const others = ago(50, 40, 30, 29, 28)?.map((one) => ({ ...one, fields: ["metadata.tags"] }));
    expect(after(others)).toMatchObject({ cause: "Drifted", calls: ["rename"] });
  });

  test("is a change where the file changed", () => {
    const owned = { ...inSyncWith(orders), corrections: ago(5, 4, 3, 2, 1) ?? [] };
    const world = { wanted: [{ ...orders, name: "Another" }], there: [was(renamed, { owned })] };
    expect(planFor(world).changes[0]).toMatchObject({ cause: "Changed", calls: ["rename"] });
  });
});
