import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCommand } from "../../support/command.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import type { Problem } from "../../../reconciler/language/problem.ts";

let repository: GitRepository;

beforeEach(async () => {
  repository = await GitRepository.create();
  const [orders, returns] = ["orders", "returns"].map((id) => pipelineText({ id }));
  await repository.commit({ "pipelines/orders.yaml": orders!, "pipelines/returns.yaml": returns! });
});

afterEach(() => rm(repository.path, { recursive: true, force: true }));

const at = (path: string): string => join(repository.path, "pipelines", path);

async function problems(...argv: string[]): Promise<{ code: number; found: Partial<Problem>[] }> {
  const { code, out } = await runCommand(["validate", at(""), "--format", "json", "--base", "main", ...argv]);
  const { problems: all } = JSON.parse(out) as { problems: Problem[] };
  return {
    code,
    found: all.map(({ code: name, severity, line, message }) => ({ code: name, severity, line, message })),
  };
}

describe("sluice validate --base", () => {
  test("says nothing where all pipelines are in their files", async () => {
    expect(await problems()).toEqual({ code: 0, found: [] });
  });

  test("warns of a pipeline that is in another file, which plan notes too", async () => {
    await mkdir(at("shop"));
    await rename(at("orders.yaml"), at("shop/orders.yaml"));
    const { code, found } = await problems();
    expect(code).toBe(0);
    expect(found).toMatchObject([{ code: "FILE_MOVED", severity: "warning", line: 2 }]);
    expect(found[0]?.message).toBe(
      `pipeline_id: expected orders in ${at("orders.yaml")}, as before, got it in ${at("shop/orders.yaml")}`,
    );
    const { out } = await runCommand(["plan", repository.path, "--base", "main"]);
    expect(out).toContain("orders moves from pipelines/orders.yaml to pipelines/shop/orders.yaml, and runs on");
  });

  test("warns of a file whose pipeline has another id, which plan refuses too", async () => {
    await writeFile(at("orders.yaml"), pipelineText({ id: "purchases" }));
    const { code, found } = await problems();
    expect(code).toBe(0);
    expect(found).toMatchObject([{ code: "ID_CHANGED", severity: "warning", line: 2 }]);
    expect(found[0]?.message).toBe(
      "pipeline_id: expected orders, which the file had before, or x-sluice.moved_from: pipeline_id cannot change by itself, got purchases, which is refused while orders runs on",
    );
    const { out } = await runCommand(["plan", repository.path, "--base", "main"]);
    expect(out).toContain("purchases: refused (IdChanged)");
    await writeFile(at("orders.yaml"), pipelineText({ id: "purchases", sluice: ["moved_from: orders"] }));
    expect((await problems()).found).toEqual([]);
  });

  test("two files that exchange their pipelines have moved; an id in a file with an error is not gone", async () => {
    await writeFile(at("orders.yaml"), pipelineText({ id: "returns" }));
    await writeFile(at("returns.yaml"), pipelineText({ id: "orders" }));
    expect((await problems()).found.map(({ code }) => code)).toEqual(["FILE_MOVED", "FILE_MOVED"]);
    await writeFile(at("returns.yaml"), pipelineText({ id: "orders" }).replace("type: clickhouse", "type: other"));
    expect((await problems()).found.map(({ code }) => code)).not.toContain("ID_CHANGED");
  });

  test("needs a folder in a repository, and a base that is there", async () => {
    const file = await runCommand(["validate", at("orders.yaml"), "--base", "main"]);
    expect(file).toMatchObject({ code: 1, err: expect.stringContaining("--base: expected folders, found the file") });
    const base = await runCommand(["validate", at(""), "--base", "none"]);
    expect(base).toMatchObject({ code: 1, err: expect.stringContaining("found none that is called none") });
  });
});

const password = (reference: string): string =>
  pipelineText({ id: "orders" }).replace(
    /connection_params:[^]*?(?=\n {2}\w)/,
    `connection_params: { host: ch, port: "9000", database: d, username: u, password: "${reference}" }`,
  );

describe("with a base, warnings", () => {
  test("that it has as well are counted alone, and new ones are told, of a secret that is allowed too", async () => {
    await writeFile(at("orders.yaml"), password("${env:CH_PASSWORD}"));
    await repository.git("commit", "--quiet", "--all", "--message", "A secret");
    const before = await runCommand(["validate", at(""), "--base", "main"]);
    expect(before.out).toBe("2 files checked: 0 errors, 0 warnings; 2 that main has as well are left out");
    await writeFile(at("orders.yaml"), `# moved\n${password("${env:SLUICE_SECRET_CH}")}`);
    const { found } = await problems();
    expect(found).toMatchObject([{ code: "SECRET_USED", severity: "warning" }]);
    expect(found[0]?.message).toMatch(
      /password: expected no secret that orders does not get at the base, got \$\{env:SLUICE_SECRET_CH\} towards /,
    );
    const moved = password("${env:SLUICE_SECRET_CH}").replace(": orders", ": sales");
    await repository.git("commit", "--quiet", "--all", "--message", "Another secret");
    await writeFile(at("orders.yaml"), `${moved}x-sluice: { moved_from: orders }\n`);
    expect((await problems()).found).toEqual([]);
    await writeFile(at("orders.yaml"), password("${env:SLUICE_SECRET_CH}"));
    await writeFile(at("orders.yaml"), password("${env:OTHER}"));
    expect((await problems()).found).toMatchObject([{ code: "SECRET_REFUSED" }]);
  });
});
