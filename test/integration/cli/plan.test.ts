import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import { Trials } from "../../../reconciler/pipeline-tests/trials.ts";
import type { PlanReport } from "../../../reconciler/preview/report.ts";
import { type Printed, runCommand } from "../../support/command.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

const orders = pipelineText({ id: "orders" });
const returns = pipelineText({ id: "returns" });
const filtered = pipelineText({ id: "orders", expression: "id > 1" });
const refused = orders.replace(/$/, "resources: { nats: { stream: { max_age: 48h } } }\n");

let repository: GitRepository;

beforeEach(async () => {
  repository = await GitRepository.create();
  await repository.commit({ "pipelines/orders.yaml": orders, "pipelines/returns.yaml": returns });
});

afterEach(async () => {
  await rm(repository.path, { recursive: true, force: true });
});

function sluiceWith(
  options: { env?: Record<string, string>; isInteractive?: boolean },
  ...argv: string[]
): Promise<Printed> {
  return runCommand(argv, options);
}

/** `sluice plan` on the repository, with these arguments. */
const plan = (...argv: string[]): Promise<Printed> => sluiceWith({}, "plan", repository.path, ...argv);

async function report(...argv: string[]): Promise<PlanReport> {
  const { out } = await plan("--format", "json", ...argv);
  return JSON.parse(out) as PlanReport;
}

/** What is done with each pipeline. */
async function kinds(...argv: string[]): Promise<Record<string, string>> {
  const { changes } = await report(...argv);
  return Object.fromEntries(changes.map(({ pipeline_id, kind }) => [pipeline_id, kind]));
}

