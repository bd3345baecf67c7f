import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { load } from "js-yaml";
import { Registry } from "prom-client";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { commands } from "../../../reconciler/cli/commands.ts";
import { controlApi } from "../../../reconciler/cli/control/routes.ts";
import { type ControlServer, listenControl } from "../../../reconciler/cli/control/server.ts";
import { examples } from "../../../reconciler/cli/examples.ts";
import { codesOf, exitCodes } from "../../../reconciler/cli/invocation/exit-codes.ts";
import { settingsOf } from "../../../reconciler/cli/invocation/settings-table.ts";
import { main } from "../../../reconciler/cli/main.ts";
import type { ReconcileAnswer } from "../../../reconciler/status/reconcile-request.ts";
import { sluice as built } from "../../support/daemon.ts";
import type { LivePipeline } from "../../../reconciler/preview/live-state.ts";
import { defaultOptions, normalise, type PipelineV3 } from "../../../schemas/index.ts";
import { GitHost, ownAccount, token } from "../../support/git-host.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { v2Text } from "../../support/version-2.ts";
import { actual, history, info, restingEngine, snapshot, unaskedOperator, view } from "../api/sample.ts";

const escape = String.fromCodePoint(27);
const hold = { since: "2026-01-01T00:00:00.000Z", by: "ada", until: "2026-01-01T01:00:00.000Z" };

const live: LivePipeline = {
  pipeline_id: "orders",
  config: normalise(load(pipelineText({ id: "orders" })) as PipelineV3),
  options: defaultOptions,
  status: "Running",
  held: 0,
  pending_batches: 0,
  dead_letters: 0,
};

let folder: string;
let repository: GitRepository;
let host: GitHost;
let daemon: ControlServer;

/** What the operator has stopped within a test. */
let isStopped = false;

/** An operator who does at once what is asked, and a turn that finds everything as the files say. */
const operator = {
  ...unaskedOperator,
  reconcile: () => "2026-01-01T00:00:00.000Z",
  answerTo: (requested_at: string): ReconcileAnswer => {
    return { requested_at, state: "ended", result: "success", documents: 1, under_way: [], open: [], problems: [] };
  },
  suspend: async () => ({ hold, under_way: [] }),
  stop: async () => ((isStopped = true), { pipeline_id: "orders", hold, under_way: [] }),
  resume: async () => ({ hold, under_way: [] }),
  approve: async () => ({ from: "a".repeat(40), to: "b".repeat(40) }),
  rollBack: async () => ({ revision: "r", commit: "c", head: "h", plan: "no changes", changes: [] }),
};

/** Commands read it, and none writes to it. */
beforeAll(async () => {
  repository = await GitRepository.create();
  await repository.commit({
    "pipelines/orders.yaml": pipelineText({ id: "orders" }),
    "pipelines/orders.test.yaml": "tests:\n  - { name: nothing comes, events: [] }\n",
  });
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-manners-"));
  await writeFile(join(folder, "v2.yaml"), v2Text("orders-eu"));
  await writeFile(join(folder, "plan.md"), "<!-- sluice-plan -->\n\nNothing changes.\n");
  await writeFile(join(folder, "event.json"), JSON.stringify({ pull_request: { number: 12 } }));
  host = await GitHost.start({ kind: "github", number: 12 });
  host.add("<!-- sluice-plan -->\n\nNothing changes.\n", ownAccount);
  const engine = {
    ...restingEngine([view()]),
    list: () => [isStopped ? { ...view(), status: "Stopped" as const } : view()],
    tokens: {
      show: () => ({ created_at: hold.since, last_used_at: null, brought: false }),
      rotate: async () => "a-token",
    },
    rewind: async () => ({ pipeline_id: "orders", partitions: [], events: 1 }),
    rewindPlan: async () => ({ pipeline_id: "orders", partitions: [], events: 1 }),
    reprocess: async () => ({ request_id: "1", status: "accepted" as const, accepted_count: 1, unknown: [] }),
    sample: async () => ({ events: [], left_out: 0 }),
    sql: async (_query: string, format?: string) =>
      format === "JSON" ? '{\n\t"rows": 18446744073709551615\n}\n' : "1\n",
    deadLetters: () => ({
      ...restingEngine([view()]).deadLetters("orders"),
      consume: async () => [],
      purge: async () => 2,
      discard: async () => ({ discarded_count: 1, unknown: [] }),
    }),
  };
  const reconciler = {
    snapshot: () => snapshot("ended"),
    history,
    actual: () => ({ ...actual(), pipelines: [live] }),
    operator,
  };
  daemon = await listenControl(folder, controlApi({ engine, reconciler, registry: new Registry(), info: () => info }));
});

