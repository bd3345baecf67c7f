import { describe, expect, test } from "vitest";
import type { BatchState } from "../../../engine/core/journal.ts";
import type { Answer, Failure, Reading } from "../../../engine/core/sink.ts";
import {
  beginSending,
  decide,
  howToRecover,
  whenEventsAreGone,
  whenLeft,
  type Action,
  type BatchEvent,
  type Decision,
  type Effect,
  type Refusal,
  type Rules,
  type Sending,
} from "../../../engine/delivery/protocol.ts";

/** The target before the first insert. */
const target: Reading = {
  table: "one",
  time: 1_000_000,
  blocks: 500,
  uptime: 600,
  window: { entries: 100, seconds: Infinity },
  altered: 0,
  description: "",
  taken: 1_000_000,
};
const later = (changes: Partial<Reading> = {}): Reading => ({ ...target, time: 1_060_000, uptime: 660, ...changes });
const restarted = (changes: Partial<Reading> = {}): Reading => later({ uptime: 3, ...changes });
const now = 1_010_000;

/** A batch in each state, as it is while it is sent. */
const states = {
  "prepared, no reading": beginSending({ kind: "prepared" }),
  prepared: beginSending({ kind: "prepared", target }),
  sent: beginSending({ kind: "sent", target }),
  refused: beginSending({ kind: "refused", target }),
  "refused, no reading": beginSending({ kind: "refused" }),
  viewFailed: beginSending({ kind: "viewFailed", target }),
  "viewFailed, uncertain": { ...beginSending({ kind: "viewFailed", target }), isUncertain: true },
} satisfies Record<string, Sending>;

const failure = (kind: Failure["class"], code?: number): Failure => {
  return { class: kind, name: "NAME", text: "text", ...(code !== undefined && { code }) };
};
const refused = (kind: Failure["class"], code?: number): Refusal => ({ kind: "refused", failure: failure(kind, code) });
const unknown = (kind: Failure["class"]): Refusal => ({ kind: "unknown", failure: failure(kind) });
const answered = (answer: Answer): BatchEvent => ({ kind: "answered", answer, now });

const events = {
  ready: { kind: "ready", rows: 3, now },
  "ready, no rows": { kind: "ready", rows: 0, now },
  "ready, read long ago": { kind: "ready", rows: 3, now: now + 30_000 },
  "read: recognised": { kind: "read", reading: later() },
  "read: restarted, same blocks": { kind: "read", reading: restarted() },
  "read: restarted, more blocks": { kind: "read", reading: restarted({ blocks: 501 }) },
  "read: outside of the window": { kind: "read", reading: later({ blocks: 600 }) },
  ok: answered({ kind: "ok" }),
  "refused: transient": answered(refused("transient")),
  "refused: out of memory": answered(refused("transient", 241)),
  "refused: setup": answered(refused("setup")),
  "refused: row": answered(refused("row")),
  "unknown: transient": answered(unknown("transient")),
  "unknown: row": answered(unknown("row")),
  "unknown: view": answered(unknown("view")),
  "verified: more blocks": { kind: "verified", reading: later({ blocks: 501 }), now },
  "verified: same blocks": { kind: "verified", reading: later(), now },
  "verified: restarted": { kind: "verified", reading: restarted({ blocks: 501 }), now },
  "verified: replicated": { kind: "verified", reading: later({ isReplicated: true }), now },
  "rows found": { kind: "rowsFound", rows: [{ row: 1, failure: failure("row") }] },
  "no row found, refused": { kind: "noRowFound", answer: refused("row"), trouble: { class: "setup", text: "" } },
  "no row found, unknown": { kind: "noRowFound", answer: unknown("row"), trouble: { class: "setup", text: "" } },
} satisfies Record<string, BatchEvent>;

const byDefault: Rules = { on_uncertain: "insert", on_view_error: "pause", isEarlier: false };