async function put(path: string, text: string): Promise<void> {
  const file = join(repository.path, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

describe("the exit code", () => {
  test("is 0 where nothing changes", async () => {
    const { code, out, err } = await plan("--base", "main");
    const commit = await repository.head();
    expect([code, out, err]).toEqual([0, `main (${commit.slice(0, 12)}) to the files as they are: 2 unchanged`, ""]);
  });

  test("is 2 where something changes, and 1 where that is as grave as --fail-on", async () => {
    await put("pipelines/orders.yaml", filtered);
    expect((await plan("--base", "main")).code).toBe(2);
    expect((await plan("--base", "main", "--fail-on", "forget")).code).toBe(2);
    expect((await plan("--base", "main", "--fail-on", "rows")).code).toBe(1);
    expect((await plan("--base", "main", "--fail-on", "restart")).code).toBe(1);
  });

  test.each([
    ["--fail-on rows", "rows", pipelineText({ id: "orders", max_batch_size: 5 }), 2],
    [
      "--fail-on forget where events may be lost",
      "forget",
      pipelineText({ id: "orders", sluice: ["on_lost: skip"] }),
      1,
    ],
  ])("is of what becomes of events: %s", async (_, level, text, expected) => {
    await put("pipelines/orders.yaml", text);
    expect((await plan("--base", "main", "--fail-on", level)).code).toBe(expected);
  });

  test.each([
    ["a refused change", "pipelines/orders.yaml", refused],
    ["a file with a mistake", "pipelines/orders.yaml", "version: v3\npipeline_id: ["],
    ["a new file with a mistake", "pipelines/new.yaml", "version: v3\npipeline_id: ["],
  ])("is 1 for %s, unless nothing is to fail", async (_, path, text) => {
    await put(path, text);
    expect((await plan("--base", "main")).code).toBe(1);
    expect((await plan("--base", "main", "--fail-on", "none")).code).toBe(2);
  });

  test("is 1 for more deletions than --max-deletions", async () => {
    await rm(join(repository.path, "pipelines/orders.yaml"));
    expect((await plan("--base", "main")).code).toBe(2);
    expect((await plan("--base", "main", "--max-deletions", "0")).code).toBe(1);
  });
});

/** The files of variables of two environments. */
function environments(): string[] {
  return ["staging", "production"].flatMap((name) => ["--vars", join(repository.path, `${name}.yml`)]);
}

/** A pipeline whose password is this reference. */
const asking = (reference: string, id = "orders"): string =>
  pipelineText({ id, connection: [`password: "${reference}"`] });

async function warnings(...argv: string[]): Promise<string[]> {
  const { changes } = await report("--base", "main", ...argv);
  return changes.flatMap((one) => one.warnings.map(({ code, text }) => `${one.pipeline_id} ${code}: ${text}`));
}

describe("a secret", () => {
  test("that is new to a pipeline is a warning, and one of its own where the operator does not allow it", async () => {
    await put("pipelines/orders.yaml", asking("${env:CH_PASSWORD}"));
    await put("pipelines/refunds.yaml", asking("${env:SLUICE_SECRET_CH}", "refunds"));
    const added = "refunds SecretAdded: it gets the secret ${env:SLUICE_SECRET_CH}";
    const refusal = "orders SecretRefused: it asks for the secret ${env:CH_PASSWORD} towards embedded, ";
    const way = 'it is refused unless "${env:CH_PASSWORD}": "orders towards embedded" is a line under references';
    expect(await warnings()).toEqual([
      `${refusal}which operators do not allow by default (\${env:SLUICE_SECRET_*}, or a file of the folder secrets): ${way}`,
      `${added} towards embedded, which it did not get before`,
    ]);
    expect(await warnings("--reference", "${env:CH_*}=refunds")).toEqual([
      `${refusal}which the references of the operator do not allow: ${way}`,
      'refunds SecretRefused: it asks for the secret ${env:SLUICE_SECRET_CH} towards embedded, which the references of the operator do not allow: it is refused unless "${env:SLUICE_SECRET_CH}": "refunds towards embedded" is a line under references',
    ]);
    expect(await warnings("--reference", "${env:*}=*")).toEqual([
      "orders SecretAdded: it gets the secret ${env:CH_PASSWORD} towards embedded, which it did not get before",
      `${added} towards embedded, which it did not get before`,
    ]);
    const { out } = await plan("--base", "main");
    expect(out).toContain("    warning: it asks for the secret ${env:CH_PASSWORD} towards embedded, which operators");
  });

  test("that the base has as well is none, until it goes to another host", async () => {
    await put("pipelines/orders.yaml", asking("${env:CH_PASSWORD}"));
    await repository.commit({}, "A secret");
    await put("pipelines/orders.yaml", `${asking("${env:CH_PASSWORD}")}name: All orders\n`);
    expect((await report("--base", "main")).changes).toMatchObject([{ pipeline_id: "orders", warnings: [] }]);
    const elsewhere = 'host: evil.example\n    port: "8123"\n    username: u';
    await put("pipelines/orders.yaml", asking("${env:CH_PASSWORD}").replace("host: embedded", elsewhere));
    expect(await warnings()).toEqual([expect.stringContaining("${env:CH_PASSWORD} towards evil.example")]);
  });
});

describe("the head", () => {
  test("is the work tree: edited, new, removed and staged files count, and ignored ones do not", async () => {
    await repository.commit({ ".gitignore": "build/\n", "pipelines/legacy.yaml": pipelineText({ id: "legacy" }) });
    await put("pipelines/orders.yaml", filtered);
    await put("pipelines/refunds.yaml", pipelineText({ id: "refunds" }));
    await put("pipelines/staged.yaml", pipelineText({ id: "staged" }));
    await repository.git("add", "pipelines/staged.yaml");
    await put("build/copy.yaml", orders);
    await rm(join(repository.path, "pipelines/legacy.yaml"));
    const found = { orders: "update", refunds: "create", staged: "create", legacy: "delete" };
    expect(await kinds("--base", "HEAD")).toEqual(found);
  });

  test("is the commit that --head names", async () => {
    await repository.git("checkout", "--quiet", "-b", "change");
    await repository.commit({ "pipelines/orders.yaml": filtered });
    await put("pipelines/returns.yaml", "broken: [");
    const { head, changes } = await report("--base", "main", "--head", "change");
    expect(head).toEqual({ name: "change", commit: await repository.head() });
    expect(changes).toMatchObject([{ pipeline_id: "orders", kind: "update", file: "pipelines/orders.yaml" }]);
  });

  test("that is older than the base is a way back", { tags: ["rest"] }, async () => {
    const old = await repository.head();
    await repository.commit({ "pipelines/orders.yaml": filtered });
    expect(await kinds("--base", "main", "--head", old)).toEqual({ orders: "update" });
  });

  test("holds only its own changes where the base went on", { tags: ["rest"] }, async () => {
    await repository.git("checkout", "--quiet", "-b", "change");
    await repository.git("checkout", "--quiet", "main");
    await repository.commit({ "pipelines/refunds.yaml": pipelineText({ id: "refunds" }) });
    await repository.git("checkout", "--quiet", "change");
    await put("pipelines/orders.yaml", filtered);
    expect(await kinds("--base", "main")).toEqual({ orders: "update" });
  });
});

describe("the base", () => {
  test("may be a branch of origin alone, as in CI", async () => {
    await repository.git("update-ref", "refs/remotes/origin/stable", "HEAD");
    await put("pipelines/orders.yaml", filtered);
    expect(await kinds("--base", "stable")).toEqual({ orders: "update" });
  });

  test("that has nothing in common with the change is compared as it is, with a warning", async () => {
    await repository.git("branch", "stable");
    await repository.replaceHistory({ "pipelines/orders.yaml": filtered, "pipelines/returns.yaml": returns });
    const { code, out, err } = await plan("--base", "stable");
    expect([code, out]).toEqual([2, expect.stringContaining("~ orders: update (rows)")]);
    expect(err).toMatch(
      /^sluice: the clone has no commit that stable and the change have in common, so stable is compared as it is now/,
    );
  });

  test("that is not in the clone is named, with the way to have it", async () => {
    const { code, err } = await plan("--base", "nowhere");
    expect(code).toBe(1);
    expect(err).toMatch(
      /^sluice: expected a branch, tag or commit of the clone .*, found none that is called nowhere: fetch it, in CI with the whole history \(fetch-depth: 0\)$/,
    );
  });

  test("is never an option of git", { tags: ["rest"] }, async () => {
    const { code, err } = await plan("--base=--all");
    expect([code, err]).toEqual([1, expect.stringContaining("found none that is called --all")]);
  });

  test("is needed", async () => {
    const { code, err } = await plan();
    expect([code, err]).toEqual([1, "sluice: expected --base REF: the branch into which the change is to be merged"]);
  });
});

describe("the files", () => {
  test("are those of the folder that is named, with their paths from the top", async () => {
    await repository.commit({ "other/orders.yaml": orders });
    await put("pipelines/orders.yaml", filtered);
    const { out } = await sluiceWith(
      {},
      "plan",
      join(repository.path, "pipelines"),
      "--base",
      "main",
      "--format",
      "json",
    );
    expect((JSON.parse(out) as PlanReport).changes).toMatchObject([{ file: "pipelines/orders.yaml", kind: "update" }]);
  });

  test("may be in a folder whose name looks like a pattern", { tags: ["rest"] }, async () => {
    await repository.commit({ ":(top) [p]*/orders.yaml": orders.replaceAll("orders", "others"), "p/x.yaml": "a: [" });
    await put(":(top) [p]*/orders.yaml", filtered.replaceAll("orders", "others"));
    const folder = join(repository.path, ":(top) [p]*");
    const { out } = await sluiceWith({}, "plan", folder, "--base", "main", "--format", "json");
    expect(JSON.parse(out)).toMatchObject({ changes: [{ pipeline_id: "others", kind: "update" }], errors: [] });
  });

  test("leave out what .sluiceignore of each side names", async () => {
    await put("pipelines/.sluiceignore", "drafts/\n");
    await put("pipelines/drafts/new.yaml", "version: v3\npipeline_id: [");
    expect((await plan("--base", "main")).code).toBe(0);
  });

  describe("that Git knows as unchanged", () => {
    const encoded = "pipelines/*.yaml working-tree-encoding=UTF-16LE eol=lf\n";
    const filter = ["filter.mark.clean=sed s/^#//", "filter.mark.smudge=sed s/^/#/"];

    test("are unchanged where a sparse checkout, or skip-worktree, has left them out", async () => {
      await repository.git("sparse-checkout", "set", "--no-cone", "pipelines/orders.yaml");
      expect((await plan("--base", "main")).out).toContain("2 unchanged");
      await repository.git("sparse-checkout", "set", "elsewhere");
      const folder = join(repository.path, "pipelines");
      expect(existsSync(folder)).toBe(false);
      expect((await sluiceWith({}, "plan", folder, "--base", "main")).out).toContain("2 unchanged");
      await repository.git("sparse-checkout", "disable");
      await repository.git("update-index", "--skip-worktree", "pipelines/orders.yaml");
      await rm(join(repository.path, "pipelines/orders.yaml"));
      expect((await plan("--base", "main")).out).toContain("2 unchanged");
    });

    test("are unchanged in another encoding, and an edit of them is read as it will be committed", async () => {
      await repository.commit({ ".gitattributes": encoded });
      await repository.git("rm", "--quiet", "--cached", "-r", "pipelines");
      for (const [path, text] of [
        ["orders", orders],
        ["returns", returns],
      ] as const)
        await writeFile(join(repository.path, `pipelines/${path}.yaml`), Buffer.from(text, "utf16le"));
      await repository.git("add", "--all");
      await repository.git("commit", "--quiet", "--allow-empty", "--message", "Encoded");
      expect((await plan("--base", "main")).out).toContain("2 unchanged");
      await writeFile(join(repository.path, "pipelines/orders.yaml"), Buffer.from(filtered, "utf16le"));
      expect(await kinds("--base", "main")).toEqual({ orders: "update" });
      expect(await repository.git("status", "--short")).toBe("M pipelines/orders.yaml");
    });

    test("are unchanged behind a filter, such as that of Git LFS", async () => {
      for (const [name = "", command = ""] of filter.map((one) => one.split("=")))
        await repository.git("config", name, command);
      await repository.commit({ ".gitattributes": "pipelines/orders.yaml filter=mark\n" });
      await rm(join(repository.path, "pipelines/orders.yaml"));
      await repository.git("checkout", "--quiet", "--", "pipelines/orders.yaml");
      expect(await readFile(join(repository.path, "pipelines/orders.yaml"), "utf8")).toMatch(/^#version/);
      expect((await plan("--base", "main")).out).toContain("2 unchanged");
    });

    test("are those of the index while a file is in conflict", { tags: ["rest"] }, async () => {
      await repository.git("checkout", "--quiet", "-b", "change");
      await repository.commit({ "pipelines/orders.yaml": filtered });
      await repository.git("checkout", "--quiet", "main");
      await repository.commit({ "pipelines/orders.yaml": pipelineText({ id: "orders", expression: "id > 2" }) });
      await repository.git("merge", "change").catch(() => undefined);
      expect(await kinds("--base", "main")).toEqual({ orders: "no-op" });
    });
  });

  test("that move to where they are not read keep their pipelines, as the plan says", async () => {
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    await repository.git("checkout", "--quiet", "-b", "moved");
    await repository.commit({ "pipelines/orders.yaml": null, "pipelines/large.yaml": pointer });
    const { out } = await plan("--base", "main", "--head", "moved");
    expect(out).toContain("pipelines/large.yaml came or changed with the same revision, may have it");
    expect(await kinds("--base", "main", "--head", "moved")).toEqual({ orders: "no-op" });
    await repository.commit({ "pipelines/.sluiceignore": "large.yaml\n" });
    expect(await kinds("--base", "main", "--head", "moved")).toEqual({ orders: "delete" });
  });

  test("are not read behind a link, which is a note", async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), "sluice-elsewhere-"));
    await writeFile(join(elsewhere, "secret.yaml"), "password: of-this-machine\n");
    await symlink(join(elsewhere, "secret.yaml"), join(repository.path, "pipelines/link.yaml"));
    await rm(join(repository.path, "pipelines/returns.yaml"));
    const { out } = await plan("--base", "main");
    expect(out).toContain("note: pipelines/link.yaml is not read: a symbolic link, which is not followed");
    expect(out).not.toContain("of-this-machine");
    await rm(elsewhere, { recursive: true });
  });

  test("that were not read at the base and are gone are a note: what runs from them is not seen", async () => {
    await rm(join(repository.path, "pipelines/returns.yaml"));
    await symlink("orders.yaml", join(repository.path, "pipelines/returns.yaml"));
    await repository.commit({});
    await rm(join(repository.path, "pipelines/returns.yaml"));
    const { out } = await plan("--base", "main");
    expect(out).toContain(
      "note: pipelines/returns.yaml was not read at the base (a symbolic link, which is not followed: put the file itself here) and " +
        "is gone: a pipeline that runs from it is deleted, which is not seen here",
    );
  });

  test("of a folder outside of a work tree cannot be compared", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-plain-"));
    const { code, err } = await sluiceWith({}, "plan", folder, "--base", "main");
    await rm(folder, { recursive: true });
    expect([code, err]).toEqual([1, expect.stringContaining(`${folder}: expected a folder of a Git work tree`)]);
  });

  test("that are not there are named", { tags: ["rest"] }, async () => {
    const folder = join(repository.path, "none");
    const { code, err } = await sluiceWith({}, "plan", folder, "--base", "main");
    expect([code, err]).toEqual([1, `sluice: ${folder}: expected a folder of a Git work tree, found none`]);
  });
});