afterEach(() => {
  isStopped = false;
});

afterEach(() => rm(join(folder, "new"), { recursive: true, force: true }));

afterAll(async () => {
  await daemon.close();
  await host.stop();
  await rm(folder, { recursive: true, force: true });
  await repository.remove();
});

interface Printed {
  code: number;
  out: string;
  err: string;
}

async function sluice(
  argv: readonly string[],
  env: Record<string, string> = {},
  isInteractive = false,
): Promise<Printed> {
  const printed = { out: [] as string[], err: [] as string[] };
  const terminal = {
    out: (text: string) => void printed.out.push(text),
    err: (text: string) => void printed.err.push(text),
    progress: () => undefined,
    isInteractive,
  };
  const job = { ...host.env(join(folder, "event.json")), GITHUB_TOKEN: token };
  const given = { PATH: process.env["PATH"]!, SLUICE_DATA_DIR: folder, ...job, ...env };
  // Tests that are stopped do not pass.
  const untilStopped = (): AbortSignal => (argv[0] === "test" ? new AbortController().signal : AbortSignal.abort());
  const code = await main([...argv], { terminal, env: given, untilStopped });
  return { code, out: printed.out.join("\n"), err: printed.err.join("\n") };
}

/** Arguments with which each command has something to print. Those of `run`, which goes on, are none. */
const succeeding: Readonly<Record<string, () => string[]>> = {
  validate: () => [repository.path],
  test: () => [repository.path, "--base", "main"],
  plan: () => [repository.path, "--base", "main"],
  comment: () => [join(folder, "plan.md")],
  schema: () => [],
  migrate: () => [join(folder, "v2.yaml")],
  import: () => ["--from", join(repository.path, "pipelines/orders.yaml"), "--into", join(folder, "new")],
  export: () => [join(folder, "new")],
  init: () => [join(folder, "new")],
  get: () => [],
  health: () => [],
  info: () => [],
  reconcile: () => [],
  suspend: () => [],
  stop: () => ["orders"],
  terminate: () => ["orders"],
  resume: () => [],
  approve: () => [],
  rollback: () => ["0123456"],
  rewind: () => ["orders", "--to", "earliest"],
  history: () => [],
  "dlq state": () => ["orders"],
  "dlq list": () => ["orders"],
  "dlq consume": () => ["orders"],
  "dlq purge": () => ["orders"],
  "dlq discard": () => ["orders", "1"],
  "dlq reprocess": () => ["orders", "1"],
  sample: () => ["orders"],
  "token show": () => ["orders"],
  "token rotate": () => ["orders"],
  sql: () => ["SELECT 1"],
  completion: () => ["bash"],
};

/** Arguments with which each command fails, where a wrong option is not what it should be tried with. */
const failing: Readonly<Record<string, () => string[]>> = {
  run: () => [],
  validate: () => [join(folder, "none")],
  test: () => [join(folder, "none")],
  plan: () => [repository.path, "--base", "none"],
  comment: () => [join(folder, "none.md")],
  migrate: () => [join(folder, "none.yaml")],
  import: () => ["--from", join(folder, "none.yaml")],
  init: () => [join(folder, "v2.yaml")],
  stop: () => ["orders", "--for", "soon"],
  terminate: () => ["orders", "--for", "soon"],
  completion: () => ["tcsh"],
};

