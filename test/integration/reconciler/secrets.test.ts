import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { settledFolder } from "../../support/settled-folder.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;
let reconciler: Reconciler;
let secrets: string;

const turn = () => reconciler.turn("manual", new AbortController().signal);

beforeEach(async () => {
  running = await TestEngine.open({ from: new FileAndEnvSecrets({}) });
  const { dataDir, engine, log, registry } = running;
  secrets = join(dataDir, "secrets");
  const files = join(dataDir, "files");
  await mkdir(files);
  await mkdir(secrets);
  await writeFile(join(secrets, "token"), "the-first-of-tokens");
  await writeFile(join(secrets, "password"), "default");
  const text = pipelineText({
    id: "orders",
    connection: [`password: \${file:${join(secrets, "password")}}`],
    sluice: ["create_table: true", `access_token: \${file:${join(secrets, "token")}}`],
  });
  await writeFile(join(files, "orders.yaml"), text);
  const source = settledFolder(files);
  reconciler = new Reconciler({ source, engine, dataDir, log, registry, interval: 60_000 });
  await turn();
});

afterEach(() => running.close());

const post = async (token: string): Promise<number> =>
  (await running.post("orders", token, { id: 1, level: "error" })).status;

/** Resolves when the pipeline has written an event: it runs with the values that its secrets had when it was launched. */
const written = async (token: string): Promise<void> => {
  expect(await post(token)).toBe(202);
  await running.until("orders", ({ stream }) => stream?.messages === 0);
};

test("a brought token counts with its new value without a commit, and only that", async () => {
  expect(await post("the-first-of-tokens")).toBe(202);
  expect((await turn()).outcomes).toEqual([]);
  await writeFile(join(secrets, "token"), "the-second-of-tokens");
  const { plan, outcomes } = await turn();
  expect(plan?.changes[0]).toMatchObject({ cause: "SecretChanged", calls: ["configure"] });
  expect(outcomes).toMatchObject([{ result: "applied" }]);
  expect([await post("the-first-of-tokens"), await post("the-second-of-tokens")]).toEqual([401, 202]);
  expect((await turn()).outcomes).toEqual([]);
  const kept = JSON.stringify([reconciler.history({ limit: 10 }), reconciler.snapshot(), running.log.lines]);
  expect(kept).not.toMatch(/the-first-of-tokens|the-second-of-tokens/);
});

test(
  "a secret of the target that changes starts the pipeline anew; one that is gone leaves it running, and is told",
  { tags: ["rest"] },
  async () => {
    const made = running.engine.tokens.show("orders").created_at;
    await writeFile(join(secrets, "password"), "nobody");
    expect((await turn()).plan?.changes[0]).toMatchObject({ cause: "SecretChanged" });
    await written("the-first-of-tokens");
    expect((await turn()).outcomes).toEqual([]);
    expect(running.engine.tokens.show("orders").created_at).toBe(made);
    await rm(join(secrets, "password"));
    expect((await turn()).outcomes).toEqual([]);
    const [pipeline] = reconciler.snapshot().pipelines;
    expect(pipeline?.status).toBe("Running");
    expect(pipeline?.conditions.find(({ type }) => type === "SecretMissing")?.message).toContain(
      "cannot be read (ENOENT)",
    );
  },
);
