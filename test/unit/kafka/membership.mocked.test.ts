import { expect, test, vi } from "vitest";
import type { Feed } from "../../../engine/core/positions.ts";
import type { Commit, MemberOptions } from "../../../engine/sources/kafka/group/member.ts";
import { Membership } from "../../../engine/sources/kafka/group/membership.ts";

/** A member whose commits are answered when the test wants it. */
class StandIn {
  static made: StandIn[] = [];
  readonly options: MemberOptions;
  readonly commits: { commits: Commit[]; answer: () => void; refuse: (error: Error) => void }[] = [];

  constructor(options: MemberOptions) {
    this.options = options;
    StandIn.made.push(this);
  }

  commit(commits: Commit[]): Promise<void> {
    return new Promise((answer, refuse) => this.commits.push({ commits, answer, refuse }));
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

vi.mock("../../../engine/sources/kafka/group/member.ts", () => ({
  get Member() {
    return StandIn;
  },
}));

const identity = { dataDir: "a".repeat(16), run: "11111111", earlier: new Set<string>() };

const nothing = (): void => undefined;

function joined(): { held: Feed[][]; member: StandIn; membership: Membership } {
  const held: Feed[][] = [];
  const known = { identity, groupId: "g", takeOver: undefined, recreated: new Set(), next: () => 5 };
  StandIn.made = [];
  const membership = new Membership({
    pipeline_id: "orders",
    topics: ["orders"],
    replicas: 1,
    identity,
    telemetry: { assigned: nothing, foreignMembers: nothing },
    positions: {
      feed: (topic: string, partition: number) => `c/${topic}/${partition}`,
      final: () => 5,
      noteCommitted: nothing,
    },
    opening: { known, read: () => Promise.resolve({ members: [], partitions: [] }), placeNew: () => Promise.resolve() },
    failures: { clear: nothing, note: nothing },
    signals: {},
    hide: (text: string) => text,
    member: () => ({}),
    onHeld: (feeds: ReadonlySet<Feed>) => held.push([...feeds]),
  } as never);
  membership.join();
  return { held, member: StandIn.made[0]!, membership };
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
