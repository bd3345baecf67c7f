import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { KafkaPositions } from "../../../engine/sources/kafka/positions/positions.ts";
import { openJournal, type TestJournal } from "../../support/journal.ts";
import { record } from "../../conformance/journal.ts";

const feed = "cluster/orders/0";
let opened: TestJournal;

beforeAll(async () => void (opened = await openJournal()));
afterAll(() => opened.close());

/** The positions as a start of the pipeline learns them. */
function learned(pipeline_id: string): KafkaPositions {
  const positions = new KafkaPositions(["orders"], pipeline_id, opened.journal);
  positions.learn("cluster");
  return positions;
}

test("where a person has moved a partition whose log was cut, its earlier batches miss what is behind the cut, also after a start", async () => {
  const { journal } = opened;
  const madeOf = { kind: "source", ranges: [{ feed, base: 0, first: 12, last: 19, count: 8 }] } as const;
  await journal.place("moved", { [feed]: 11 });
  await journal.prepare(record(1, { pipeline_id: "moved", madeOf: { ...madeOf, ranges: [...madeOf.ranges] } }));
  const before = learned("moved");
  expect([before.final(feed), before.next(feed), before.goneFrom(feed)]).toEqual([12, 20, Infinity]);
  await before.noteCut(feed, 15);
  await before.place(new Map([[feed, 10]]), { isMove: true });
  const after = learned("moved");
  for (const positions of [before, after]) {
    expect([positions.final(feed), positions.next(feed), positions.goneFrom(feed)]).toEqual([10, 10, 15]);
    expect(positions.readBeforeCut(feed)).toBe(20);
    // The batch from before the move is settled, which is no step of the moved partition.
    expect(positions.settle(madeOf.ranges)).toEqual([]);
    positions.began();
    expect(positions.goneFrom(feed)).toBe(Infinity);
  }
});

test("how far a partition was read before its log was cut counts what was handed out since the cut was noted, and earlier cuts", async () => {
  await opened.journal.place("handed", { [feed]: 21 });
  const positions = learned("handed");
  // A fetch reads ahead of what was handed out, and finds the cut.
  await positions.noteCut(feed, 25);
  positions.handedOut(feed, 25, 0);
  positions.settle([{ feed, base: 0, first: 22, last: 25, count: 4 }]);
  await positions.place(new Map([[feed, 25]]), { isMove: true });
  expect(positions.readBeforeCut(feed)).toBe(26);
  // The next cut comes before anything is committed anew.
  await positions.noteCut(feed, 24);
  await positions.place(new Map([[feed, 24]]), { isMove: true });
  expect(positions.readBeforeCut(feed)).toBe(26);
  expect(learned("handed").readBeforeCut(feed)).toBe(26);
});

test("how far a topic was read before it was created again counts what was read before a cut", async () => {
  await opened.journal.place("again", { [feed]: 25 });
  const positions = learned("again");
  positions.saw(new Map([["orders", "one"]]));
  await positions.noteTopicIds();
  await positions.noteCut(feed, 20);
  await positions.place(new Map([[feed, 20]]));
  const partitions = [{ feed, ends: { low: 0, high: 0 } }];
  const there = positions.there({
    cluster: "cluster",
    topicIds: new Map([["orders", "two"]]),
    members: [],
    partitions,
  });
  const anew = there.partitions[0]!.feed;
  await positions.begin(["orders"], new Map([[anew, 0]]));
  expect(positions.readBeforeCut(anew)).toBe(26);
});

test("nothing is written where no topic begins and no partition is placed", async () => {
  const positions = learned("idle");
  const place = vi.spyOn(opened.journal, "place");
  await positions.begin([]);
  await positions.place(new Map());
  expect(place).not.toHaveBeenCalled();
  place.mockRestore();
});
