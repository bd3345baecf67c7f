import { expect, test, vi } from "vitest";
import type { Feed } from "../../../engine/core/positions.ts";
import { claimText, clientId } from "../../../engine/sources/kafka/group/identity.ts";
import type { Commit, MemberOptions } from "../../../engine/sources/kafka/group/member.ts";
import { Membership } from "../../../engine/sources/kafka/group/membership.ts";
import type { GroupState, PartitionState } from "../../../engine/sources/kafka/positions/group-state.ts";

/** A member whose commits are answered when the test wants it. */
class StandIn {
  static made: StandIn[] = [];
  readonly options: MemberOptions;
  isStopped = false;
  readonly confirms: { answer: () => void; refuse: (error: Error) => void }[] = [];
  readonly commits: { commits: Commit[]; answer: () => void; refuse: (error: Error) => void }[] = [];

  constructor(options: MemberOptions) {
    this.options = options;
    StandIn.made.push(this);
  }

  commit(commits: Commit[]): Promise<void> {
    return new Promise((answer, refuse) => this.commits.push({ commits, answer, refuse }));
  }

  confirm(): Promise<void> {
    return new Promise((answer, refuse) => this.confirms.push({ answer, refuse }));
  }

  stop(): Promise<void> {
    this.isStopped = true;
    return Promise.resolve();
  }
}

vi.mock("../../../engine/sources/kafka/group/member.ts", () => ({
  get Member() {
    return StandIn;
  },
}));

const identity = { dataDir: "a".repeat(16), run: "11111111", earlier: new Set<string>() };

const other = { dataDir: "b".repeat(16), run: "22222222" };

const nothing = (): void => undefined;

interface Joined {
  held: Feed[][];
  member: StandIn;
  membership: Membership;
  /** What the group says from now on. */
  group: Pick<GroupState, "members" | "partitions">;
  /** The offsets at which partitions were placed. */
  placed: Map<Feed, number>;
  disowned: () => number;
}

/** `unsettled`: partitions of which something was read that is not settled. */
function joined({ takeOver, unsettled = [] }: { takeOver?: string; unsettled?: Feed[] } = {}): Joined {
  const held: Feed[][] = [];
  const group: Joined["group"] = { members: [], partitions: [] };
  const placed: Joined["placed"] = new Map();
  let disowned = 0;
  const final = (feed: Feed): number => placed.get(feed) ?? 5;
  const known = { identity, groupId: "g", takeOver, recreated: new Set(), next: final, ...noCuts };
  StandIn.made = [];
  const membership = new Membership({
    pipeline_id: "orders",
    topics: ["orders"],
    replicas: 1,
    identity,
    telemetry: { assigned: nothing, foreignMembers: nothing },
    positions: {
      feed: (topic: string, partition: number) => `c/${topic}/${partition}`,
      final,
      isSettled: (feed: Feed) => !unsettled.includes(feed),
      noteCommitted: nothing,
    },
    opening: {
      known,
      read: () => Promise.resolve(group),
      placeNew: async (_of: unknown, _judged: unknown, taken: ReadonlyMap<Feed, number>) =>
        taken.forEach((offset, feed) => placed.set(feed, offset)),
      wait: () => Promise.reject(new Error("the pipeline is stopped")),
    },
    failures: { clear: nothing, note: nothing },
    signals: {},
    hide: (text: string) => text,
    member: () => ({}),
    heartbeatInterval: 30,
    onHeld: (feeds: ReadonlySet<Feed>) => held.push([...feeds]),
    onDoubt: () => (disowned += 1),
  } as never);
  membership.join();
  return { held, member: StandIn.made[0]!, membership, group, placed, disowned: () => disowned };
}

const noCuts = { readBeforeCut: nothing, isCut: () => false };