function stepText(step: Effect | Action): string {
  switch (step.do) {
    case "report":
      if (step.what === "batchUncertain") return `report ${step.what} ${step.choice}`;
      return step.what === "insertFailed" && step.unknown ? "report insertFailed unknown" : `report ${step.what}`;
    case "pause":
      return `pause ${step.class} ${step.pauses}`;
    case "send":
      return step.ignoreViews ? "send ignoring views" : "send";
    case "retry":
      return `retry ${step.trouble.class} ${step.failures}`;
    case "remake":
      return `remake ${step.token}`;
    case "commit":
      return `commit ${step.by}`;
    default:
      return step.do;
  }
}

/** The state that follows, "?" where an answer is missing, "+" where a reading of the target is another one; and the steps. */
function textOf({ next, steps }: Decision): string {
  const { kind, target: read } = next.state;
  const marks = `${next.isUncertain ? "?" : ""}${read === undefined ? "-" : read === target ? "" : "+"}`;
  return `${kind}${marks}: ${steps.map(stepText).join(", ")}`;
}

/** What each event leads to in each state, by default: `on_uncertain: insert`, `on_view_error: pause`. */
const table: Record<keyof typeof states, Record<keyof typeof events, string>> = {
  "prepared, no reading": {
    ready: "prepared-: read",
    "ready, no rows": "written-: commit nothing",
    "ready, read long ago": "prepared-: read",
    "read: recognised": "prepared+: note, send",
    "read: restarted, same blocks": "prepared+: note, send",
    "read: restarted, more blocks": "prepared+: note, send",
    "read: outside of the window": "prepared+: note, send",
    ok: "written-: commit insert",
    "refused: transient": "refused-: report insertFailed, note, retry transient 1",
    "refused: out of memory": "refused-: report insertFailed, shrink, note, retry transient 1",
    "refused: setup": "refused-: report insertFailed, note, retry setup 1",
    "refused: row": "prepared-: report insertFailed, findBadRows",
    "unknown: transient": "prepared?-: report insertFailed unknown, note, retry transient 1",
    "unknown: row": "prepared?-: report insertFailed unknown, findBadRows",
    "unknown: view": "prepared-: report insertFailed unknown, note, retry view 1",
    "verified: more blocks": "written-: commit insert",
    "verified: same blocks": "written-: commit insert",
    "verified: restarted": "written-: commit insert",
    "verified: replicated": "written-: commit insert",
    "rows found": "prepared-: exclude",
    "no row found, refused": "refused-: takeBackExcluded, note, retry setup 1",
    "no row found, unknown": "prepared-: note, retry setup 1",
  },
  prepared: {
    ready: "prepared: send",
    "ready, no rows": "written: commit nothing",
    "ready, read long ago": "prepared: read",
    "read: recognised": "prepared+: note, send",
    "read: restarted, same blocks": "prepared+: note, send",
    "read: restarted, more blocks": "prepared+: note, send",
    "read: outside of the window": "prepared+: note, send",
    ok: "written: commit insert",
    "refused: transient": "refused: report insertFailed, note, retry transient 1",
    "refused: out of memory": "refused: report insertFailed, shrink, note, retry transient 1",
    "refused: setup": "refused: report insertFailed, note, retry setup 1",
    "refused: row": "prepared: report insertFailed, findBadRows",
    "unknown: transient": "sent?: report insertFailed unknown, note, retry transient 1",
    "unknown: row": "sent?: report insertFailed unknown, findBadRows",
    "unknown: view": "viewFailed: report insertFailed unknown, note, retry view 1",
    "verified: more blocks": "written: commit insert",
    "verified: same blocks": "written: commit insert",
    "verified: restarted": "written: commit insert",
    "verified: replicated": "written: commit insert",
    "rows found": "prepared: exclude",
    "no row found, refused": "refused: takeBackExcluded, note, retry setup 1",
    "no row found, unknown": "sent: note, retry setup 1",
  },
  sent: {
    ready: "sent?: read",
    "ready, no rows": "written?: commit nothing",
    "ready, read long ago": "sent?: read",
    "read: recognised": "sent?: report insertRepeated, send",
    "read: restarted, same blocks": "prepared+: report tokenWithoutRows, drawToken, send",
    "read: restarted, more blocks": "prepared+: report batchUncertain insert, drawToken, send",
    "read: outside of the window": "prepared+: report batchUncertain insert, drawToken, send",
    ok: "sent?: verify",
    "refused: transient": "sent?: report insertFailed, note, retry transient 1",
    "refused: out of memory": "sent?: report insertFailed, shrink, note, retry transient 1",
    "refused: setup": "sent?: report insertFailed, note, retry setup 1",
    "refused: row": "sent?: report insertFailed, findBadRows",
    "unknown: transient": "sent?: report insertFailed unknown, note, retry transient 1",
    "unknown: row": "sent?: report insertFailed unknown, findBadRows",
    "unknown: view": "viewFailed?: report insertFailed unknown, note, retry view 1",
    "verified: more blocks": "written?: commit insert",
    "verified: same blocks": "prepared+: report tokenWithoutRows, drawToken, send",
    "verified: restarted": "prepared+: report batchUncertain insert, drawToken, send",
    "verified: replicated": "written?: commit insert",
    "rows found": "sent?: exclude",
    "no row found, refused": "sent?: note, retry setup 1",
    "no row found, unknown": "sent?: note, retry setup 1",
  },
  refused: {
    ready: "refused: read",
    "ready, no rows": "written: commit nothing",
    "ready, read long ago": "refused: read",
    "read: recognised": "prepared+: note, send",
    "read: restarted, same blocks": "prepared+: note, send",
    "read: restarted, more blocks": "prepared+: note, send",
    "read: outside of the window": "prepared+: note, send",
    ok: "written: commit insert",
    "refused: transient": "refused: report insertFailed, note, retry transient 1",
    "refused: out of memory": "refused: report insertFailed, shrink, note, retry transient 1",
    "refused: setup": "refused: report insertFailed, note, retry setup 1",
    "refused: row": "refused: report insertFailed, findBadRows",
    "unknown: transient": "sent?: report insertFailed unknown, note, retry transient 1",
    "unknown: row": "sent?: report insertFailed unknown, findBadRows",
    "unknown: view": "viewFailed: report insertFailed unknown, note, retry view 1",
    "verified: more blocks": "written: commit insert",
    "verified: same blocks": "written: commit insert",
    "verified: restarted": "written: commit insert",
    "verified: replicated": "written: commit insert",
    "rows found": "prepared: exclude",
    "no row found, refused": "refused: takeBackExcluded, note, retry setup 1",
    "no row found, unknown": "sent: note, retry setup 1",
  },
  "refused, no reading": {
    ready: "refused-: read",
    "ready, no rows": "written-: commit nothing",
    "ready, read long ago": "refused-: read",
    "read: recognised": "prepared+: note, send",
    "read: restarted, same blocks": "prepared+: note, send",
    "read: restarted, more blocks": "prepared+: note, send",
    "read: outside of the window": "prepared+: note, send",
    ok: "written-: commit insert",
    "refused: transient": "refused-: report insertFailed, note, retry transient 1",
    "refused: out of memory": "refused-: report insertFailed, shrink, note, retry transient 1",
    "refused: setup": "refused-: report insertFailed, note, retry setup 1",
    "refused: row": "refused-: report insertFailed, findBadRows",
    "unknown: transient": "refused?-: report insertFailed unknown, note, retry transient 1",
    "unknown: row": "refused?-: report insertFailed unknown, findBadRows",
    "unknown: view": "refused-: report insertFailed unknown, note, retry view 1",
    "verified: more blocks": "written-: commit insert",
    "verified: same blocks": "written-: commit insert",
    "verified: restarted": "written-: commit insert",
    "verified: replicated": "written-: commit insert",
    "rows found": "prepared-: exclude",
    "no row found, refused": "refused-: takeBackExcluded, note, retry setup 1",
    "no row found, unknown": "refused-: note, retry setup 1",
  },
  viewFailed: {
    ready: "viewFailed: read",
    "ready, no rows": "written: commit nothing",
    "ready, read long ago": "viewFailed: read",
    "read: recognised": "viewFailed: report insertRepeated, send",
    "read: restarted, same blocks": "prepared+: report tokenWithoutRows, drawToken, send",
    "read: restarted, more blocks": "viewFailed: report batchUncertain insert, report insertRepeated, send",
    "read: outside of the window": "viewFailed: pause view 1, read",
    ok: "written: commit insert",
    "refused: transient": "viewFailed: report insertFailed, note, retry transient 1",
    "refused: out of memory": "viewFailed: report insertFailed, shrink, note, retry transient 1",
    "refused: setup": "viewFailed: report insertFailed, note, retry setup 1",
    "refused: row": "viewFailed: report insertFailed, note, retry row 1",
    "unknown: transient": "viewFailed?: report insertFailed unknown, note, retry transient 1",
    "unknown: row": "viewFailed?: report insertFailed unknown, note, retry row 1",
    "unknown: view": "viewFailed: report insertFailed unknown, note, retry view 1",
    "verified: more blocks": "written: commit insert",
    "verified: same blocks": "written: commit insert",
    "verified: restarted": "written: commit insert",
    "verified: replicated": "written: commit insert",
    "rows found": "viewFailed: exclude",
    "no row found, refused": "viewFailed: note, retry setup 1",
    "no row found, unknown": "viewFailed: note, retry setup 1",
  },
  "viewFailed, uncertain": {
    ready: "viewFailed?: read",
    "ready, no rows": "written?: commit nothing",
    "ready, read long ago": "viewFailed?: read",
    "read: recognised": "viewFailed?: report insertRepeated, send",
    "read: restarted, same blocks": "prepared+: report tokenWithoutRows, drawToken, send",
    "read: restarted, more blocks": "viewFailed?: report batchUncertain insert, report insertRepeated, send",
    "read: outside of the window": "viewFailed?: pause view 1, read",
    ok: "viewFailed?: verify",
    "refused: transient": "viewFailed?: report insertFailed, note, retry transient 1",
    "refused: out of memory": "viewFailed?: report insertFailed, shrink, note, retry transient 1",
    "refused: setup": "viewFailed?: report insertFailed, note, retry setup 1",
    "refused: row": "viewFailed?: report insertFailed, note, retry row 1",
    "unknown: transient": "viewFailed?: report insertFailed unknown, note, retry transient 1",
    "unknown: row": "viewFailed?: report insertFailed unknown, note, retry row 1",
    "unknown: view": "viewFailed?: report insertFailed unknown, note, retry view 1",
    "verified: more blocks": "written?: commit insert",
    "verified: same blocks": "prepared+: report tokenWithoutRows, drawToken, send",
    "verified: restarted": "viewFailed?: pause view 1, verify",
    "verified: replicated": "written?: commit insert",
    "rows found": "viewFailed?: exclude",
    "no row found, refused": "viewFailed?: note, retry setup 1",
    "no row found, unknown": "viewFailed?: note, retry setup 1",
  },
};

