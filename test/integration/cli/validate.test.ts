import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pipelineText } from "../../support/pipeline-text.ts";
import { type Printed, runCommand } from "../../support/command.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-validate-"));
  expect((await sluice("init", join(folder, "repo"))).code).toBe(0);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

function sluice(...argv: string[]): Promise<Printed> {
  return runCommand(argv);
}

async function put(path: string, content: string | Buffer): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

test("what init writes is valid, without a remark", async () => {
  expect(await sluice("validate", join(folder, "repo"))).toEqual({
    code: 0,
    out: "1 file checked: 0 errors, 0 warnings",
    err: "",
  });
});

test("- is what standard input holds", async () => {
  const text = pipelineText({ id: "orders" }).replace("type: int", "type: itn");
  vi.spyOn(process, "stdin", "get").mockReturnValue(Readable.from([Buffer.from(text)]) as never);
  const { code, out } = await sluice("validate", "-");
  expect(code).toBe(1);
  expect(out).toMatch(/^stdin\.yaml:\d+:\d+: error VALUE: sources\[0\]\.schema_fields/);
  vi.restoreAllMocks();
});

test("files are checked with the values of each environment, and what not all of them have names those that do", async () => {
  const staging = await put("staging.yml", "TABLE: orders\n");
  const production = await put("production.yml", "TOPIC: orders\n");
  const [topic, table, name] = ["${var:TOPIC}", "${var:TABLE}", "${var:NAME}"] as const;
  const file = await put("orders.yaml", pipelineText({ id: "orders", topic, table, name }));
  const { code, out } = await sluice("validate", file, "--vars", staging, "--vars", production, "--format", "json");
  expect(code).toBe(1);
  const { problems } = JSON.parse(out) as { problems: { path: string; message: string }[] };
  const ends = problems.map(({ path, message }) => `${path}: ${/, in \w+$/.exec(message)?.[0] ?? "in all"}`);
  expect(ends.toSorted()).toEqual(["name: in all", "sink.table: , in production", "sources[0].topic: , in staging"]);
});

test("a path that is not there is told in words", async () => {
  const path = join(folder, "nothing");
  expect(await sluice("validate", path)).toEqual({
    code: 1,
    out: "",
    err: `sluice: ${path}: expected a file or a folder, found none`,
  });
});

const allowed = (host: string): string[] => ["--reference", `\${env:CH_*}=orders towards ${host}`];

test("a reference to a secret that operators do not allow by default is a warning, and no error; one that a given reference allows is none", async () => {
  const connection = `{ host: ch.example.com, port: "8123", database: d, username: u, password: "\${env:CH_PASSWORD}" }`;
  const text = pipelineText({ id: "orders", sluice: ["access_token: ${file:/run/secrets/token}"] });
  const file = await put(
    "orders.yaml",
    text.replace(/connection_params:[^]*?(?=\n {2}\w)/, `connection_params: ${connection}`),
  );
  const { code, out } = await sluice("validate", file);
  expect(code).toBe(0);
  expect(out).toContain(
    "warning SECRET_REFUSED: sink.connection_params.password: expected a secret that operators allow by default: " +
      "${env:SLUICE_SECRET_*}, or a file of the folder secrets, got ${env:CH_PASSWORD} (name another one, or ask the operator for " +
      '"${env:CH_PASSWORD}": "orders towards ch.example.com:8123" under references)',
  );
  expect(out).not.toContain("access_token");
  expect((await sluice("validate", file, ...allowed("ch.example.com"))).out).toContain(
    "warning SECRET_REFUSED: x-sluice.access_token: expected a secret that the references of the operator allow, got ${file:/run/secrets/token}",
  );
  expect((await sluice("validate", file, ...allowed("other.example.com"))).out).toContain("got ${env:CH_PASSWORD}");
});