/** What another run has committed of the first partitions. */
function committedBy(claim: typeof other, ...offsets: number[]): PartitionState[] {
  return offsets.map((offset, partition) => {
    const committed = { offset, metadata: claimText(claim, offset), isByConsumer: false };
    return { feed: `c/orders/${partition}`, ends: { low: 0, high: 100 }, committed };
  });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("no event of a partition is read before the claim on it is committed", async () => {
  const { held, member, membership } = joined();
  member.options.onAssigned({ orders: [0, 1] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(1));
  await turn();
  expect(held).toEqual([]);
  expect(member.commits[0]!.commits).toMatchObject([
    { feed: "c/orders/0", offset: 5, metadata: `${identity.dataDir}:${identity.run}:5` },
    { feed: "c/orders/1", offset: 5 },
  ]);
  member.commits[0]!.answer();
  await vi.waitFor(() => expect(held).toEqual([["c/orders/0", "c/orders/1"]]));
  await membership.leave();
});

test("nor after a claim that the broker refused, until another one is committed", async () => {
  const { held, member, membership } = joined();
  member.options.onAssigned({ orders: [0] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(1));
  member.commits[0]!.refuse(new Error("the group rebalances"));
  await vi.waitFor(() => expect(member.commits).toHaveLength(2), { timeout: 60_000 });
  expect(held).toEqual([]);
  member.commits[1]!.answer();
  await vi.waitFor(() => expect(held).toEqual([["c/orders/0"]]));
  await membership.leave();
});

test("a run that is taken over may have gone on until it left the group: reading begins where it ended", async () => {
  const { group, held, member, membership, placed } = joined({ takeOver: other.run, unsettled: ["c/orders/1"] });
  group.partitions = committedBy(other, 40, 40, 3);
  member.options.onAssigned({ orders: [0, 1, 2] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(1));
  // Of the second one a batch is pending here, and in the third one this Sluice is further.
  expect(placed).toEqual(new Map([["c/orders/0", 40]]));
  expect(member.commits[0]!.commits.map(({ offset }) => offset)).toEqual([40, 5, 5]);
  member.commits[0]!.answer();
  await vi.waitFor(() => expect(held).toHaveLength(1));
  // From now on it is read here.
  group.partitions = committedBy(other, 60);
  member.options.onAssigned({ orders: [0, 1, 2] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(2));
  expect(placed).toEqual(new Map([["c/orders/0", 40]]));
  member.commits[1]!.answer();
  await membership.leave();
});

test("once the group is another's, nothing more is written, and what is final is committed before it is left", async () => {
  const { group, held, member, membership, disowned } = joined();
  member.options.onAssigned({ orders: [0, 1] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(1));
  member.commits[0]!.answer();
  await vi.waitFor(() => expect(held).toHaveLength(1));
  expect(disowned()).toBe(0);
  // The other one has claimed the first partition, where a commit of ours would set it back.
  group.members = [clientId(other, 1)];
  group.partitions = [...committedBy(other, 5), committedBy(identity, 5, 3)[1]!];
  member.options.onAssigned({ orders: [0, 1] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(2));
  expect(disowned()).toBe(1);
  expect(member.commits[1]!.commits.map(({ feed }) => feed)).toEqual(["c/orders/1"]);
  expect(member.isStopped).toBe(false);
  member.commits[1]!.refuse(new Error("the group rebalances"));
  await vi.waitFor(() => expect(member.isStopped).toBe(true));
  expect(held.at(-1)).toEqual([]);
  await membership.leave();
});

test("one that took a place claims nothing before the group has confirmed that nobody else has joined since", async () => {
  const { held, member, membership } = joined();
  const began = performance.now();
  member.options.onReplaced();
  member.options.onAssigned({ orders: [0] });
  await vi.waitFor(() => expect(member.confirms).toHaveLength(1));
  expect(performance.now() - began).toBeGreaterThanOrEqual(39);
  member.confirms[0]!.refuse(new Error("the group rebalances"));
  await vi.waitFor(() => expect(member.confirms).toHaveLength(2), { timeout: 60_000 });
  expect(member.commits).toEqual([]);
  member.confirms[1]!.answer();
  await vi.waitFor(() => expect(member.commits).toHaveLength(1));
  member.commits[0]!.answer();
  await vi.waitFor(() => expect(held).toEqual([["c/orders/0"]]));
  // Once.
  member.options.onAssigned({ orders: [0] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(2));
  expect(member.confirms).toHaveLength(2);
  member.commits[1]!.answer();
  await membership.leave();
});

test("one whose place was taken reads and writes nothing, and stays a member, until it has joined again", async () => {
  const { group, held, member, membership, disowned } = joined();
  member.options.onAssigned({ orders: [0] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(1));
  member.commits[0]!.answer();
  await vi.waitFor(() => expect(held).toHaveLength(1));
  group.members = [clientId({ ...identity, run: other.run }, 1)];
  group.partitions = committedBy(identity, 3);
  member.options.onFenced();
  expect([held.at(-1), disowned()]).toEqual([[], 1]);
  await turn();
  expect(member.isStopped).toBe(false);
  // What it has written meanwhile is told to the other one.
  member.options.onAssigned({ orders: [0] });
  await vi.waitFor(() => expect(member.commits).toHaveLength(2));
  expect(member.commits[1]!.commits).toMatchObject([{ feed: "c/orders/0", offset: 5 }]);
  member.commits[1]!.answer();
  await vi.waitFor(() => expect(member.isStopped).toBe(true));
  expect(held.at(-1)).toEqual([]);
  await membership.leave();
});
