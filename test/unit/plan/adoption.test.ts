import { expect, test } from "vitest";
import { changeFor } from "./world.ts";
import type { Expected, There, World } from "./world.ts";

const orders = { id: "orders" };
const adopt = (...lines: string[]) => ({ ...orders, sluice: ["adopt: true", ...lines] });
const foreign = (facts: Partial<There> = {}): There => ({ was: orders, owned: null, ...facts });

test.each<[string, World, Expected]>([
  ["that is as its file says is taken over as it runs", { wanted: [orders], there: [foreign()] }, { cause: "InSync" }],
  [
    "that differs is refused, with what differs and what an adoption would do",
    { wanted: [{ ...orders, expression: "id > 1" }], there: [foreign()] },
    {
      kind: "refuse",
      cause: "NotAdopted",
      calls: [],
      effect: "restart",
      fields: [expect.objectContaining({ path: "transforms[filter of input].config.expression" })],
      reason: expect.stringMatching(
        /runs on unchanged\. Ways out: set x-sluice\.adopt: true, which changes it to match the file by stop, update, resume \(rows\); or/,
      ),
    },
  ],
  [
    "that was stopped is not resumed unasked",
    { wanted: [orders], there: [foreign({ status: "Stopped" })] },
    {
      kind: "refuse",
      cause: "NotAdopted",
      calls: [],
      fields: [{ path: "x-sluice.state", effect: "none", from: "Stopped", to: "Running" }],
    },
  ],
  [
    "that differs is taken over where its file says so, and the plan says how, and what it holds",
    { wanted: [{ ...adopt(), expression: "id > 1" }], there: [foreign({ held: 7 })] },
    {
      kind: "update",
      cause: "Adopted",
      effect: "restart",
      calls: ["stop", "update", "resume"],
      reason:
        "it is adopted, because x-sluice.adopt is true: transforms[filter of input].config.expression changed; 7 accepted " +
        "events are written first",
    },
  ],
  [
    "that was stopped is resumed where its file says so",
    { wanted: [adopt()], there: [foreign({ status: "Stopped" })] },
    { kind: "resume", cause: "Adopted", calls: ["resume"] },
  ],
  [
    "keeps what cannot change",
    {
      wanted: [{ ...adopt(), root: ["resources: { nats: { stream: { max_age: 48h } } }"] }],
      there: [foreign()],
    },
    { kind: "refuse", cause: "ImmutableField", calls: [] },
  ],
  [
    "is made anew where its file says that as well",
    {
      wanted: [{ ...adopt("recreate: true"), root: ["resources: { nats: { stream: { max_age: 48h } } }"] }],
      there: [foreign()],
    },
    { kind: "recreate", cause: "Adopted", calls: ["stop", "delete", "create"] },
  ],
])("a pipeline of somebody else %s", (_title, world, expected) => {
  expect(changeFor(world)).toMatchObject(expected);
});
