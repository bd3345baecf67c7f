import { expect, test } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

/** The problems of `sales`, which names former ids, beside other files; and what is wanted all the same. */
function found(
  moved_from: string,
  ...others: Parameters<typeof pipelineText>[0][]
): { said: string[]; wanted: string[] } {
  const sales = { id: "sales", sluice: [`moved_from: ${moved_from}`] };
  const texts = [sales, ...others].map((one) => ({ path: `${one.id}.yaml`, bytes: Buffer.from(pipelineText(one)) }));
  const { problems, pipelines } = load(texts);
  return {
    said: problems.map(({ file, line, code, found: was }) => `${file}:${line} ${code} ${was}`),
    wanted: pipelines.map(({ pipeline_id, directives }) => [pipeline_id, ...directives.moved_from].join(" ")),
  };
}

test("a former id is one text or a list, and none that a document has", () => {
  expect(found("orders")).toEqual({ said: [], wanted: ["sales orders"] });
  expect(found("[orders, invoices]")).toEqual({ said: [], wanted: ["sales orders invoices"] });
  expect(found("[]")).toEqual({ said: [], wanted: ["sales"] });
});

test("the file that names one which a document still describes is refused, and the other is not", () => {
  const { said, wanted } = found("[invoices, orders]", { id: "orders" });
  expect(said).toEqual(['sales.yaml:24 MOVED_FROM "orders", which is described in orders.yaml:2']);
  expect(wanted).toEqual(["orders"]);
});

test("so is one that names itself, and two files that name the same", () => {
  expect(found("sales").said).toEqual(['sales.yaml:24 MOVED_FROM "sales", which it has now']);
  const twice = found("orders", { id: "third", sluice: ["moved_from: orders"] });
  expect(twice).toEqual({
    said: [
      'sales.yaml:24 MOVED_FROM "orders", also in third.yaml:24',
      'third.yaml:24 MOVED_FROM "orders", also in sales.yaml:24',
    ],
    wanted: [],
  });
});

test("what is no pipeline_id is none", () => {
  expect(found("Orders").said[0]).toContain("PIPELINE_ID");
  expect(found("[orders, orders]").said).toHaveLength(1);
});
