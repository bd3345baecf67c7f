import { chmod, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { validate } from "../../../reconciler/desired/load.ts";
import { goodPipeline } from "../../support/pipeline-file.ts";
import { v2Filter, v2Text } from "../../support/version-2.ts";
import { type Printed, runCommand } from "../../support/command.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-migrate-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

function migrate(...argv: string[]): Promise<Printed> {
  return runCommand(["migrate", ...argv]);
}

async function put(name: string, content: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

const problemsOf = (text: string, path = "a.yaml") => validate([{ path, bytes: Buffer.from(text) }]);

test("a v2 file is printed in v3, which is valid, and stays as it is", async () => {
  const text = `# mine\n${v2Text("orders-eu")}`;
  const file = await put("orders.yaml", text);
  const { code, out, err } = await migrate(file);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/^# mine\nversion: v3\npipeline_id: orders-eu\nsources:\n {2}- type: webhook\n/);
  expect(problemsOf(out)).toEqual([]);
  expect(await readFile(file, "utf8")).toBe(text);
});

test("warnings are told with the places of the v2 file", async () => {
  const file = await put("orders.yaml", v2Text("orders-eu", [...v2Filter, "exported_by: me # why"]));
  const { code, err } = await migrate(file);
  expect(code).toBe(0);
  expect(err.split("\n")).toEqual([
    expect.stringMatching(
      `^${file}:18:15: warning V2_FILTER: filter\\.expression: expected an expression that is true`,
    ),
    expect.stringMatching(`^${file}:19:1: warning V2_DROPPED: exported_by: expected a field of v3 that its comment`),
  ]);
});

const typed = (type: string): string =>
  v2Text("orders-eu", ["filter: { enabled: true, expression: id == nil }"]).replace("type: string", `type: ${type}`);

test.each(["int64", "uint8", "datetime", "float32", "bytes", "[]string", "object", "none"])(
  "a file with a filter and a field of type %s is migrated, or one problem; so are those beside it",
  async (type) => {
    expect(typed(type)).not.toBe(typed("string"));
    const [file, beside] = [await put("orders.yaml", typed(type)), await put("other.yaml", v2Text("orders-us"))];
    const { out, err } = await migrate(file, beside, "--review", join(folder, "review.md"));
    expect(out).toContain("pipeline_id: orders-us");
    expect(err).not.toContain("FAULT");
    expect(err).not.toMatch(/^ +at /m);
  },
);

async function reviewed(...argv: string[]): Promise<string> {
  const list = join(folder, "review.md");
  await migrate(join(folder, "orders.yaml"), "--review", list, ...argv);
  return readFile(list, "utf8");
}

describe("a list for the review", () => {
  test("says what each filter does to samples, those that end differently first", async () => {
    await put("orders.yaml", v2Text("orders-eu", ["filter: { enabled: true, expression: id <= 7 }"]));
    await put(
      "orders.test.yaml",
      "tests:\n  - { name: two orders, events: [{ event: { id: 7 } }, { event: { id: a } }], expect: { rows: [] } }\n",
    );
    const samples = await put("events.ndjson", '{"id": 8}\n\nno json\n{}\n');
    const list = await reviewed("--samples", samples);
    expect(list).toContain("**2 of 4 samples end differently.**");
    expect(list).toContain(
      [
        '| <code>{"id":7}</code> | dropped | **kept** |',
        '| <code>{"id": 8}</code> | kept | **dropped** |',
        '| <code>{"id":"a"}</code> | cannot be evaluated | cannot be evaluated |',
        "| <code>{}</code> | cannot be evaluated | cannot be evaluated |",
      ].join("\n"),
    );
    expect(list).toMatch(/^- \[ \] <code>\d+:\d+<\/code> \*\*V2_FILTER\*\* filter\.expression: expected/m);
    const same = await reviewed("--samples", samples, "--keep-behaviour");
    expect(same).toContain("<code>!(id &lt;= 7)</code> is true. All 4 samples end as before.");
  });

  test("holds text of files as text", async () => {
    await put(
      "orders.yaml",
      v2Text("orders-eu", ['filter: { enabled: true, expression: id == 7 || "@everyone | <b>" == "" }']),
    );
    const list = await reviewed();
    expect(list).not.toMatch(/<b>|@everyone/);
    expect(list).toContain("There are no sample events");
  });

  test("leaves out a link that is named as a file of tests", async () => {
    const file = await put("orders.yaml", v2Text("orders-eu", v2Filter));
    await symlink(file, join(folder, "orders.test.yaml"));
    expect(await reviewed()).toContain("There are no sample events");
  });

  test("says that there is nothing where nothing is", async () => {
    await put("orders.yaml", v2Text("orders-eu"));
    expect(await reviewed()).toBe("# Files converted from version v2\n\nNothing has to be reviewed.\n");
  });

  test("that cannot be written, or samples that are not there, are an error", async () => {
    const file = await put("orders.yaml", v2Text("orders-eu"));
    expect(await migrate(file, "--review", folder)).toMatchObject({ code: 1 });
    expect((await migrate(file, "--samples", join(folder, "none"))).err).toMatch(/^sluice: .*none/);
  });
});

describe("a filter", () => {
  test("keeps its text, and the file waits for a review", async () => {
    const { out } = await migrate(await put("orders.yaml", v2Text("orders-eu", v2Filter)));
    expect(out).toContain("      expression: level == 'debug'\n");
    expect(out).toMatch(/\nx-sluice:\n {2}filters_reviewed: false$/);
    expect(problemsOf(out).map(({ code }) => code)).toEqual(["FILTERS_NOT_REVIEWED"]);
  });

  test("is negated on demand, and the file can run at once", async () => {
    const { out, err } = await migrate(await put("orders.yaml", v2Text("orders-eu", v2Filter)), "--keep-behaviour");
    expect(out).toMatch(/ expression: "?'?!\(level == '+debug'+\)/);
    expect(out).not.toContain("x-sluice");
    expect([err, problemsOf(out)]).toEqual(["", []]);
  });
});

describe("--write", () => {
  test("writes the file in its place, which keeps its permissions, and leaves nothing else behind", async () => {
    const file = await put("orders.yaml", v2Text("orders-eu"));
    await chmod(file, 0o640);
    const printed = await migrate(file, "--write");
    expect(printed).toEqual({ code: 0, out: "", err: `${file}: written in v3` });
    expect(problemsOf(await readFile(file, "utf8"))).toEqual([]);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(await readdir(folder)).toEqual(["orders.yaml"]);
  });

  test("a second time changes nothing", async () => {
    const file = await put("orders.yaml", v2Text("orders-eu", v2Filter));
    await migrate(file, "--write");
    const once = await readFile(file, "utf8");
    expect(await migrate(file, "--write")).toEqual({
      code: 0,
      out: "",
      err: `${file}:1: left as it is: it is v3 already`,
    });
    expect(await readFile(file, "utf8")).toBe(once);
  });

  test("goes through a link to the file", async () => {
    const file = await put("orders.yaml", v2Text("orders-eu"));
    const link = join(folder, "link.yaml");
    await symlink(file, link);
    expect((await migrate(link, "--write")).code).toBe(0);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(file, "utf8")).toContain("version: v3");
  });

  test("keeps a JSON file JSON", async () => {
    const document = { version: "v2", pipeline_id: "orders-eu", sink: { table: "t" } };
    const file = await put("orders.json", JSON.stringify(document));
    expect((await migrate(file, "--write")).err).toContain(`${file}: written in v3`);
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ version: "v3", sink: { table: "t" } });
  });

  test.each([
    [
      "cannot be converted",
      v2Text("orders-eu").replace("input }", "5 }"),
      ":5:20: error V2_NOT_RUN: source.topics[0].name",
    ],
    ["cannot be read", "name: x\n\tversion: v2\n", ":2:1: error YAML_TAB"],
    ["has another version", "version: v1\npipeline_id: orders-eu\n", ':1:10: error VERSION: version: expected "v2"'],
    ["has no version", "pipeline_id: orders-eu\nsource: {}\n", ":1:1: error VERSION: version"],
    ["holds one such document among good ones", `${v2Text("orders-eu")}---\n[]\n`, ":17:1: error VERSION"],
  ])("leaves a file alone that %s", async (_, content, problem) => {
    const [file, good] = [await put("bad.yaml", content), await put("good.yaml", v2Text("orders-us"))];
    const { code, err } = await migrate(file, good, "--write");
    expect(code).toBe(1);
    expect(err).toContain(`${file}${problem}`);
    expect(await readFile(file, "utf8")).toBe(content);
    expect(await readFile(good, "utf8")).toContain("version: v3");
  });
});