test("a file of tests that cannot be read is an error with its place in every format, and no event of it is shown", async () => {
  for (const id of ["orders", "returns"]) await put(`repo/pipelines/${id}.yaml`, pipelineText({ id }));
  const wrong = await put(
    "repo/pipelines/orders.test.yaml",
    "tests:\n  - name: paid\n    events:\n      - { evnt: { mail: ada@example.com } }\n",
  );
  const broken = await put("repo/pipelines/returns.test.yaml", "tests: [\n");
  const { code, out } = await sluice("validate", join(folder, "repo"));
  expect(code).toBe(1);
  expect(out).toContain(`${wrong}:4:11: error UNKNOWN_KEY: tests[0].events[0].evnt: expected one of the keys`);
  expect(out).toMatch(/returns\.test\.yaml:\d+:\d+: error YAML_SYNTAX/);
  for (const format of ["json", "yaml", "github", "sarif", "junit", "gitlab", "markdown"]) {
    const report = await sluice("validate", join(folder, "repo"), "--format", format);
    expect(report.code, format).toBe(1);
    for (const text of ["UNKNOWN_KEY", "YAML_SYNTAX", "orders.test.yaml", "returns.test.yaml"])
      expect(report.out, format).toContain(text);
    expect(report.out, format).not.toContain("ada@example.com");
  }
  await rm(broken);
  await put("repo/pipelines/orders.test.yaml", "tests:\n  - { name: none, events: [] }\n");
  expect(await sluice("validate", join(folder, "repo"))).toMatchObject({ code: 0 });
  expect((await sluice("validate", wrong)).code).toBe(0);
});

test("a table that is created has no order: a note where dedup has a key", async () => {
  const of = { id: "orders", sluice: ["create_table: true"] };
  const transforms = ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"];
  const file = await put("orders.yaml", pipelineText({ ...of, transforms }));
  const { code, out } = await sluice("validate", file);
  expect(code).toBe(0);
  expect(out).toContain(
    "info CREATED_ORDER: x-sluice.create_table: expected a table whose ORDER BY has id, by which dedup tells events apart, got one that Sluice creates, with ORDER BY tuple()",
  );
  const other = await put("orders.yaml", pipelineText(of));
  expect((await sluice("validate", other)).out).not.toContain("CREATED_ORDER");
});

test("a file whose name has several lines is shown on one", async () => {
  await put("a\n::error title=x::y.yaml", "version: v3\npipeline_id: X\n");
  const { code, out } = await sluice("validate", folder);
  expect(code).toBe(1);
  expect(out).toContain("a\\u000a::error title=x::y.yaml:2:14: error PIPELINE_ID");
  expect(out).not.toMatch(/^::/m);
});

test("a problem is told with file, line and column, and exit code 1", async () => {
  const file = await put("bad.yaml", "version: v3\npipeline_id: X\n");
  const { code, out } = await sluice("validate", folder);
  expect(code).toBe(1);
  expect(out).toContain(`${file}:2:14: error PIPELINE_ID: pipeline_id: expected`);
});

test("the line of a problem is shown below it, without its secrets", async () => {
  const file = await put("bad.yaml", "version: v3\npipeline_id: X # of-a-comment\nsink: { pasword: of-a-typo }\n");
  const { out } = await sluice("validate", file);
  expect(out).toContain("\n  2 | pipeline_id: X\n    |              ^\n");
  expect(out).toContain("\n  3 | sink: { pasword: …\n    |         ^\n");
  expect(out).not.toMatch(/of-a-typo|of-a-comment/);
});

