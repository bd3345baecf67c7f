import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { GitRepository } from "../support/git-repository.ts";
import { serveHttp, type RunningServer } from "../support/git-server.ts";

/** The whole program, as a user runs it, on a repository behind smart HTTP. */
let place: Workplace;
let repository: GitRepository;
let server: RunningServer;
let daemon: Daemon;

beforeEach(async () => {
  place = await Workplace.make();
  repository = await GitRepository.create();
  server = await serveHttp(repository.path);
});

afterEach(async () => {
  await place.clean();
  await server.close();
  await repository.remove();
});

async function start(): Promise<void> {
  daemon = await place.start({ args: ["--repo", server.url, "--branch", "main"], env: tokenEnv });
}

async function post(pipeline_id: string, ...ids: number[]): Promise<void> {
  for (const id of ids) {
    const response = await fetch(`${daemon.events}/v1/pipelines/${pipeline_id}/topics/input/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": token },
      body: JSON.stringify({ id: `event-${id}`, n: id }),
    });
    expect(response.status).toBe(202);
  }
}

const numbers = async (table: string): Promise<number[]> =>
  (await daemon.command("sql", `SELECT n FROM ${table} ORDER BY n`, "--format", "TSV"))
    .split("\n")
    .filter(Boolean)
    .map(Number);

const status = async (pipeline_id: string): Promise<string> => (await daemon.health(pipeline_id)).overall_status;

async function fetchCondition(type: string): Promise<{ status: string; reason: string; message: string } | undefined> {
  const { conditions } = await daemon.get<
    Reconcile & { conditions: { type: string; status: string; reason: string; message: string }[] }
  >("/api/v1/reconcile");
  return conditions.find((condition) => condition.type === type);
}

test("a push is running at the next look", { timeout: 60_000 }, async () => {
  await repository.commit({ "one.yaml": pipelineFile("pushed-one") });
  await start();
  await daemon.until(async () => ((await status("pushed-one")) === "Running" ? true : undefined), "to run the first");
  const pushed = performance.now();
  await repository.commit({ "two.yaml": pipelineFile("pushed-two") });
  await daemon.until(async () => ((await status("pushed-two")) === "Running" ? true : undefined), "to run the second");
  const seconds = (performance.now() - pushed) / 1000;
  console.log(`from push to running: ${seconds.toFixed(2)} s, at an interval of 1 s`);
  expect(seconds).toBeLessThan(30);
});

test(
  "stopped by a commit it goes on accepting, and writes after the commit that resumes it",
  { timeout: 60_000 },
  async () => {
    const running = pipelineFile("rest-and-go");
    const stopped = pipelineFile("rest-and-go", { xSluice: "  state: Stopped" });
    await daemonWith(running);
    await post("rest-and-go", 1);
    await daemon.reconciled(await repository.commit({ "one.yaml": stopped }));
    expect(await status("rest-and-go")).toBe("Stopped");
    await post("rest-and-go", 2, 3);
    expect(await numbers("rest_and_go")).toEqual([1]);
    expect((await daemon.health("rest-and-go")).stream.messages).toBe(2);

    await daemon.reconciled(await repository.commit({ "one.yaml": running }));
    await daemon.settled("rest-and-go");
    expect(await numbers("rest_and_go")).toEqual([1, 2, 3]);
  },
);

async function daemonWith(file: string): Promise<void> {
  const first = await repository.commit({ "one.yaml": file });
  await start();
  await daemon.reconciled(first);
}

test(
  "a remote that cannot be reached changes nothing that runs, and is seen everywhere",
  { timeout: 60_000 },
  async () => {
    await daemonWith(pipelineFile("on-its-own"));
    const { port } = server;
    await server.close();
    const failed = await daemon.until(async () => {
      const ready = await fetchCondition("Ready");
      return ready?.status === "False" ? ready : undefined;
    }, "to notice that the remote is gone");
    expect(failed.message).toContain(`127.0.0.1:${port}`);
    expect(await status("on-its-own")).toBe("Running");
    await post("on-its-own", 1);
    await daemon.settled("on-its-own");
    expect(await numbers("on_its_own")).toEqual([1]);
    const metrics = await daemon.get<string>("/metrics");
    expect(metrics).toMatch(/sluice_gitops_git_request_total\{[^}]*result="error"[^}]*\} [1-9]/);
    expect(daemon.log.join("\n")).toContain("the last good revision stays in effect");

    server = await serveHttp(repository.path, undefined, port);
    const fixed = await repository.commit({ "two.yaml": pipelineFile("back-again") });
    await daemon.reconciled(fixed);
    expect(await status("back-again")).toBe("Running");
  },
);

test("a force-push and a clone folder that is deleted heal by themselves", { timeout: 60_000 }, async () => {
  await daemonWith(pipelineFile("heals-itself"));
  const forced = await repository.replaceHistory({
    "one.yaml": pipelineFile("heals-itself"),
    "new.yaml": pipelineFile("after-force"),
  });
  await daemon.reconciled(forced);
  expect(await status("after-force")).toBe("Running");
  await rm(join(place.dataDir, "git"), { recursive: true });
  const next = await repository.commit({ "more.yaml": pipelineFile("after-delete") });
  await daemon.reconciled(next);
  expect(await status("after-delete")).toBe("Running");
  expect(await status("heals-itself")).toBe("Running");
});

test(
  "a file that goes takes its pipeline with it, after what was accepted is written",
  { timeout: 60_000 },
  async () => {
    await daemonWith(pipelineFile("will-go", { sink: "  max_delay_time: 1h" }));
    await repository.commit({ "stays.yaml": pipelineFile("will-stay") });
    await post("will-go", 1, 2);
    const gone = await repository.commit({ "one.yaml": null });
    await daemon.reconciled(gone);
    await daemon.until(async () => {
      const list = await daemon.get<{ pipeline_id: string }[]>("/api/v1/pipeline");
      return list.map(({ pipeline_id }) => pipeline_id).join() === "will-stay" ? true : undefined;
    }, "to delete the pipeline");
    expect(await numbers("will_go")).toEqual([1, 2]);
  },
);