test("a JSON file is printed as YAML", async () => {
  const { out } = await migrate(
    await put("a.json", JSON.stringify({ version: "v2", pipeline_id: "orders-eu" }, undefined, 2)),
  );
  expect(out).toMatch(/^version: v3\npipeline_id: orders-eu\nsources: \[\]\n/);
});

test("several files and documents are one text of several documents; v3 stays to the letter", async () => {
  const odd = goodPipeline.replace("version: v3", "version:   v3");
  const files = [await put("a.yaml", `${v2Text("orders-a")}---\n${odd}`), await put("b.yaml", v2Text("orders-b"))];
  const { code, out } = await migrate(...files);
  const documents = out.split("---\n");
  expect([code, documents.length]).toEqual([0, 3]);
  expect(documents[1]).toBe(odd);
});

test("a result that lacks something ends with 1, says what, and is printed all the same", async () => {
  const file = await put("a.yaml", v2Text("orders-eu").replace("  table: orders_eu\n", ""));
  const { code, out, err } = await migrate(file);
  expect([code, err]).toEqual([1, expect.stringContaining(`${file}:6:1: error REQUIRED: sink.table`)]);
  expect(out).toContain("version: v3");
});

test.each([
  ["a folder", "", "expected a file, found a folder"],
  ["a file that is not there", "none.yaml", "expected a file or a folder"],
  ["another file", "notes.md", "expected a pipeline file"],
])("%s is refused", async (_, name, message) => {
  await put("notes.md", "");
  expect(await migrate(join(folder, name))).toMatchObject({ code: 1, out: "", err: expect.stringContaining(message) });
});
