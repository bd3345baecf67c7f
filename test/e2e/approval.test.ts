/** @module-tag rest */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Reconcile } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, tokenEnv, Workplace } from "../support/daemon.ts";
import { GitRepository } from "../support/git-repository.ts";

/** The whole program, as a user runs it: a change of the class waits until Git approves it. */
let place: Workplace;
let repository: GitRepository;

beforeEach(async () => {
  place = await Workplace.make();
  repository = await GitRepository.create();
});

afterEach(async () => {
  await place.clean();
  await repository.remove();
});

const dedup = (key: string): string =>
  `transforms: [{ type: dedup, source_id: input, config: { key: ${key}, time_window: 1h } }]`;

test("sluice run --approve holds a change back until its trailer is pushed", { timeout: 180_000 }, async () => {
  await repository.commit({ "pipelines/orders.yaml": pipelineFile("orders", { rest: dedup("id") }) });
  const args = ["--repo", repository.path, "--path", "pipelines", "--approve", "class>=forget"];
  const daemon = await place.start({ args, env: tokenEnv });
  const first = async (): Promise<Reconcile["pipelines"][number]["conditions"][number] | undefined> =>
    (await daemon.get<Reconcile>("/api/v1/reconcile")).pipelines[0]?.conditions[0];
  const reason = (wanted: string) => async () => {
    const found = await first();
    return found?.reason === wanted ? found : undefined;
  };
  await daemon.until(reason("ReconciliationSucceeded"), "to run it");
  await repository.commit({ "pipelines/orders.yaml": pipelineFile("orders", { rest: dedup("n") }) });
  const { message } = await daemon.until(reason("NotApproved"), "to hold the change back");
  const approval = /Sluice-Approve: [\w-]+/.exec(message)?.[0] ?? "";
  expect(approval).toMatch(/^Sluice-Approve: forget-[0-9a-f]{32}$/);
  expect(await daemon.command("get", "orders")).toContain(approval);
  await repository.commit({}, `Forget the keys of orders\n\n${approval}`);
  await daemon.until(reason("ReconciliationSucceeded"), "to carry it out");
  expect(JSON.stringify(await daemon.get("/api/v1/pipeline/orders"))).toContain('"key":"n"');
  const story = await daemon.command("history", "orders");
  expect(story).toMatch(/^class planned: +forget$/m);
  expect(story).toMatch(/^cost planned: +dedup of input forgets its window/m);
  expect(story).toMatch(/^calls planned: +stop, update, resume$/m);
  expect(story).toMatch(/^calls made: +stop success/m);
  const accuracy = await daemon.command("history", "--accuracy");
  expect(accuracy).toMatch(/^carried out: +2 of 2$/m);
  expect(accuracy).toMatch(/^calls as planned: +2 of 2$/m);
  expect(accuracy).toMatch(/^pause +1 +1000 ms +\d+ ms/m);
});