describe.each(Object.entries(table))("%s", (state, row) => {
  test.each(Object.entries(row))("%s", (event, expected) => {
    const decided = decide(states[state as keyof typeof states], events[event as keyof typeof events], byDefault);
    expect(textOf(decided)).toBe(expected);
  });
});

test.each(Object.entries(events))("a batch that is written is never sent again: %s", (_title, event) => {
  const batch = beginSending({ kind: "written", target, at: 5 });
  expect(decide(batch, event, byDefault)).toEqual({ next: batch, steps: [{ do: "commit", by: "before" }] });
});

describe("where the target cannot tell, the options decide", () => {
  const outside = events["read: outside of the window"];
  const afterStart = events["verified: restarted"];
  const started = events["read: restarted, more blocks"];

  test.each<[keyof typeof states, BatchEvent, Partial<Rules>, string]>([
    ["sent", outside, { on_uncertain: "skip" }, "written?: report batchUncertain skip, commit skip"],
    ["sent", outside, { on_uncertain: "pause" }, "sent?: report batchUncertain pause, pause uncertain 1, read"],
    ["sent", outside, { isEarlier: true }, "sent?: report batchUncertain insert, remake fresh"],
    ["sent", afterStart, { on_uncertain: "skip" }, "sent?: report batchUncertain skip, read"],
    ["sent", afterStart, { on_uncertain: "pause" }, "sent?: report batchUncertain pause, pause uncertain 1, verify"],
    ["sent", afterStart, { isEarlier: true }, "sent?: report batchUncertain insert, remake fresh"],
    ["viewFailed", started, { on_uncertain: "skip" }, "written: report batchUncertain skip, commit skip"],
    [
      "viewFailed",
      started,
      { on_uncertain: "pause" },
      "viewFailed: report batchUncertain pause, pause uncertain 1, read",
    ],
    ["viewFailed", started, { on_view_error: "skip" }, "written: report viewErrorIgnored, commit skip"],
    ["viewFailed", outside, { on_view_error: "skip" }, "written: report viewErrorIgnored, commit skip"],
    ["viewFailed", outside, { on_uncertain: "skip" }, "viewFailed: pause view 1, read"],
    ["viewFailed, uncertain", afterStart, { on_view_error: "skip" }, "viewFailed?: report viewErrorIgnored, read"],
  ])("%s", (state, event, rules, expected) => {
    expect(textOf(decide(states[state], event, { ...byDefault, ...rules }))).toBe(expected);
  });

  test("and it is reported once for each token, while pauses grow longer", () => {
    const rules: Rules = { ...byDefault, on_uncertain: "pause" };
    const paused = decide(states.sent, outside, rules).next;
    const again = decide(paused, outside, rules);
    expect(textOf(again)).toBe("sent?: pause uncertain 2, read");
    const fresh = decide(again.next, outside, byDefault);
    expect(textOf(fresh)).toBe("prepared+: drawToken, send");
    const lost = decide(fresh.next, events["unknown: transient"], rules).next;
    const { reading } = events["read: outside of the window"];
    const muchLater = { ...reading, blocks: reading.blocks! + 100 };
    expect(textOf(decide(lost, { kind: "read", reading: muchLater }, rules))).toBe(
      "sent?+: report batchUncertain pause, pause uncertain 1, read",
    );
  });
});