describe("variables", () => {
  const topic = pipelineText({ id: "clicks", topic: "${var:TOPIC}" });

  test("have on each side the values that the file of --vars has there", async () => {
    await repository.commit({ "pipelines/clicks.yaml": topic, "staging.yml": "TOPIC: clicks\n" });
    await put("staging.yml", "TOPIC: clicks-v2\n");
    const { changes } = await report("--base", "main", "--vars", join(repository.path, "staging.yml"));
    expect(changes).toMatchObject([{ fields: [{ from: "clicks", to: "clicks-v2", variables: ["TOPIC"] }] }]);
  });

  describe("of several environments", () => {
    beforeEach(async () => {
      const [staging, production] = ["TOPIC: clicks-staging\n", "TOPIC: clicks\n"];
      await repository.commit({ "pipelines/clicks.yaml": topic, "staging.yml": staging, "production.yml": production });
      await put("staging.yml", "TOPIC: clicks-v2\n");
    });

    test("are planned with the values of each, and judged by the gravest", async () => {
      const { code, out } = await plan("--base", "main", ...environments(), "--fail-on", "forget");
      const commit = (await repository.head()).slice(0, 12);
      expect(code).toBe(1);
      expect(out).toMatch(/^environment staging\n~ clicks: update \(forget\)\n/);
      expect(out).toContain(`\nstaging: main (${commit}) to the files as they are: 1 update, 2 unchanged\n`);
      expect(out).toMatch(
        /\nenvironment production\nproduction: main \(\w+\) to the files as they are: 3 unchanged\n?$/,
      );
      expect((await plan("--base", "main", ...environments().slice(2), "--fail-on", "forget")).code).toBe(0);
    });

    test("are one comment with a section for each, and one document", async () => {
      const { out } = await plan("--base", "main", ...environments(), "--format", "markdown");
      expect(out.match(/^<!-- sluice-plan -->$|^### Sluice: \w+: /gm)).toEqual([
        "<!-- sluice-plan -->",
        "### Sluice: staging: ",
        "### Sluice: production: ",
      ]);
      const printed = await plan("--base", "main", ...environments(), "--format", "json");
      expect(JSON.parse(printed.out)).toMatchObject([
        { version: 1, environment: "staging", level: "forget", changes: [{ fields: [{ to: "clicks-v2" }] }] },
        { version: 1, environment: "production", level: "none", changes: [] },
      ]);
    });

    test("are saved with the fingerprints of each", async () => {
      const file = join(repository.path, "plan.json");
      const { err } = await plan("--base", "main", ...environments(), "--save", file);
      expect(err).toContain("plan.json with 1 change: in the folder approvals of the repository, it approves it");
      expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject([
        { environment: "staging", changes: [{ pipeline_id: "clicks", approval: expect.stringMatching(/^forget-/) }] },
        { environment: "production", changes: [] },
      ]);
    });

    test("are told by their paths where their files have one name", async () => {
      await put("other/staging.yml", "TOPIC: clicks-staging\n");
      const [vars, other] = ["staging.yml", "other/staging.yml"].map((path) => join(repository.path, path));
      const { out } = await plan("--base", "main", "--vars", vars!, "--vars", other!);
      expect(out.match(/^environment .*$/gm)).toEqual([`environment ${vars}`, `environment ${other}`]);
    });

    test("are not compared with a server, which has one", async () => {
      const { code, err } = await plan("--server", "http://127.0.0.1:1", ...environments());
      expect(code).toBe(1);
      expect(err).toContain("--vars: expected one file, found 2: a server has the values of one environment");
    });
  });

  test("are compared also where the change makes a link of the file of --vars", { tags: ["rest"] }, async () => {
    await repository.commit({ "pipelines/clicks.yaml": topic, "staging.yml": "TOPIC: clicks\n" });
    await repository.git("checkout", "--quiet", "-b", "change");
    await repository.commit({ "other.yml": "TOPIC: clicks-v2\n", "staging.yml": null });
    await repository.commit({ "staging.yml": { link: "other.yml" } });
    const { changes } = await report("--base", "main", "--vars", join(repository.path, "staging.yml"));
    expect(changes).toMatchObject([{ fields: [{ from: "clicks", to: "clicks-v2" }] }]);
  });

  test("of --var have one value on both sides", { tags: ["rest"] }, async () => {
    await repository.commit({ "pipelines/clicks.yaml": topic });
    expect((await plan("--base", "main", "--var", "TOPIC=clicks")).code).toBe(0);
  });
});

