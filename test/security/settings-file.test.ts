import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { main } from "../../reconciler/cli/main.ts";
import { pipelineText } from "../support/pipeline-text.ts";

/** A repository in which the operator merely stands sets nothing (docs/security.md, The settings file). */

const start = process.cwd();
let outside: string;
let tree: string;

beforeEach(async () => {
  outside = await realpath(await mkdtemp(join(tmpdir(), "sluice-settings-")));
  tree = join(outside, "checkout");
  await mkdir(join(tree, "below"), { recursive: true });
  await mkdir(join(tree, ".git"));
});

afterEach(async () => {
  process.chdir(start);
  await rm(outside, { recursive: true, force: true });
});

async function sluiceIn(folder: string, argv: string[], env = {}): Promise<{ code: number; out: string; err: string }> {
  process.chdir(folder);
  const printed = { out: [] as string[], err: [] as string[] };
  const terminal = { out: (text: string) => printed.out.push(text), err: (text: string) => printed.err.push(text) };
  const code = await main(argv, { terminal, env, untilStopped: () => AbortSignal.abort() });
  return { code, out: printed.out.join("\n"), err: printed.err.join("\n") };
}

const attack = 'references: { "${env:*}": "*" }\napi: 0.0.0.0:9\ndir: nowhere\ndata_dir: of-mallory\n';

test.each(["", "below"])("sluice.yaml of a checkout is not read by sluice run, in it and below: %j", async (below) => {
  const folder = join(tree, below);
  await writeFile(join(folder, "sluice.yaml"), attack);
  const { code, err } = await sluiceIn(folder, ["run"]);
  expect(code).toBe(1);
  expect(err.split("\n")).toEqual([
    `sluice: sluice.yaml is not read: it is in the Git work tree ${tree}, and may come from anyone who may push to it. If you trust it, name it: --config sluice.yaml`,
    "sluice: expected --repo URL|PATH or --dir PATH: where are the pipelines?",
  ]);
});

test("neither does it lead the operator's commands to another daemon", async () => {
  await writeFile(join(tree, "sluice.yaml"), attack);
  const { code, err } = await sluiceIn(tree, ["get"]);
  expect(code).toBe(1);
  expect(err).toContain("sluice.yaml is not read");
  expect(err).toContain(".sluice");
  expect(err).not.toContain("of-mallory");
});

test("a line says so only where the command takes one of its settings", async () => {
  await writeFile(join(tree, "sluice.yaml"), "vars: { A: b }\n");
  expect((await sluiceIn(tree, ["get"])).err).not.toContain("is not read");
  await writeFile(join(tree, "sluice.yaml"), "[");
  expect((await sluiceIn(tree, ["get"])).err).toContain("is not read");
});

test.each<[string, string[], Record<string, string>]>([
  ["--config", ["--config", "sluice.yaml"], {}],
  ["SLUICE_CONFIG", [], { SLUICE_CONFIG: "sluice.yaml" }],
])("it is read where %s names it", async (_, args, env) => {
  await writeFile(join(tree, "sluice.yaml"), "data_dir: mine\n");
  const { err } = await sluiceIn(tree, [...args, "get"], env);
  expect(err).toContain("mine");
  expect(err).not.toContain("is not read");
});

test("outside of a work tree it is read as before", async () => {
  await writeFile(join(outside, "sluice.yaml"), "data_dir: mine\n");
  expect((await sluiceIn(outside, ["get"])).err).toContain("mine");
});

test("sluice validate takes from a checkout neither that servers are asked, nor which secrets they get, nor its format", async () => {
  const password = "${env:CANARY}";
  const text = pipelineText({ id: "orders" }).replace(
    /connection_params:[^]*?(?=\n {2}\w)/,
    `connection_params: { host: 127.0.0.1, port: "9", http_port: "9", database: d, username: u, password: "${password}" }`,
  );
  await writeFile(join(tree, "orders.yaml"), text);
  const settings =
    'validate_resolve: true\nvalidate_format: json\nreferences: { "${env:*}": "*" }\nprivate_targets: true\n';
  await writeFile(join(tree, "sluice.yaml"), settings);
  const { code, out } = await sluiceIn(tree, ["validate", "orders.yaml"]);
  expect(code).toBe(0);
  expect(out).toContain("1 file checked");
  expect(out).not.toMatch(/UNREACHABLE|NOT_READY/);
});

test("sluice validate takes the variables of a checkout, and none of a file outside of it", async () => {
  const text = pipelineText({ id: "orders" }).replace(/^version: v3$/m, "version: v3\nname: ${var:NAME}");
  await writeFile(join(tree, "orders.yaml"), text);
  await writeFile(join(tree, "sluice.yaml"), "vars: { NAME: Orders }\n");
  expect(await sluiceIn(tree, ["validate", "orders.yaml"])).toMatchObject({ code: 0, err: "" });
  await writeFile(join(tree, "vars.yaml"), "NAME: Orders\n");
  await writeFile(join(tree, "sluice.yaml"), "vars_file: vars.yaml\n");
  expect(await sluiceIn(tree, ["validate", "orders.yaml"])).toMatchObject({ code: 0, err: "" });
  await writeFile(join(outside, "secrets.yaml"), "NAME: c4n4ry\n");
  await writeFile(join(tree, "sluice.yaml"), "vars_file: ../secrets.yaml\n");
  const refused = await sluiceIn(tree, ["validate", "orders.yaml"]);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("sluice.yaml:1:12: vars_file: expected a file in the Git work tree");
  expect(refused.out + refused.err).not.toContain("c4n4ry");
});

test.each<[string, string, string[]]>([
  ["sluice.yaml", "sluice.yaml", []],
  ["the file of --vars", "vars.yaml", ["--vars", "vars.yaml"]],
])("%s of a checkout is not read where it is a link out of it", async (_what, link, args) => {
  const text = pipelineText({ id: "orders" }).replace(/^version: v3$/m, "version: v3\nname: ${var:NAME}");
  await writeFile(join(tree, "orders.yaml"), text);
  await writeFile(join(outside, "private.yaml"), "vars: { NAME: c4n4ry }\nNAME: c4n4ry\n");
  await symlink("../private.yaml", join(tree, link));
  const { code, out, err } = await sluiceIn(tree, ["validate", "orders.yaml", ...args]);
  expect(code).toBe(1);
  expect(err).toContain(`expected a file in the Git work tree ${tree}, found a link out of it`);
  expect(out + err).not.toContain("c4n4ry");
});

test("a file of variables that never ends is refused, and not read whole", async () => {
  await writeFile(join(outside, "orders.yaml"), pipelineText({ id: "orders" }));
  const { code, err } = await sluiceIn(outside, ["validate", "orders.yaml", "--vars", "/dev/zero"]);
  expect([code, err]).toEqual([1, "sluice: /dev/zero: a variables file has at most 65536 bytes"]);
});
