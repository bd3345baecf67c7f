import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resolveSettings } from "../../../reconciler/cli/invocation/resolve-settings.ts";
import { parseSettings } from "../../../reconciler/cli/invocation/settings-file.ts";
import { environmentsOf, variableReader } from "../../../reconciler/cli/invocation/variables.ts";

interface Given {
  /** Each of `--var`. */
  flags?: string[];
  env?: string;
  yaml?: string;
  /** Of `--vars`, and of `vars_file` in the settings file. */
  files?: { flag?: string; yaml?: string };
}

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-vars-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function readerOf({ flags, env, yaml = "", files = {} }: Given): Promise<ReturnType<typeof variableReader>> {
  const [ofFlag, ofYaml] = [join(folder, "flag.yaml"), join(folder, "yaml.yaml")];
  if (files.flag !== undefined) await writeFile(ofFlag, files.flag);
  if (files.yaml !== undefined) await writeFile(ofYaml, files.yaml);
  const text = `${yaml}\n${files.yaml === undefined ? "" : `vars_file: ${ofYaml}\n`}`;
  const settings = resolveSettings("run", {
    flags: { ...(flags && { vars: flags }), ...(files.flag !== undefined && { vars_file: ofFlag }) },
    env: { ...(env && { SLUICE_VARS: env }) },
    file: parseSettings("sluice.yaml", text),
  });
  return variableReader(settings);
}

async function read(given: Given): Promise<Record<string, string>> {
  return Object.fromEntries(await (await readerOf(given))());
}

async function problem(given: Given): Promise<string> {
  return read(given).then(
    () => "no problem",
    (error: Error) => error.message.replaceAll(folder, ""),
  );
}

test("several files are an environment each, which a command of one refuses", async () => {
  const given = { flags: { vars_file: ["a/staging.yaml", "b.yaml"] }, env: {}, file: [] };
  const settings = resolveSettings("plan", given);
  expect(environmentsOf(settings).map(({ name, settings: own }) => [name, own.text("vars_file")])).toEqual([
    ["staging", "a/staging.yaml"],
    ["b", "b.yaml"],
  ]);
  await expect(variableReader(resolveSettings("run", given))()).rejects.toThrow(
    "--vars: expected one file, found 2: only sluice validate and sluice plan take several, for an environment each",
  );
});

test("a list of files may be in the settings file and in the environment, and that of a stronger origin replaces it", () => {
  const file = parseSettings("sluice.yaml", "vars_file: [a.yaml, b.yaml]");
  const namesOf = (env: Record<string, string>): (string | undefined)[] =>
    environmentsOf(resolveSettings("plan", { flags: {}, env, file })).map(({ name }) => name);
  expect(namesOf({})).toEqual(["a", "b"]);
  expect(namesOf({ SLUICE_VARS_FILE: "c.yaml\nd.yaml\ne.yaml" })).toEqual(["c", "d", "e"]);
  expect(namesOf({ SLUICE_VARS_FILE: "c.yaml" })).toEqual([undefined]);
});

test("variables come from the command line, the environment, the settings file and files of their own, by name", async () => {
  const given: Given = {
    flags: ["A=flag", "EMPTY=", "E=a=b"],
    env: "A=env\nB=env\nG=env",
    yaml: "vars: { A: yaml, C: yaml, D: yaml, B: yaml }",
    files: { flag: "A: file\nG: file", yaml: "D: file\nF: file\nA: file" },
  };
  expect(await read(given)).toEqual({
    A: "flag",
    B: "env",
    C: "yaml",
    D: "yaml",
    E: "a=b",
    EMPTY: "",
    F: "file",
    G: "file",
  });
});

test("a value is the text as it is written, also of a number", async () => {
  const text = "PORT: 0123\nBIG: 12345678901234567890\nON: true\nNONE:\nQUOTED: 'a'";
  const expected = { PORT: "0123", BIG: "12345678901234567890", ON: "true", NONE: "", QUOTED: "a" };
  expect(await read({ files: { flag: text } })).toEqual(expected);
  expect(await read({ yaml: `vars:\n  ${text.replaceAll("\n", "\n  ")}` })).toEqual(expected);
});

describe("a value that cannot be one is refused, with its place", () => {
  const rule =
    'expected NAME=VALUE: a name of letters, digits and _, and a text of at most 4096 characters without "${"';
  test.each<[string, Given, string]>([
    ["no name", { flags: ["A=1", "B"] }, `--var: ${rule}, found {"":"B"}`],
    ["another name", { env: "A-B=1" }, `SLUICE_VARS: ${rule}, found {"A-B":"1"}`],
    [
      "a reference",
      { yaml: 'vars: { A: "x${env:SECRET}" }' },
      `sluice.yaml:1:7: vars: ${rule}, found {"A":"x\${env:SECRET}"}`,
    ],
    ["a list", { yaml: "vars: { A: [1] }" }, `sluice.yaml:1:7: vars: ${rule}, found {"A":["1"]}`],
    ["no mapping", { yaml: "vars: 7" }, `sluice.yaml:1:7: vars: ${rule}, found 7`],
    ["a list of a file", { files: { flag: "A: 1\nB: [1]" } }, `/flag.yaml:2:4: B: ${rule}, found {"B":null}`],
    [
      "no mapping of a file",
      { files: { flag: "7" } },
      '/flag.yaml:1:1: expected a mapping of variables such as "TOPIC: orders"',
    ],
  ])("%s", async (_title, given, expected) => {
    expect(await problem(given)).toBe(expected);
  });

  test("a file that is not there", async () => {
    const reader = await readerOf({ files: { flag: "A: 1" } });
    await rm(join(folder, "flag.yaml"));
    await expect(reader()).rejects.toThrow(/^cannot read the variables file .*flag.yaml: ENOENT/);
  });
});

test("the file is read again, and gives the same object while no value has changed", async () => {
  const reader = await readerOf({ files: { flag: "A: 1" } });
  const first = await reader();
  await writeFile(join(folder, "flag.yaml"), "# the same\nA: 1\n");
  expect(await reader()).toBe(first);
  await writeFile(join(folder, "flag.yaml"), "A: 2\n");
  expect(Object.fromEntries(await reader())).toEqual({ A: "2" });
});