test.each([
  ["github", /^::error file=.*bad\.yaml,line=2,col=14,title=PIPELINE_ID::/m],
  ["sarif", /"ruleId": "PIPELINE_ID"/],
  ["junit", /<failure type="[A-Z_]+" message="/],
  ["gitlab", /"check_name": "PIPELINE_ID"/],
  ["markdown", /^<!-- sluice validate -->\n.*2 files checked/],
])("%s is a format, with the same exit code", async (name, shown) => {
  await put("bad.yaml", "version: v3\npipeline_id: X\n");
  const { code, out } = await sluice("validate", folder, "--format", name);
  expect([code, out]).toEqual([1, expect.stringMatching(shown)]);
});

const orphaned = (path: string) =>
  `${path}:1:1: warning ORPHANED_TEST: file: expected the pipeline that it tests beside it, in`;

describe("tests of pipelines, NAME.test.yaml beside NAME.yaml", () => {
  test("are no pipelines", async () => {
    await put("repo/pipelines/orders.test.yaml", "tests:\n  - { name: none, events: [] }\n");
    await put("repo/pipelines/orders.test.json", '{"tests": [{ "name": "none", "events": [] }]}');
    expect(await sluice("validate", folder)).toMatchObject({ code: 0, out: "1 file checked: 0 errors, 0 warnings" });
  });

  test("are a warning where their pipeline is missing", async () => {
    const file = await put("repo/pipelines/order.test.yaml", "tests: []\n");
    const { code, out } = await sluice("validate", folder);
    expect([code, out]).toEqual([0, expect.stringContaining(`${orphaned(file)} order.yaml`)]);
  });

  test("that are named themselves are looked at alike", async () => {
    const beside = await put("repo/pipelines/orders.test.yaml", "tests: []\n");
    const alone = await put("elsewhere/orders.test.yml", "tests: []\n");
    const { code, out } = await sluice("validate", beside, alone);
    expect([code, out]).toEqual([0, expect.stringContaining(`${orphaned(alone)} orders.yaml`)]);
    expect(out).not.toContain(orphaned(beside));
  });

  test("are left out by .sluiceignore like pipelines", async () => {
    await put("repo/.sluiceignore", "*.test.yaml\n");
    await put("repo/pipelines/order.test.yaml", "tests: []\n");
    expect((await sluice("validate", join(folder, "repo"))).out).toBe("1 file checked: 0 errors, 0 warnings");
  });
});

test("json is one document, with the same exit code", async () => {
  await put("bad.yaml", "version: v3\n");
  const { code, out } = await sluice("validate", folder, "--format", "json");
  expect([code, JSON.parse(out)]).toEqual([1, expect.objectContaining({ files: 2, errors: expect.any(Number) })]);
});

describe("the files that are read are those that the daemon reads", () => {
  test.each([
    ["a hidden file", ".hidden.yaml"],
    ["a file in a hidden folder", ".github/workflow.yaml"],
    ["settings", "sluice.yaml"],
    ["other files", "notes.md"],
  ])("%s is left out of a folder", async (_, path) => {
    await put(path, "not: [valid");
    expect((await sluice("validate", folder)).out).toBe("1 file checked: 0 errors, 0 warnings");
  });

  test.each([
    ["a hidden file", ".hidden.yaml"],
    ["settings", "sluice.yaml"],
    ["other files", "notes.md"],
  ])("%s that is named is refused", async (_, path) => {
    const file = await put(path, "not: [valid");
    expect(await sluice("validate", file)).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining(`${file}: expected a pipeline file`),
    });
  });

  test("files below a hidden folder that was named are read", async () => {
    await put(".config/one/bad.yaml", "");
    await put(".config/two/bad.yaml", "");
    const { code, out } = await sluice("validate", join(folder, ".config/one"), join(folder, ".config/two/bad.yaml"));
    expect(code).toBe(1);
    expect(out.match(/^bad\.yaml:1:1: error EMPTY_FILE/gm)).toHaveLength(2);
  });

  test("a file that two paths name is read once", async () => {
    const out = (await sluice("validate", folder, join(folder, "repo"), join(folder, "repo/pipelines/orders.yaml")))
      .out;
    expect(out).toBe("1 file checked: 0 errors, 0 warnings");
  });

  test("two files with one pipeline_id are told, also from two paths", async () => {
    const copy = join(folder, "copy");
    await sluice("init", copy);
    const { code, out } = await sluice("validate", join(folder, "repo"), copy);
    expect([code, out]).toEqual([1, expect.stringContaining("DUPLICATE_PIPELINE_ID")]);
  });

  test("a file of 10 MB is refused without being read", async () => {
    const file = await put("huge.yaml", Buffer.alloc(10 * 1024 * 1024, "# x\n"));
    for (const path of [folder, file]) {
      const { code, out } = await sluice("validate", path);
      expect([code, out]).toEqual([1, expect.stringContaining(`${file}:1:1: error FILE_TOO_LARGE`)]);
    }
  });

  test.each([
    ["a file", "elsewhere/orders.yaml", "link.yaml"],
    ["a folder", "elsewhere", "link"],
  ])("a link to %s that is named is not followed", async (_, target, link) => {
    await put("elsewhere/orders.yaml", "password: of-this-machine\n");
    await symlink(join(folder, target), join(folder, "repo", link));
    const { code, out, err } = await sluice("validate", join(folder, "repo", link));
    expect(code).toBe(1);
    expect(err).toContain("found a symbolic link, which is not followed: name what it leads to");
    expect(out + err).not.toContain("of-this-machine");
  });

  test("a file of tests that is a link out of the folder is told", async () => {
    await put("repo/orders.yaml", pipelineText({ id: "orders" }));
    const link = join(folder, "repo/orders.test.yaml");
    await symlink(await put("elsewhere/orders.test.yaml", "tests: []\n"), link);
    const { code, err } = await sluice("validate", join(folder, "repo"));
    expect([code, err]).toEqual([1, expect.stringContaining(`${link}: not read: a symbolic link`)]);
  });

  test("a link that leads out of the folder is told", async () => {
    await symlink(await put("elsewhere/orders.yaml", ""), join(folder, "repo/link.yaml"));
    const { code, err } = await sluice("validate", join(folder, "repo"));
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(`${join(folder, "repo/link.yaml")}: not read: a symbolic link`),
    ]);
  });
});

