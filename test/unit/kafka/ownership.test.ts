import { describe, expect, test } from "vitest";
import type { GroupState } from "../../../engine/sources/kafka/positions/group-state.ts";
import { claimOf, claimText, clientId, memberOf } from "../../../engine/sources/kafka/group/identity.ts";
import { judge, type Known } from "../../../engine/sources/kafka/group/ownership.ts";

const own = { dataDir: "a".repeat(16), run: "11111111" };
const before = { dataDir: own.dataDir, run: "00000000" };
const unknown = { dataDir: own.dataDir, run: "99999999" };
const other = { dataDir: "b".repeat(16), run: "22222222" };

const feedOf = (partition: number): string => `c/t/${partition}`;

type Committed = [offset: number, metadata: string | null] | undefined;

/** Two partitions, of which the first stands at offset 50 here; `committed` is what the group says of it. */
function judged(
  committed: Committed,
  {
    members = [],
    isBeforeJoin = true,
    isByConsumer = false,
    over = {},
  }: { members?: string[] | "unreadable"; isBeforeJoin?: boolean; isByConsumer?: boolean; over?: Partial<Known> } = {},
) {
  const [offset, metadata] = committed ?? [];
  const standing: GroupState = {
    cluster: "c",
    partitions: [
      {
        feed: feedOf(0),
        ends: { low: 0, high: 100 },
        ...(offset === undefined ? {} : { committed: { offset, metadata: metadata ?? "", isByConsumer } }),
      },
      { feed: feedOf(1), ends: { low: 0, high: 100 } },
    ],
    members: members === "unreadable" ? undefined : members,
    topicIds: new Map(),
  };
  const known: Known = {
    groupId: "g",
    identity: { ...own, earlier: new Set([before.run]) },
    next: (feed) => (feed === feedOf(0) ? 50 : undefined),
    takeOver: undefined,
    readBeforeCut: () => undefined,
    isCut: () => false,
    recreated: new Set(),
    ...over,
  };
  return judge(standing, known, isBeforeJoin);
}

const nothingKnown: Partial<Known> = { next: () => undefined };

describe("a group is ours", () => {
  const nothing = { moved: new Map(), foreign: new Map(), found: new Map(), taken: new Map(), foreignMembers: [] };

  test.each<[string, Committed]>([
    ["with nothing committed", undefined],
    ["with what a run before committed, at our position", [50, claimText(before, 50)]],
    ["with what this run committed, before our position", [20, claimText(own, 20)]],
    ["with what a person committed at our very position", [50, null]],
  ])("%s: the local position wins", (_what, committed) => {
    expect(judged(committed)).toEqual({ kind: "ours", ...nothing, fresh: [feedOf(1)] });
  });

  test.each<[string, Committed]>([
    ["empty metadata", [20, ""]],
    ["none", [80, null]],
    ["another text", [20, "by hand"]],
    ["our claim of another offset, which a tool has kept", [20, claimText(own, 30)]],
  ])("and a person has moved it: %s", (_what, committed) => {
    expect(judged(committed)).toMatchObject({ kind: "ours", moved: new Map([[feedOf(0), committed![0]]]) });
  });

  test.each([
    ["after a join", { isBeforeJoin: false }],
    ["while it has members", { members: ["reporting"] }],
  ])("and a stranger has committed: %s", (_what, options) => {
    expect(judged([20, null], options)).toMatchObject({
      kind: "ours",
      moved: new Map(),
      foreign: new Map([[feedOf(0), 20]]),
    });
  });

  test.each([
    ["by a consumer, which names what it has read", { isByConsumer: true }],
    ["while nobody can say who its members are", { members: "unreadable" as const }],
  ])("and what was committed %s moves nothing", (_what, of) => {
    expect(judged([20, ""], of)).toMatchObject({
      kind: "ours",
      moved: new Map(),
      foreign: new Map([[feedOf(0), 20]]),
    });
  });

  test("with members that cannot be read in it, which is told", () => {
    expect(judged(undefined, { members: "unreadable" })).toMatchObject({
      foreignMembers: ["members that cannot be read"],
    });
  });

  test("with foreign members in it, by their names", () => {
    const members = [clientId(before, 1), clientId(own, 2), "reporting"];
    expect(judged([50, claimText(before, 50)], { members })).toMatchObject({ foreignMembers: ["reporting"] });
  });

  test.each<[string, Committed]>([
    ["ours", [20, claimText(before, 20)]],
    ["not ours in form", [20, null]],
  ])("where nothing is known here, it goes on where the group stands: %s", (_what, committed) => {
    expect(judged(committed, { over: nothingKnown })).toMatchObject({
      found: new Map([[feedOf(0), 20]]),
      fresh: [feedOf(1)],
    });
  });
});