describe("the tests beside a changed pipeline", () => {
  const tests = `tests:
  - name: errors alone
    events:
      - { event: { id: 1, level: error } }
      - { event: { id: 2, level: error } }
      - { event: { id: 3, level: info } }
`;
  const opened = vi.spyOn(Trials, "open");

  beforeEach(async () => {
    opened.mockClear();
    await repository.commit({ "pipelines/orders.test.yaml": tests });
  });

  test.each([
    ["some", "id > 1", "2 of 3 events in 1 test have another outcome"],
    ["one", "level == 'error' and id > 1", "1 of 3 events in 1 test has another outcome: 2 became rows, and 1 does"],
    ["none", "level != 'info'", "none of 3 events in 1 test has another outcome"],
    [
      "those that nothing passes any more",
      "level == 'eror'",
      "2 of 3 events in 1 test have another outcome: 2 became rows, and none does any more, and the filter drops 3",
    ],
  ])("say how many of their events have another outcome: %s", async (_, expression, text) => {
    await put("pipelines/orders.yaml", pipelineText({ id: "orders", expression }));
    expect((await plan("--base", "main")).out).toContain(`    tests: ${text}\n`);
    expect((await report("--base", "main")).changes).toMatchObject([{ tests: { tests: 1, events: 3, text } }]);
    expect((await plan("--base", "main", "--format", "markdown")).out).toMatch(
      new RegExp(`^- (?:tests|\\*\\*tests\\*\\*): ${text}$`, "m"),
    );
  });

  test("that cannot be run are a note, and no failure", async () => {
    await put("pipelines/orders.test.yaml", tests.replace("- { event: { id: 1", "- { source: none, event: { id: 1"));
    await put("pipelines/orders.yaml", filtered);
    const { code, out } = await plan("--base", "main");
    expect(code).toBe(2);
    expect(out).toMatch(/^note: the tests of orders were not compared: errors alone: at the base: /m);
  });

  test("run no statement of the change", async () => {
    const create = "create: ['CREATE TABLE default.orders (id Int64, level Nonsense) ENGINE = Memory']";
    await put("pipelines/orders.test.yaml", tests.replace("    events:", `    ${create}\n    events:`));
    await put("pipelines/orders.yaml", filtered);
    const { changes, notes } = await report("--base", "main");
    expect([changes[0]?.tests?.changed, notes]).toEqual([2, []]);
  });

  test.each([
    ["without any beside it", "pipelines/returns.yaml", pipelineText({ id: "returns", expression: "id > 1" }), []],
    [
      "where what becomes of events stays the same",
      "pipelines/orders.yaml",
      pipelineText({ id: "orders", max_batch_size: 5 }),
      [],
    ],
    ["with --skip-tests", "pipelines/orders.yaml", filtered, ["--skip-tests"]],
  ])("start no engine %s", async (_, path, text, flags) => {
    await put(path, text);
    expect((await report("--base", "main", ...flags)).changes).toMatchObject([{ kind: "update" }]);
    expect(opened).not.toHaveBeenCalled();
  });

  test("are left out where the engine is not installed", async () => {
    opened.mockRejectedValueOnce(new EngineError("CLICKHOUSE_MISSING", "no chDB"));
    await put("pipelines/orders.yaml", filtered);
    const { changes, notes } = await report("--base", "main");
    expect([changes[0]?.tests, notes]).toEqual([undefined, []]);
  });
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
}

test("the page shows what is printed", async () => {
  const [, shown = ""] = /^```text\n([^]*?)^```$/m.exec(await readFile("docs/pull-requests.md", "utf8")) ?? [];
  await sluiceWith({}, "init", join(repository.path, "config"));
  await repository.git("add", "--all");
  await repository.git("commit", "--quiet", "--message", "The first pipeline");
  const file = join(repository.path, "config/pipelines/orders.yaml");
  await writeFile(file, `${await readFile(file, "utf8")}  alter_table: true\n`);
  const { out } = await sluiceWith({}, "plan", join(repository.path, "config"), "--base", "main");
  expect(out.startsWith(`${shown}\n`)).toBe(true);
});

test("nothing keeps the process alive after the plan is printed", { tags: ["rest"] }, async () => {
  const before = timers();
  expect((await plan("--base", "main")).code).toBe(0);
  expect(timers()).toBeLessThanOrEqual(before);
});

function withPassword(password: string): string {
  return pipelineText({ id: "orders", connection: [`password: ${password}`] });
}

test("no secret is shown, and none has to be there", async () => {
  await repository.commit({ "pipelines/orders.yaml": withPassword("old-s3cret") });
  await put("pipelines/orders.yaml", withPassword("${env:SLUICE_SECRET_NOT_HERE}"));
  for (const format of ["text", "json", "markdown"]) {
    const { code, out } = await plan("--base", "main", "--format", format);
    expect(code).toBe(2);
    expect(out).toContain("${env:SLUICE_SECRET_NOT_HERE}");
    expect(out).not.toContain("old-s3cret");
  }
});

test("the settings of the checkout do not say what blocks", { tags: ["rest"] }, async () => {
  await put("sluice.yaml", "fail_on: none\nmax_deletions: 100%\n");
  await put("pipelines/orders.yaml", refused);
  const cwd = process.cwd();
  process.chdir(repository.path);
  const { code } = await plan("--base", "main").finally(() => process.chdir(cwd));
  expect(code).toBe(1);
});

describe("colours", () => {
  const escape = String.fromCodePoint(27);

  test("are there on a terminal", async () => {
    await put("pipelines/orders.yaml", filtered);
    const { out } = await sluiceWith({ isInteractive: true }, "plan", repository.path, "--base", "main");
    expect(out).toContain(`${escape}[32m      + id > 1${escape}[39m`);
  });
});
