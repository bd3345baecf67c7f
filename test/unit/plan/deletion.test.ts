import { describe, expect, test } from "vitest";
import { pipelineText } from "../../support/pipeline-text.ts";
import { changeFor, editing } from "./world.ts";
import type { Expected, There, World } from "./world.ts";

const orders = { id: "orders" };

describe("a pipeline whose file is gone", () => {
  const other = { id: "other" };
  const closed = { intake: "closed" } as const;
  test.each<[string, World, Expected]>([
    [
      "is drained and deleted",
      { there: [{ was: orders }] },
      { kind: "delete", cause: "FileRemoved", calls: ["stop", "delete"], reason: "orders.yaml no longer has it" },
    ],
    [
      "is drained and deleted, and the plan says what it holds",
      { there: [{ was: orders, held: 7, pending_batches: 2, dead_letters: 1 }] },
      {
        kind: "delete",
        calls: ["stop", "delete"],
        reason:
          "orders.yaml no longer has it; 7 accepted events and 2 pending batches are written first; it is kept while there is 1 dead letter",
      },
    ],
    [
      "is deleted with all that it holds where its file had it terminated, and the plan says what that is",
      { there: [{ was: orders, status: "Terminated", held: 1, pending_batches: 1, dead_letters: 3 }] },
      {
        kind: "delete",
        calls: ["delete"],
        reason:
          "orders.yaml no longer has it; 1 accepted event, 1 pending batch and 3 dead letters are deleted with it",
      },
    ],
    [
      "is deleted with several things of which one is one",
      { there: [{ was: orders, status: "Terminated", held: 2, dead_letters: 1 }] },
      {
        kind: "delete",
        calls: ["delete"],
        reason: "orders.yaml no longer has it; 2 accepted events and 1 dead letter are deleted with it",
      },
    ],
    [
      "is deleted with one thing",
      { there: [{ was: orders, status: "Terminated", held: 1 }] },
      {
        kind: "delete",
        calls: ["delete"],
        reason: "orders.yaml no longer has it; 1 accepted event is deleted with it",
      },
    ],
    [
      "takes no new events before it is deleted where it rests",
      { there: [{ was: orders, status: "Stopped" }] },
      { kind: "delete", calls: ["stop", "delete"] },
    ],
    [
      "is resumed first where it is stopped and holds events",
      { there: [{ was: orders, status: "Stopped", held: 7, dead_letters: 2 }] },
      {
        kind: "delete",
        calls: ["resume", "stop", "delete"],
        reason:
          "orders.yaml no longer has it; 7 accepted events are written first; it is kept while there are 2 dead letters",
      },
    ],
    [
      "is resumed first where what its stream holds is not known",
      { there: [{ was: orders, status: "Stopped", held: "unknown" }] },
      {
        kind: "delete",
        calls: ["resume", "stop", "delete"],
        reason: "orders.yaml no longer has it; accepted events in a stream that cannot be opened are written first",
      },
    ],
    [
      "takes no new events where it failed, whatever it holds",
      { there: [{ was: orders, status: "Failed", held: 7 }] },
      { kind: "delete", calls: ["stop", "delete"] },
    ],
    [
      "is waited for where it is stopping",
      { there: [{ was: orders, status: "Stopping" }] },
      { kind: "no-op", cause: "InTransition" },
    ],
    [
      "is kept where it said prune: false",
      { there: [{ was: orders, owned: { prune: false } }] },
      { kind: "no-op", cause: "PruneDisabled" },
    ],
    [
      "is kept where it was suspended",
      { there: [{ was: orders, owned: { suspend: true } }] },
      { kind: "no-op", cause: "Suspended" },
    ],
    [
      "is kept where somebody else made it",
      { there: [{ was: orders, owned: null }] },
      { kind: "no-op", cause: "NotOwned" },
    ],
    [
      "waits while an earlier change is at work",
      { there: [{ was: orders }], busy: { orders: editing } },
      { kind: "no-op", cause: "InProgress" },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor({ wanted: [other], ...world })).toMatchObject(expected);
  });

  describe("and that takes no events any more", () => {
    test.each<[string, Omit<There, "was">, Expected]>([
      ["is deleted when everything is written", { ...closed }, { kind: "delete", calls: ["stop", "delete"] }],
      ["is deleted where it rests and holds nothing", { ...closed, status: "Stopped" }, { calls: ["delete"] }],
      ["is deleted where it failed and holds nothing", { ...closed, status: "Failed" }, { calls: ["delete"] }],
      [
        "is waited for while it writes",
        { ...closed, held: 7, pending_batches: 1 },
        {
          kind: "no-op",
          cause: "InTransition",
          calls: [],
          reason:
            "orders.yaml no longer has it: it takes no new events, and is deleted when it has written 7 accepted events and 1 pending batch",
        },
      ],
      [
        "waits for a person while it cannot write, and says what it holds, why, and the ways out",
        { ...closed, held: 7, pending_batches: 2, dead_letters: 1, paused: "table orders is missing" },
        {
          kind: "refuse",
          cause: "EventsHeld",
          calls: [],
          reason:
            "orders.yaml no longer has it: it takes no new events, and is deleted automatically when nothing of this is left: " +
            "7 accepted events, 2 pending batches and 1 dead letter. It cannot write: table orders is missing. Ways out: " +
            "resolve what it waits for; or take the dead letters out with sluice dlq consume, discard or purge orders; " +
            "or restore it with x-sluice.state: Terminated, and then remove it, which drops all of this",
        },
      ],
      [
        "waits for a person while it has dead letters, which would be lost",
        { ...closed, status: "Stopped", dead_letters: 2 },
        {
          kind: "refuse",
          cause: "DeadLettersHeld",
          calls: [],
          reason: expect.stringMatching(/: 2 dead letters\. Ways out: take the dead letters out .*or restore the file/),
        },
      ],
      [
        "is carried on where a crash left it stopped with events",
        { ...closed, status: "Stopped", held: 3 },
        { kind: "delete", calls: ["resume", "stop", "delete"] },
      ],
      [
        "waits for a person where it failed and holds events",
        { ...closed, status: "Failed", held: 7, failure: "secret ${env:P} is not set" },
        {
          kind: "refuse",
          cause: "EventsHeld",
          reason: expect.stringMatching(
            /It cannot write: secret .* is not set\. Ways out: restore the file and correct it/,
          ),
        },
      ],
    ])("%s", (_title, there, expected) => {
      expect(changeFor({ wanted: [other], there: [{ was: orders, ...there }] })).toMatchObject(expected);
    });

    test.each<[string, string[], Omit<There, "was">, string[]]>([
      ["running, it is stopped and resumed", [], {}, ["stop", "resume"]],
      ["at rest, it is resumed", [], { status: "Stopped" }, ["resume"]],
      ["failed, it is resumed", [], { status: "Failed" }, ["resume"]],
      [
        "and should be Stopped, it is resumed and stopped",
        ["state: Stopped"],
        { status: "Stopped" },
        ["resume", "stop"],
      ],
      ["and should be Stopped while it runs", ["state: Stopped"], {}, ["stop", "resume", "stop"]],
      ["and should be Terminated, it is terminated", ["state: Terminated"], {}, ["terminate"]],
      ["with other options, it is told these on the way", ["on_uncertain: skip"], {}, ["stop", "configure", "resume"]],
    ])("takes events again when its file is put back: %s", (_title, sluice, there, calls) => {
      const change = changeFor({ wanted: [{ ...orders, sluice }], there: [{ was: orders, ...closed, ...there }] });
      expect(change.calls).toEqual(calls);
    });

    test("says why it is resumed when its file is put back", () => {
      expect(changeFor({ wanted: [orders], there: [{ was: orders, ...closed }] })).toMatchObject({
        kind: "resume",
        cause: "StateWished",
        reason: "it is Running and takes no events, because its deletion had begun, x-sluice.state is Running",
      });
    });
  });

  test("stays where the source holds nothing at all", () => {
    expect(changeFor({ there: [{ was: orders }] })).toMatchObject({ kind: "refuse", cause: "EmptySource", calls: [] });
  });

  test("stays where another id took its place in the file, and that one is not created", () => {
    const world = { files: { "orders.yaml": pipelineText({ id: "sales" }) }, there: [{ was: orders }] };
    expect(changeFor(world)).toMatchObject({ kind: "refuse", cause: "IdChanged" });
    expect(changeFor(world, "sales")).toMatchObject({ kind: "refuse", cause: "IdChanged", line: 2 });
  });

  test("is deleted where the other id has a file of its own", () => {
    const world = { wanted: [{ id: "sales" }], there: [{ was: orders }] };
    expect(changeFor(world)).toMatchObject({ kind: "delete" });
    expect(changeFor(world, "sales")).toMatchObject({ kind: "create" });
  });

  test("is not gone where its file was moved", () => {
    const world = { files: { "moved/here.yaml": pipelineText(orders) }, there: [{ was: orders }] };
    expect(changeFor(world)).toMatchObject({ kind: "no-op", cause: "InSync", file: "moved/here.yaml" });
  });
});