describe("a view that fails", () => {
  const rules: Rules = { ...byDefault, on_view_error: "skip" };

  test("is passed over inside the window, with the token of the batch, where the options say so", () => {
    const repeated = decide(states.viewFailed, events["read: recognised"], rules);
    expect(textOf(repeated)).toBe("viewFailed: report insertRepeated, send ignoring views");
    expect(textOf(decide(repeated.next, events.ok, rules))).toBe("written: report viewErrorIgnored, commit insert");
  });
});

describe("an OK to a repeat", () => {
  test("is proved by what the table held before that repeat, not before the first insert", () => {
    const { next } = decide(states.sent, { kind: "read", reading: later() }, byDefault);
    const asked = decide(next, events.ok, byDefault).next;
    const since = later({ time: later().time + 60_000, uptime: 720, blocks: 501 });
    expect(textOf(decide(asked, { kind: "verified", reading: since, now }, byDefault))).toBe("written?: commit insert");
    const anew = later({ time: later().time + 60_000, uptime: 5, blocks: 501 });
    expect(textOf(decide(asked, { kind: "verified", reading: anew, now }, byDefault))).toBe(
      "prepared+: report batchUncertain insert, drawToken, send",
    );
  });

  test("of another table is believed", () => {
    const other: BatchEvent = { kind: "verified", reading: later({ table: "two" }), now };
    expect(textOf(decide(states.sent, other, byDefault))).toBe("written?: commit insert");
  });
});