/** Each run of `sluice test` starts a ClickHouse. */
const unlessCostly = (name: string): { tags?: string[] } => (name === "test" ? { tags: ["rest"] } : {});

const withoutDaemon = (): Record<string, string> => ({ SLUICE_DATA_DIR: join(folder, "nobody") });

const names = commands.map(({ name }) => name);
const printing = names.filter((name) => name !== "run");
const withOutput = printing.filter((name) => settingsOf(name).some((setting) => setting.name === "output"));

test("the table of this test has every command", () => {
  expect(Object.keys(succeeding).toSorted()).toEqual(printing.toSorted());
});

describe.each(printing)("sluice %s", (name) => {
  const line = (): string[] => [...name.split(" "), ...succeeding[name]!()];

  test("prints its data on standard output, without a colour in a pipe, and ends with 0", async () => {
    const { code, out, err } = await sluice(line());
    expect(code).toBe(0);
    expect(out).not.toBe("");
    if (name !== "completion") expect(out + err).not.toContain(escape);
  });

  test("prints no colour on a terminal with NO_COLOR", unlessCostly(name), async () => {
    const { out, err } = await sluice(line(), { NO_COLOR: "1" }, true);
    if (name !== "completion") expect(out + err).not.toContain(escape);
  });
});

describe.each(names)("sluice %s that fails", (name) => {
  test("says why on standard error, prints nothing on standard output, and ends with 1", async () => {
    const given = failing[name]?.() ?? (name === "schema" ? ["too-many"] : succeeding[name]!());
    const env = failing[name] === undefined ? withoutDaemon() : {};
    const { code, out, err } = await sluice([...name.split(" "), ...given], env);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^(sluice|error): \S/);
    expect(err).not.toMatch(/\n {4}at /);
  });
});