describe("a group is another Sluice's", () => {
  test.each<[string, Committed, string[], string]>([
    ["another data dir committed", [20, claimText(other, 20)], [], other.run],
    ["a run committed that we do not know", [20, claimText(unknown, 20)], [], unknown.run],
    ["a run that we know committed beyond our position", [51, claimText(before, 51)], [], before.run],
    ["another data dir has a live member", undefined, [clientId(other, 1)], other.run],
    ["a run that we do not know has a live member", [50, claimText(own, 50)], [clientId(unknown, 3)], unknown.run],
  ])("%s: says whose", (_what, committed, members, run) => {
    for (const isBeforeJoin of [true, false]) {
      const found = judged(committed, { members, isBeforeJoin });
      expect(found).toMatchObject({ kind: "owner", run });
      const { text } = found as { text: string };
      for (const said of ["consumer group g", `run ${run}`]) expect(text).toContain(said);
    }
  });

  test("that is taken over: what it has read counts, its members are no hindrance", () => {
    const over = { takeOver: other.run };
    const found = judged([70, claimText(other, 70)], { members: [clientId(other, 1)], over });
    expect(found).toMatchObject({
      kind: "ours",
      taken: new Map([[feedOf(0), 70]]),
      moved: new Map(),
      foreignMembers: [],
    });
  });

  test("that is taken over, after a join: it counts where it went on beyond us, or nothing is known here", () => {
    const options = { isBeforeJoin: false, over: { takeOver: other.run } };
    expect(judged([70, claimText(other, 70)], options)).toMatchObject({ taken: new Map([[feedOf(0), 70]]) });
    for (const offset of [50, 30])
      expect(judged([offset, claimText(other, offset)], options)).toMatchObject({ taken: new Map(), found: new Map() });
    const unknownHere = { ...options, over: { ...options.over, ...nothingKnown } };
    expect(judged([70, claimText(other, 70)], unknownHere)).toMatchObject({ found: new Map([[feedOf(0), 70]]) });
  });

  test.each<[string, Partial<Known>]>([
    ["was cut, and reading went back to its end", { readBeforeCut: () => 70 }],
    ["was begun anew as another topic", { readBeforeCut: () => 60 }],
    ["was cut, which is undecided", { isCut: () => true }],
  ])("that is taken over, after a join: what it read does not count in a log that %s", (_what, over) => {
    const options = { isBeforeJoin: false, over: { takeOver: other.run, ...over } };
    expect(judged([70, claimText(other, 70)], options)).toMatchObject({ kind: "ours", taken: new Map() });
  });
});

test.each([[""], [null], ["x"], ["aa:11111111:5"], [`${own.dataDir}:11111111:6`], [`${own.dataDir}:11111111:5 `]])(
  "%s is no claim of offset 5",
  (metadata) => expect(claimOf(metadata, 5)).toBeUndefined(),
);

test("claims and client ids are read as they are written", () => {
  expect(claimOf(claimText(own, 5), 5)).toEqual(own);
  expect(memberOf(clientId(own, 12))).toEqual(own);
  expect(memberOf("sluice-consumer")).toBeUndefined();
});
