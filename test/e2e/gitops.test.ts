import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { Control } from "../faults/control.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { GitRepository } from "../support/git-repository.ts";
import { serveHttp, type RunningServer } from "../support/git-server.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

/** The whole program, as a user runs it, on a repository behind smart HTTP. */
let place: Workplace;
let repository: GitRepository;
let server: RunningServer;
let daemon: Daemon;

/** One story: each test commits to the repository as the one before left it. */
beforeAll(async () => {
  place = await Workplace.make();
  repository = await GitRepository.create();
  server = await serveHttp(repository.path);
  const first = await repository.commit({ "one.yaml": pipelineFile("pushed-one") });
  daemon = await place.start({ args: ["--repo", server.url, "--branch", "main"], env: tokenEnv });
  await daemon.reconciled(first);
});

afterAll(async () => {
  await place.clean();
  await server.close();
  await repository.remove();
});

/** Commits a file of a name, and waits until its pipeline is as it says. */
async function committed(name: string, text: string): Promise<void> {
  await daemon.reconciled(await repository.commit({ [name]: text }));
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
  (await new Control(daemon).query(`SELECT n FROM ${table} ORDER BY n`)).map(([n]) => Number(n));

const status = async (pipeline_id: string): Promise<string> => (await daemon.health(pipeline_id)).overall_status;

async function fetchCondition(type: string): Promise<{ status: string; reason: string; message: string } | undefined> {
  const { conditions } = await daemon.get<
    Reconcile & { conditions: { type: string; status: string; reason: string; message: string }[] }
  >("/api/v1/reconcile");
  return conditions.find((condition) => condition.type === type);
}

test("a push is running at the next look", async () => {
  expect(await status("pushed-one")).toBe("Running");
  await repository.commit({ "two.yaml": pipelineFile("pushed-two") });
  await daemon.until(async () => ((await status("pushed-two")) === "Running" ? true : undefined), "to run the second");
});

test("stopped by a commit it goes on accepting, and writes after the commit that resumes it", async () => {
  const running = pipelineFile("rest-and-go");
  const stopped = pipelineFile("rest-and-go", { xSluice: "  state: Stopped" });
  await committed("rests.yaml", running);
  await post("rest-and-go", 1);
  await committed("rests.yaml", stopped);
  expect(await status("rest-and-go")).toBe("Stopped");
  await post("rest-and-go", 2, 3);
  expect(await numbers("rest_and_go")).toEqual([1]);
  expect((await daemon.health("rest-and-go")).stream.messages).toBe(2);

  await committed("rests.yaml", running);
  await daemon.settled("rest-and-go");
  expect(await numbers("rest_and_go")).toEqual([1, 2, 3]);
});

test("a remote that cannot be reached changes nothing that runs, and is seen everywhere", async () => {
  await committed("alone.yaml", pipelineFile("on-its-own"));
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
  const fixed = await repository.commit({ "back.yaml": pipelineFile("back-again") });
  await daemon.reconciled(fixed);
  expect(await status("back-again")).toBe("Running");
});

test("a force-push and a clone folder that is deleted heal by themselves", async () => {
  await committed("heals.yaml", pipelineFile("heals-itself"));
  const forced = await repository.replaceHistory({
    "heals.yaml": pipelineFile("heals-itself"),
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

test("a file that goes takes its pipeline with it, after what was accepted is written", async () => {
  await committed("goes.yaml", pipelineFile("will-go", { sink: "  max_delay_time: 1h" }));
  await post("will-go", 1, 2);
  const gone = await repository.commit({ "goes.yaml": null });
  await daemon.reconciled(gone);
  await daemon.until(async () => {
    const list = await daemon.get<{ pipeline_id: string }[]>("/api/v1/pipeline");
    const ids = list.map(({ pipeline_id }) => pipeline_id);
    return ids.includes("heals-itself") && !ids.includes("will-go") ? true : undefined;
  }, "to delete the pipeline");
  expect(await numbers("will_go")).toEqual([1, 2]);
});
