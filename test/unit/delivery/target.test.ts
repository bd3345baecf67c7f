import { expect, test } from "vitest";
import type { LastWritten } from "../../../engine/core/journal.ts";
import type { Answer, Reading, Sink } from "../../../engine/core/sink.ts";
import { Pauses } from "../../../engine/delivery/pauses.ts";
import { Target } from "../../../engine/delivery/target.ts";
import { EventList } from "../../../engine/event/event.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";

/** A target, and what it told of tables that cannot drop a repeat. */
function opened(written?: LastWritten, given?: Telemetry): { target: Target; told: unknown[] } {
  const told: unknown[] = [];
  const noting = { atLeastOnce: (facts: unknown) => told.push(facts), profileRemark: () => undefined };
  const telemetry = given ?? (noting as unknown as Telemetry);
  const [leave, drain] = [new AbortController(), new AbortController()];
  const pause = new RetryPause("p", telemetry, () => Promise.resolve());
  const pauses = new Pauses(pause, { leave: leave.signal, drain: drain.signal });
  return { target: new Target({ pipeline_id: "p", telemetry, pauses, written }), told };
}

function sink(atLeastOnce: string | undefined, answers: Answer[] = []): Sink {
  return { atLeastOnce, open: () => Promise.resolve(answers.shift() ?? { kind: "ok" }) } as unknown as Sink;
}

test("why a table cannot drop a repeat is told when it is opened, once, and again when that changes", async () => {
  const { target, told } = opened();
  const reason = "it has no window";
  const failure = { class: "transient", name: "network_io", text: "no answer" } as const;
  for (const one of [sink(reason, [{ kind: "refused", failure }]), sink(reason), sink(undefined), sink(undefined)]) {
    await target.reopen(one, 1);
  }
  expect(told).toEqual([{ pipeline_id: "p", reason }, { pipeline_id: "p" }]);
});

test("settings that may change rows are told when the table is opened, once, and again when they are others", async () => {
  const told: unknown[] = [];
  const telemetry = { atLeastOnce: () => undefined, profileRemark: (facts: unknown) => told.push(facts) };
  const { target } = opened(undefined, telemetry as unknown as Telemetry);
  const remark = "it has a setting";
  for (const profileRemark of [undefined, remark, remark, undefined]) {
    await target.reopen({ ...sink(undefined), profileRemark }, 1);
  }
  expect(told).toEqual([{ pipeline_id: "p" }, { pipeline_id: "p", remark }, { pipeline_id: "p" }]);
});

const writesAll = (): Promise<Answer> => Promise.resolve({ kind: "ok" });

test("it is told with the next insert, where a reading told it from which a batch was made", async () => {
  const { target, told } = opened();
  const block = { events: new EventList(), body: Buffer.alloc(0), rejected: [] };
  for (const reason of [undefined, "several servers answer", "several servers answer"]) {
    await target.insert({ ...sink(reason), insert: writesAll }, block, "token", false);
  }
  expect(told).toEqual([{ pipeline_id: "p" }, { pipeline_id: "p", reason: "several servers answer" }]);
});

const written: LastWritten = { revision: 2, table: "one", description: "as it was", time: 5_000 };
const reading = { table: "one", description: "as it was", altered: 0 } as Reading;

test.each<[title: string, revision: number, changes: Partial<Reading>, hasWritten: boolean]>([
  ["this revision has written, as the table is now", 2, {}, true],
  ["another revision has written", 1, {}, false],
  ["it was another table", 2, { table: "two" }, false],
  ["the table was altered since", 2, { description: "altered", altered: 6_000 }, false],
  ["the table was altered at the time of the write", 2, { description: "altered", altered: 5_000 }, false],
  ["the table was altered before", 2, { description: "altered", altered: 4_000 }, true],
  ["the table is described otherwise, and nobody knows since when", 2, { description: "altered", altered: 0 }, false],
])("the last write shows that rows fit, or does not, where %s", (_title, revision, changes, hasWritten) => {
  const { target } = opened(written);
  expect(target.hasWritten(revision, { ...reading, ...changes })).toBe(hasWritten);
});

test("without a write nothing shows that rows fit", () => {
  expect(opened().target.hasWritten(2, reading)).toBe(false);
});