test.each<[keyof typeof states, boolean, BatchState | undefined]>([
  ["prepared", false, { kind: "refused", target }],
  ["prepared, no reading", false, { kind: "refused" }],
  ["prepared", true, undefined],
  ["sent", false, undefined],
  ["refused", false, undefined],
  ["viewFailed", false, undefined],
])("a pipeline leaves a batch that is %s, sent by it: %s", (state, wasSent, expected) => {
  expect(whenLeft(states[state], { wasSent })).toEqual(expected);
});

test("the time of an insert is that of the target's server", () => {
  const { next } = decide(states.prepared, events.ok, byDefault);
  expect(next.state).toEqual({ kind: "written", target, at: target.time + (now - target.taken) });
  const setBack: BatchEvent = { kind: "answered", answer: { kind: "ok" }, now: 0 };
  expect(decide(states.prepared, setBack, byDefault).next.state).toMatchObject({ at: target.time });
});

test("each failure makes the next wait longer", () => {
  const once = decide(states.prepared, events["refused: setup"], byDefault).next;
  const again = decide(decide(once, events["read: recognised"], byDefault).next, events["refused: setup"], byDefault);
  expect(textOf(again)).toBe("refused+: report insertFailed, note, retry setup 2");
});

describe("what an earlier revision cannot write", () => {
  const rules: Rules = { ...byDefault, isEarlier: true };

  test.each<[keyof typeof states, keyof typeof events, string]>([
    ["prepared", "refused: setup", "refused: report insertFailed, note, remake fresh"],
    ["prepared", "refused: transient", "refused: report insertFailed, note, retry transient 1"],
    ["prepared", "no row found, refused", "refused: takeBackExcluded, note, remake fresh"],
    ["sent", "refused: setup", "sent?: report insertFailed, note, remake own"],
    ["sent", "no row found, unknown", "sent?: note, remake own"],
    ["viewFailed", "refused: setup", "viewFailed: report insertFailed, note, remake own"],
    ["sent", "verified: same blocks", "sent?: report tokenWithoutRows, remake fresh"],
    ["sent", "read: restarted, same blocks", "sent?: report tokenWithoutRows, remake fresh"],
  ])("%s, %s", (state, event, expected) => {
    expect(textOf(decide(states[state], events[event], rules))).toBe(expected);
  });
});

