import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Repository } from "../../../reconciler/git/repository.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { serveHttp } from "../../support/git-server.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

const orders = { id: "orders", sluice: ["create_table: true", "access_token: ${T}"] };
const sales = { id: "sales-eu", sluice: ["create_table: true"] };
/** Milliseconds that end a hang. */
const soon = { timeout: 60_000 };

let engine: TestEngine;
let repository: GitRepository;
let running: { reconciler: Reconciler; stop(): Promise<void> };

beforeEach(async () => {
  repository = await GitRepository.create();
  engine = await TestEngine.open({ secrets: { T: "t0ken-of-the-tests" } });
});

afterEach(async () => {
  await running?.stop();
  await engine.close();
  await repository.remove();
});

/** Runs a reconciler on the repository with a short interval. */
function start(url = repository.path): Reconciler {
  const { dataDir, log } = engine;
  const source = new Repository({ url, branch: "main", dataDir, env: process.env });
  const reconciler = new Reconciler({
    source,
    engine: engine.engine,
    dataDir,
    log,
    registry: engine.registry,
    interval: 50,
  });
  const ending = new AbortController();
  const run = reconciler.run(ending.signal);
  running = {
    reconciler,
    stop: async () => {
      ending.abort();
      await run;
    },
  };
  return reconciler;
}

const text = (...pipelines: Parameters<typeof pipelineText>[0][]) =>
  Object.fromEntries(pipelines.map((one) => [`${one.id}.yaml`, pipelineText(one)]));

/** Ready of a pipeline for a revision: the reconciler has seen it and done what it could. */
async function seen(reconciler: Reconciler, sha: string): Promise<void> {
  const revision = `main@sha1:${sha}`;
  await expect
    .poll(
      () => {
        const { history } = reconciler.snapshot();
        return history.some(
          (entry) => entry.revision === revision && entry.outcomes.every(({ result }) => result !== "under way"),
        );
      },
      { timeout: 60_000 },
    )
    .toBe(true);
}

const conditionsOf = (reconciler: Reconciler, id: string) =>
  reconciler
    .snapshot()
    .pipelines.find(({ pipeline_id }) => pipeline_id === id)
    ?.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