describe.each(withOutput)("sluice %s as a document", (name) => {
  test("is the same in JSON and in YAML", unlessCostly(name), async () => {
    const line = (): string[] => [...name.split(" "), ...succeeding[name]!()];
    const json = await sluice([...line(), "--output", "json"]);
    await rm(join(folder, "new"), { recursive: true, force: true });
    const yaml = await sluice([...line(), "--output", "yaml"]);
    expect([json.code, yaml.code]).toEqual([0, 0]);
    expect(JSON.parse(json.out)).toBeTypeOf("object");
    expect(withoutRequest(load(yaml.out))).toEqual(withoutRequest(JSON.parse(json.out)));
    if (name !== "sql") expect(yaml.out).not.toMatch(/^[{\t]/m);
    expect(yaml.out).not.toContain("\t");
  });
});

/** Each request has an id of its own. */
function withoutRequest(document: unknown): unknown {
  return Array.isArray(document) ? document : { ...(document as object), request_id: undefined };
}

test("every command but run, which has --log-format, and completion, whose data is a script, has --output", () => {
  expect(printing.filter((name) => !withOutput.includes(name))).toEqual(["completion"]);
});

test("--format wins over --output, which may come from the environment", async () => {
  const line = ["plan", repository.path, "--base", "main"];
  expect((await sluice(line, { SLUICE_OUTPUT: "json" })).out).toMatch(/^\{/);
  expect((await sluice([...line, "--format", "markdown"], { SLUICE_OUTPUT: "json" })).out).toMatch(/^<!--/);
  expect((await sluice([...line, "--format", "yaml"])).out).toMatch(/^version: 1$/m);
  expect((await sluice(["validate", repository.path, "--format", "yaml"])).out).toMatch(/^files: 1$/m);
});

describe("help", () => {
  test.each(names)("of %s has examples and its exit codes", async (name) => {
    const { code, out, err } = await sluice([...name.split(" "), "--help"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^Usage: sluice /);
    expect(examples[name]?.length ?? 0).toBeGreaterThan(0);
    for (const line of examples[name]!) expect(out).toContain(`  ${line}`);
    for (const exit of codesOf(name)) expect(out).toContain(`  ${exit}  ${exitCodes[exit]}`);
    expect((await sluice(["help", ...name.split(" ")])).out).toBe(out);
  });

  test("has no examples of commands that are none", () => {
    expect(Object.keys(examples).filter((name) => !names.includes(name))).toEqual([]);
  });

  const lines = Object.entries(examples).flatMap(([name, all]) => all.map((line): [string, string] => [line, name]));
  test.each(lines)("shows options that are there: %s", (line, name) => {
    const flags = line.match(/ --[a-z-]+/g)?.map((flag) => flag.trim()) ?? [];
    const known = settingsOf(name).map(({ flag }) => flag);
    expect(line).toContain(`sluice ${name}`);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });

  test("exit-codes is the table, which the help of sluice also has", async () => {
    const { code, out } = await sluice(["help", "exit-codes"]);
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => Number(line.trim().split(" ", 1)[0]))).toEqual(
      Object.keys(exitCodes).map(Number),
    );
    expect((await sluice(["--help"])).out).toContain(out);
  });

  test("of what is no command is an error", async () => {
    const { code, out, err } = await sluice(["help", "rum"]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toBe('sluice: help: expected a command or exit-codes, found "rum": sluice help lists the commands');
  });
});

describe("exit codes", () => {
  test("that the commands use are in the table", async () => {
    const paths = (await readdir("reconciler/cli", { recursive: true })).filter((path) => path.endsWith(".ts"));
    const texts = await Promise.all(paths.map((path) => readFile(join("reconciler/cli", path), "utf8")));
    const used = texts.flatMap((text) =>
      [...text.matchAll(/(?:exitCode: |exitCode = |process\.exit\(|code: ExitCode = |code = )(\d+)/g)].map(
        ([, digits]) => Number(digits),
      ),
    );
    expect(used.length).toBeGreaterThan(3);
    expect(used.filter((code) => !(code in exitCodes))).toEqual([]);
  });

  test("are in the docs, with the same words", async () => {
    const page = await readFile("docs/reference/commands.md", "utf8");
    for (const [code, meaning] of Object.entries(exitCodes))
      expect(page.replaceAll(/ +/g, " ")).toContain(`| ${code} | ${meaning} |`);
  });
});

describe("--wait", () => {
  test.each(["suspend", "stop", "resume", "approve", "rollback"])("of %s says what the turn found", async (name) => {
    const { code, out } = await sluice([name, ...succeeding[name]!(), "--wait", "--output", "json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ reconcile: { state: "ended", result: "success" } });
  });

  test("excludes --dry-run", async () => {
    const { code, err } = await sluice(["rollback", "0123456", "--dry-run", "--wait"]);
    expect([code, err]).toEqual([1, expect.stringContaining("--dry-run and --wait exclude each other")]);
  });
});

describe("get --watch", () => {
  test("prints a document for each row", async () => {
    const { out } = await sluice(["get", "--watch", "--output", "json"]);
    expect(out.split("\n").map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(["source", "orders"]);
    const yaml = await sluice(["get", "--watch", "--output", "yaml"]);
    expect(yaml.out.match(/^---$/gm)).toHaveLength(2);
  });

  test("ends by itself after --timeout, with 0", { tags: ["rest"] }, async () => {
    const argv = [built, "get", "--watch", "--timeout", "1s", "--data-dir", folder];
    const { stdout } = await promisify(execFile)(process.execPath, argv);
    expect(stdout).toMatch(/^orders /m);
  });
});

test("ids for completion are those of the daemon, and none where there is none", async () => {
  expect(await sluice(["__pipeline-ids"])).toEqual({ code: 0, out: "orders", err: "" });
  expect(await sluice(["__pipeline-ids"], withoutDaemon())).toEqual({ code: 0, out: "", err: "" });
});