test("a folder that cannot be read is told, as its files are neither checked nor tested", async () => {
  // Its path is longer than the system takes, which holds for every user.
  const enter = `for (let n = 0; n < 20; n += 1) { fs.mkdirSync("d".repeat(250)); process.chdir("d".repeat(250)); }`;
  execFileSync(process.execPath, ["-e", enter], { cwd: join(folder, "repo") });
  const validated = await sluice("validate", join(folder, "repo"));
  const tested = await sluice("test", join(folder, "repo"));
  execFileSync("rm", ["-r", join(folder, "repo")]);
  const reason = "a folder that cannot be read: ENAMETOOLONG";
  expect(validated).toMatchObject({ code: 1, err: expect.stringContaining(`d: not read: ${reason}`) });
  expect(tested).toMatchObject({ code: 1, err: expect.stringContaining(`to read the tests there, found ${reason}`) });
});

test("in a Git work tree a link is not read, wherever it leads: nobody who follows the repository reads it", async () => {
  const linked = await put("repo/shared/orders.txt", pipelineText({ id: "linked" }));
  await symlink(linked, join(folder, "repo/link.yaml"));
  expect((await sluice("validate", join(folder, "repo"))).code).toBe(0);
  await mkdir(join(folder, "repo/.git"));
  const { code, err } = await sluice("validate", join(folder, "repo"));
  expect([code, err]).toEqual([1, expect.stringContaining("link.yaml: not read: a symbolic link")]);
});

test("a file that is not read is a problem in the formats that a CI system reads", async () => {
  await symlink(await put("elsewhere/orders.yaml", ""), join(folder, "repo/link.yaml"));
  for (const name of ["json", "github", "sarif", "junit", "gitlab", "markdown"]) {
    const { code, out } = await sluice("validate", join(folder, "repo"), "--format", name);
    expect([code, out], name).toEqual([1, expect.stringContaining("NOT_READ")]);
  }
});

test("a folder without anything to check is an error, in every format: its path may be wrong", async () => {
  await put("empty/README.md", "no pipeline");
  for (const format of ["text", "json", "sarif"]) {
    const { code, out, err } = await sluice("validate", join(folder, "empty"), "--format", format);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(`expected pipeline files in ${join(folder, "empty")}, found none`);
  }
  expect((await sluice("validate", join(folder, "empty"), join(folder, "repo"))).code).toBe(0);
});

test("a path that is not there is named", async () => {
  const path = join(folder, "none");
  expect(await sluice("validate", path)).toMatchObject({
    code: 1,
    err: expect.stringContaining(`sluice: ${path}: expected a file or a folder`),
  });
});