describe("a batch that an earlier start left", () => {
  test.each([
    ["prepared", "processed anew"],
    ["refused", "processed anew"],
    ["sent", "by its own revision"],
    ["viewFailed", "by its own revision"],
    ["written", "by its own revision"],
  ] as const)("%s", (kind, expected) => {
    const state = { kind, target };
    expect(howToRecover({ revision: 1, state }, 2)).toBe(expected);
    expect(howToRecover({ revision: 2, state }, 2)).toBe("as recorded");
  });

  test("goes on without events that were compacted, and without others where the options say so", () => {
    expect(whenEventsAreGone(true, { on_lost: "pause" })).toBe("goes on, compacted");
    expect(whenEventsAreGone(true, { on_lost: "skip" })).toBe("goes on, compacted");
    expect(whenEventsAreGone(false, { on_lost: "skip" })).toBe("goes on, skipped");
    expect(whenEventsAreGone(false, { on_lost: "pause" })).toBe("waits");
  });
});

test.each<[string, Partial<Reading>]>([
  ["another server answers then, whose block numbers prove nothing", { server: "b" }],
  ["several are known to answer in turn", { server: "a", isOneOfSeveral: true }],
])("an OK to a repeat holds, and the batch may be there twice: %s", (_title, changes) => {
  const sent = beginSending({ kind: "sent", target: { ...target, server: "a" } });
  for (const on_uncertain of ["insert", "skip", "pause"] as const) {
    const verified = { kind: "verified", reading: later(changes), now } as const;
    const { next, steps } = decide(sent, verified, { ...byDefault, on_uncertain });
    expect([next.state.kind, ...steps.map(stepText)]).toEqual([
      "written",
      "report batchUncertain insert",
      "commit insert",
    ]);
  }
});
