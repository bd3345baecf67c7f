import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { LiveState } from "../../../reconciler/preview/live-state.ts";
import type { PlanReport } from "../../../reconciler/preview/report.ts";
import { type Printed, runCommand } from "../../support/command.ts";
import { tokenEnv, Workplace } from "../../support/daemon.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";

const created = ["create_table: true", "access_token: ${env:SLUICE_SECRET_TOKEN}"];
const pipelines: Record<string, PipelineText> = {
  "shop/orders.yaml": { id: "orders", name: "All orders", tags: ["shop"], sluice: [...created, "prune: false"] },
  "shop/returns.yml": { id: "returns", sluice: [...created, "depends_on: [orders]"], max_batch_size: 50 },
  "clicks.yaml": {
    id: "clicks",
    sluice: [...created, "state: Stopped"],
    transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 24h } }"],
    root: ["resources: { nats: { stream: { max_age: 48h } } }"],
  },
  "signups.yaml": { id: "signups", sluice: ["create_table: true", "access_token: an-access-token-in-plain-text"] },
};

let place: Workplace;
let daemon: Daemon;
let written: string;

beforeAll(async () => {
  place = await Workplace.make();
  const files = join(place.path, "pipelines");
  for (const [path, text] of Object.entries(pipelines)) {
    await mkdir(join(files, path, ".."), { recursive: true });
    await writeFile(join(files, path), pipelineText(text));
  }
  daemon = await place.start({ args: ["--dir", files], env: tokenEnv });
  await vi.waitFor(async () => expect(await statuses()).toEqual(["Running", "Running", "Running", "Stopped"]), 60_000);
  written = join(place.path, "exported");
  const { code } = await sluice("export", written);
  expect(code).toBe(0);
}, 60_000);

afterAll(() => place.clean());

async function statuses(): Promise<string[]> {
  const live = (await (await fetch(`${daemon.api}/api/v1/actual`)).json()) as LiveState;
  return live.pipelines.map(({ status }) => status).toSorted();
}

function sluice(...argv: string[]): Promise<Printed> {
  return runCommand(argv, { env: { SLUICE_DATA_DIR: place.dataDir } });
}

async function changes(folder: string): Promise<PlanReport["changes"]> {
  const { out } = await sluice("plan", folder, "--server", daemon.api, "--format", "json");
  return (JSON.parse(out) as PlanReport).changes;
}

describe("sluice export", () => {
  test("makes the files of what runs, where they were", async () => {
    const paths = await readdir(written, { recursive: true });
    expect(paths.toSorted()).toEqual(["clicks.yaml", "shop", "shop/orders.yaml", "shop/returns.yaml", "signups.yaml"]);
  });

  test("makes files that change nothing, but for a secret in plain text", async () => {
    expect(await changes(written)).toMatchObject([
      { pipeline_id: "signups", fields: [{ path: "x-sluice.access_token" }] },
    ]);
  });

  test("shows no secret, and says what to set in its place", async () => {
    const text = await readFile(join(written, "signups.yaml"), "utf8");
    expect(text).toContain("access_token: ${env:SLUICE_SECRET_TOKEN_SIGNUPS}");
    await rm(join(place.path, "again"), { recursive: true, force: true });
    const { out, err } = await sluice("export", join(place.path, "again"));
    expect(err).toContain("SLUICE_SECRET_TOKEN_SIGNUPS");
    expect(out + err + text).not.toContain("an-access-token");
  });

  test("makes JSON where that is asked for, one file for a pipeline, which means the same", async () => {
    const json = join(place.path, "json");
    const { code, err } = await sluice("export", json, "--format", "json");
    expect([code, err]).toEqual([0, expect.stringContaining("SLUICE_SECRET_TOKEN_SIGNUPS")]);
    const paths = (await readdir(json, { recursive: true })).toSorted();
    expect(paths).toEqual(["clicks.json", "shop", "shop/orders.json", "shop/returns.json", "signups.json"]);
    const text = await readFile(join(json, "clicks.json"), "utf8");
    expect(JSON.parse(text)).toMatchObject({
      pipeline_id: "clicks",
      resources: { nats: { stream: { max_age: "48h" } } },
      "x-sluice": { state: "Stopped" },
    });
    expect(await changes(json)).toMatchObject([
      { pipeline_id: "signups", fields: [{ path: "x-sluice.access_token" }] },
    ]);
    const other = await sluice("export", join(place.path, "other"), "--format", "toml");
    expect([other.code, other.err]).toEqual([1, expect.stringContaining("expected one of yaml, json")]);
  });

  test("takes what runs from its API too", { tags: ["rest"] }, async () => {
    const other = join(place.path, "over-http");
    expect((await sluice("export", other, "--server", daemon.api)).code).toBe(0);
    for (const path of ["clicks.yaml", "shop/orders.yaml", "shop/returns.yaml", "signups.yaml"]) {
      expect(await readFile(join(other, path), "utf8")).toBe(await readFile(join(written, path), "utf8"));
    }
  });

  test("a Sluice that follows those files adopts what runs, without a call", { tags: ["rest"] }, async () => {
    const adopted = join(place.path, "adopted");
    await sluice("export", adopted);
    await rm(join(adopted, "signups.yaml"));
    const before = (await sluice("history", "--output", "json")).out;
    await daemon.stop();
    // Another inventory: nothing is owned, as in a repository that is new to this data dir.
    await rm(join(place.dataDir, "reconciler.json"));
    daemon = await place.start({ args: ["--dir", adopted], env: tokenEnv });
    await expect.poll(async () => (await sluice("get")).out, { timeout: 60_000 }).toMatch(/returns +True/);
    expect((await sluice("history", "--output", "json")).out).toBe(before);
  });
});
