import { expect, test } from "vitest";
import { previewOf, type Side } from "../../../reconciler/preview/preview.ts";
import { limit, sideOf } from "./sides.ts";

const orders = { id: "orders" };
const payments = { id: "payments" };

/** The side, in which whatever looks at what the file of one pipeline says throws. */
function spoiled(side: Side, id: string): Side {
  const pipelines = side.desired.pipelines.map((one) => {
    if (one.pipeline_id !== id) return one;
    const thrower = {
      get: (): never => {
        throw new TypeError("x is undefined");
      },
    };
    return Object.defineProperties({ ...one }, { config: thrower, document: thrower });
  });
  return { ...side, desired: { ...side.desired, pipelines } };
}

test("a file on which a plan fails is an error of that file, and the plan has all other changes", () => {
  const base = sideOf([orders, { id: "clicks" }], {});
  const head = spoiled(sideOf([{ ...orders, name: "Sales" }, payments, { id: "users" }], {}), "orders");
  const { changes, errors } = previewOf(base, head, limit);
  expect(errors).toMatchObject([{ code: "FAULT", file: "orders.yaml" }]);
  expect(changes.map(({ change, level }) => [change.pipeline_id, change.kind, level])).toEqual([
    ["payments", "create", "change"],
    ["users", "create", "change"],
    ["orders", "no-op", "refuse"],
    ["clicks", "delete", "delete"],
  ]);
});

test("a file of the base on which a plan fails is one that could not be used there", () => {
  const base = spoiled(sideOf([orders, payments], {}), "orders");
  const { changes, errors, notes } = previewOf(base, sideOf([orders], {}), limit);
  expect(errors).toEqual([]);
  expect(changes.map(({ change }) => [change.pipeline_id, change.kind])).toEqual([
    ["orders", "create"],
    ["payments", "delete"],
  ]);
  expect(notes).toMatchObject([
    { code: "BaseUnusable", facts: { file: "orders.yaml", line: 1, pipeline_ids: ["orders"] } },
  ]);
});