describe("a reconciler on a real repository and a real engine", () => {
  test(
    "carries commits out, one after the other: rows, restart, rename, refusal, stop, prune",
    { timeout: 120_000 },
    async () => {
      await repository.commit(text(orders, sales), "Two pipelines");
      const reconciler = start();
      await expect
        .poll(() => conditionsOf(reconciler, "orders"), { timeout: 60_000 })
        .toEqual(["Ready True ReconciliationSucceeded"]);
      for (const level of ["error", "info"]) await engine.post("orders", "t0ken-of-the-tests", { id: 1, level });
      await engine.until("orders", ({ counters }) => counters.rows_written === 1 && counters.events_filtered === 1);

      await seen(
        reconciler,
        await repository.commit(text({ ...orders, expression: 'level == "info"' }), "Other filter"),
      );
      expect(reconciler.snapshot().history[0]?.outcomes).toEqual([
        { pipeline_id: "orders", kind: "update", result: "applied" },
      ]);
      await engine.post("orders", "t0ken-of-the-tests", { id: 2, level: "info" });
      await engine.until("orders", ({ stream }) => stream!.messages === 0);
      await expect
        .poll(() => engine.rows("SELECT id FROM orders ORDER BY id"), soon)
        .toEqual([{ id: expect.anything() }, { id: expect.anything() }]);

      const renamed = { ...orders, expression: 'level == "info"', name: "All orders" };
      await seen(reconciler, await repository.commit(text(renamed), "A name"));
      expect(engine.engine.get("orders").config.name).toBe("All orders");
      expect(reconciler.snapshot().history[0]?.outcomes).toEqual([
        { pipeline_id: "orders", kind: "rename", result: "applied" },
      ]);

      const refused = { ...renamed, root: ["resources: { nats: { stream: { max_age: 48h } } }"] };
      await seen(reconciler, await repository.commit(text(refused), "An immutable field"));
      expect(conditionsOf(reconciler, "orders")).toEqual(["Ready False ImmutableField", "Stalled True ImmutableField"]);
      expect(reconciler.snapshot().history[0]?.plan).toMatch(
        /orders +refuse +orders\.yaml:\d+:\d+: resources\.nats\.stream\.max_age/,
      );
      expect(engine.engine.get("orders").status).toBe("Running");

      const stopped = { ...renamed, sluice: [...orders.sluice, "state: Stopped"] };
      await seen(reconciler, await repository.commit(text(stopped), "Stop"));
      expect(conditionsOf(reconciler, "orders")).toEqual(["Ready True Stopped"]);
      expect((await engine.post("orders", "t0ken-of-the-tests", { id: 3, level: "info" })).status).toBe(202);

      await seen(reconciler, await repository.commit({ "orders.yaml": null }, "Remove"));
      expect(engine.engine.list().map(({ pipeline_id }) => pipeline_id)).toEqual(["sales-eu"]);
      expect(await engine.rows("SELECT count() AS rows FROM orders")).toEqual([{ rows: 3 }]);
      await expect
        .poll(() => reconciler.snapshot().conditions.map(({ status, reason }) => `${status} ${reason}`), soon)
        .toEqual(["True ReconciliationSucceeded"]);
    },
  );

  test(
    "changes nothing that runs while the remote is away, says so, and goes on when it is back",
    { timeout: 60_000 },
    async () => {
      await repository.commit(text(sales));
      const server = await serveHttp(repository.path);
      const reconciler = start(server.url);
      await expect
        .poll(() => conditionsOf(reconciler, "sales-eu"), { timeout: 60_000 })
        .toEqual(["Ready True ReconciliationSucceeded"]);
      await server.close();
      await expect
        .poll(() => reconciler.snapshot().conditions.map(({ type, reason }) => `${type} ${reason}`), soon)
        .toEqual(["Ready ConnectionRefused", "Reconciling ProgressingWithRetry"]);
      expect(engine.engine.get("sales-eu").status).toBe("Running");
      expect(await engine.registry.metrics()).toContain(
        'sluice_gitops_git_request_total{op="ls-remote",result="error"}',
      );
      expect(engine.log.lines).toContainEqual(
        expect.objectContaining({
          level: "error",
          sentence: "Fetching the source failed; the last good revision stays in effect.",
        }),
      );
    },
  );

  test("heals a deleted clone and follows a force-push while it runs", { tags: ["rest"] }, async () => {
    await repository.commit(text(sales));
    const reconciler = start();
    await expect
      .poll(() => conditionsOf(reconciler, "sales-eu"), { timeout: 60_000 })
      .toEqual(["Ready True ReconciliationSucceeded"]);
    await rm(join(engine.dataDir, "git"), { recursive: true });
    await seen(reconciler, await repository.replaceHistory(text({ ...sales, name: "Other" })));
    expect(engine.engine.get("sales-eu").config.name).toBe("Other");
  });

  test("never lets one bad file touch another pipeline", { timeout: 120_000 }, async () => {
    await repository.commit(text(sales));
    const reconciler = start();
    await expect
      .poll(() => conditionsOf(reconciler, "sales-eu"), { timeout: 60_000 })
      .toEqual(["Ready True ReconciliationSucceeded"]);
    await seen(
      reconciler,
      await repository.commit({
        "sales-eu.yaml": "\t{ not yaml",
        ...text({ id: "third", sluice: ["create_table: true"] }),
      }),
    );
    await expect
      .poll(() => conditionsOf(reconciler, "third"), { timeout: 60_000 })
      .toEqual(["Ready True ReconciliationSucceeded"]);
    expect(conditionsOf(reconciler, "sales-eu")).toEqual(["Ready False InvalidFile", "Stalled True InvalidFile"]);
    expect(engine.engine.get("sales-eu").status).toBe("Running");
  });
});
