import { expect, test } from "vitest";
import { printPlan } from "../../../reconciler/plan/render/index.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { planFor } from "./world.ts";

test("a plan is printed for people: what, to whom, why, with the values behind it", () => {
  const plan = planFor({
    wanted: [
      { id: "alpha" },
      { id: "bravo", expression: "id > 1", name: "Sales" },
      { id: "charlie", root: ["resources: { nats: { stream: { max_age: 48h } } }"] },
      { id: "delta" },
      { id: "echoes", connection: ["password: new-s3cret"] },
      { id: "foxes", expression: 'id > 1 &&\nlevel != "x"' },
    ],
    there: [
      { was: { id: "bravo" } },
      { was: { id: "charlie", root: ["resources: { nats: { stream: { max_age: 24h } } }"] } },
      { was: { id: "delta" } },
      { was: { id: "echoes", connection: ["password: old-s3cret"] } },
      { was: { id: "foxes", expression: 'id > 1 &&\nlevel == "x"' } },
      { was: { id: "golfer" } },
    ],
  });
  expect(`${printPlan(plan)}\n`).toMatchInlineSnapshot(`
    "alpha    create            it is new
        calls: create
    bravo    update (rows)     name and 1 more changed
        calls: stop, update, resume
        name
          - Bravo
          + Sales
        transforms[filter of input].config.expression
          - level == "error"
          + id > 1
    charlie  refuse            charlie.yaml:23:41: resources.nats.stream.max_age cannot change after creation, and was changed from "24h0m0s" to "48h0m0s": the pipeline runs on unchanged. Ways out: restore the old value; or give the new config to a new pipeline with another pipeline_id; or set x-sluice.recreate: true, which writes what was accepted and recreates the pipeline, without its dead letters and its access token
        resources.nats.stream.max_age
          - 24h0m0s
          + 48h0m0s
    echoes   update (restart)  sink.connection_params.password changed
        calls: stop, update, resume
        sink.connection_params.password
          a secret, changed
    foxes    update (rows)     transforms[filter of input].config.expression changed
        calls: stop, update, resume
        transforms[filter of input].config.expression
            id > 1 &&
          - level == "x"
          + level != "x"
    golfer   delete            golfer.yaml no longer has it
        calls: stop, delete
        a rollback does not restore: its access token (sluice token rotate golfer prints a new one)
    1 create, 3 update, 1 refuse, 1 delete, 1 unchanged
    "
  `);
});

test("an empty plan says that there is nothing to do", () => {
  expect(printPlan({ changes: [] })).toBe("nothing to do");
});

test("control characters of a file do not reach a terminal", () => {
  const escape = String.fromCodePoint(27);
  const plan = planFor({ wanted: [{ id: "alpha", name: '"\\e[31mred"' }], there: [{ was: { id: "alpha" } }] });
  expect(plan.changes[0]?.fields[0]?.to).toContain(escape);
  expect(printPlan(plan)).not.toContain(escape);
  const named = planFor({ files: { [`${escape}[31m.yaml`]: pipelineText({ id: "alpha" }).replace("v3", "v9") } });
  expect(named.changes[0]?.file).toContain(escape);
  expect(printPlan(named)).not.toContain(escape);
});

test("texts that differ in too many lines to compare are printed one after the other", () => {
  const [was, wish] = ["old", "new"].map((word) => {
    const lines = Array.from({ length: 160 }, (_, at) => `level == "${word}${at}"`);
    return { id: "alpha", expression: lines.join(" ||\n") };
  });
  const printed = printPlan(planFor({ wanted: [wish!], there: [{ was: was! }] }));
  const signs = printed.split("\n").flatMap((line) => /^ +([-+ ]) level/.exec(line)?.[1] ?? []);
  expect(signs.join("")).toBe(`${"-".repeat(160)}${"+".repeat(160)}`);
});
