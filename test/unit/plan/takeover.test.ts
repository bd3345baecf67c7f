import { describe, expect, test } from "vitest";
import { wishOf } from "../../../reconciler/desired/fingerprint.ts";
import { changeFor, type Expected, read, type World } from "./world.ts";

const orders = { id: "orders" };
const immutable = { id: "orders", root: ["resources: { nats: { stream: { max_age: 48h } } }"] };

describe("a change under way that still waits for a stop", () => {
  const edit = { ...orders, expression: "id > 1" };
  const newer = { ...orders, expression: "id > 2" };
  const stopping = { was: orders, status: "Stopping" } as const;
  /** The edit is under way. */
  const busy = { orders: { wish: wishOf(read(edit)), isStopping: true } };
  const replaced: Expected = { replaces: true, reason: expect.stringContaining("it replaces the change") };

  test.each<[string, World, Expected]>([
    ["goes on where its file says the same", { wanted: [edit] }, { cause: "InProgress", calls: [] }],
    [
      "is replaced where a newer commit says something else",
      { wanted: [newer] },
      { ...replaced, kind: "update", calls: ["update", "resume"] },
    ],
    [
      "is replaced where a newer commit takes it back",
      { wanted: [orders] },
      { ...replaced, kind: "resume", calls: ["resume"] },
    ],
    [
      "is replaced where the pipeline should be Stopped after all, which it is about to be",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }] },
      { ...replaced, kind: "stop", cause: "StateWished", calls: [] },
    ],
    [
      "is replaced by the deletion where its file goes",
      { wanted: [{ id: "other" }], there: [{ ...stopping, held: 2 }] },
      { ...replaced, kind: "delete", calls: ["resume", "stop", "delete"] },
    ],
    [
      "goes on where a newer commit is refused",
      { wanted: [{ ...newer, root: immutable.root }] },
      { kind: "no-op", cause: "InProgress", calls: [] },
    ],
    [
      "goes on where the newer file cannot be read",
      { files: { "orders.yaml": "{ not yaml" } },
      { kind: "no-op", cause: "InvalidFile", calls: [] },
    ],
    [
      "goes on where the pipeline is suspended meanwhile",
      { wanted: [{ ...newer, sluice: ["suspend: true"] }] },
      { cause: "Suspended", calls: [] },
    ],
    [
      "goes on where the newer one would have to wait for another pipeline",
      { wanted: [{ ...newer, sluice: ["depends_on: [zebra]"] }] },
      { cause: "InProgress", calls: [] },
    ],
    [
      "goes on where its file goes and the pipeline is to be kept",
      { wanted: [{ id: "other" }], there: [{ ...stopping, owned: { prune: false } }] },
      { cause: "PruneDisabled", calls: [] },
    ],
    [
      "goes on where it is past its stop",
      { wanted: [newer], busy: { orders: { ...busy.orders, isStopping: false } } },
      { cause: "InProgress", calls: [] },
    ],
  ])("%s", (_title, world, expected) => {
    const change = changeFor({ there: [stopping], busy, ...world });
    expect(change).toMatchObject(expected);
    if (expected.replaces === undefined) expect(change).not.toHaveProperty("replaces");
  });

  test("that is a deletion goes on while there is no file, and is replaced when it is put back", () => {
    const deleting = { there: [stopping], busy: { orders: { isStopping: true, isEnding: true as const } } };
    expect(changeFor({ ...deleting, wanted: [{ id: "other" }] })).toMatchObject({ cause: "InProgress", calls: [] });
    expect(changeFor({ ...deleting, wanted: [orders] })).toMatchObject({ ...replaced, calls: ["resume"] });
  });
});
