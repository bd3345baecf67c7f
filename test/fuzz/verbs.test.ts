/** @module-tag rest */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { load } from "../../reconciler/desired/load.ts";
import { runCommand } from "../support/command.ts";
import { tokenEnv, Workplace } from "../support/daemon.ts";
import { GitRepository } from "../support/git-repository.ts";
import { Random } from "../support/random.ts";
import { isLongForm, seed, triesOf } from "./tries.ts";
import { faultIn, mutatedFile, type MutatedFile, testsOf } from "./verbs.ts";

/** Files that the verbs are given at once. */
const atOnce = 100;
const count = triesOf(40);
const groups = Array.from({ length: Math.ceil(count / atOnce) }, (_, index) => {
  const first = seed + index * atOnce;
  return {
    first,
    files: Array.from({ length: Math.min(atOnce, count - index * atOnce) }, (_one, at) => mutatedFile(first + at)),
  };
});

test("the files are good and bad ones, of both versions", () => {
  const all = groups.flatMap(({ files }) => files);
  const { pipelines, refused, problems } = load(all.map(({ path, after }) => ({ path, bytes: Buffer.from(after) })));
  const converted = problems.filter(({ code }) => code === "V2_CONVERTED").length;
  console.log(
    `${count} files from seed ${seed}: ${pipelines.length} good pipelines, ${refused.length} refused documents, ${converted} of v2`,
  );
  expect(pipelines.length).toBeGreaterThan(count / 30);
  expect(refused.length).toBeGreaterThan(count / 4);
  expect(converted).toBeGreaterThan(count / 30);
});

/** Milliseconds for the verbs of a group. */
const patience = 600_000;

describe.each(groups)("files from seed $first on: no verb prints a stack, or fails itself", ({ first, files }) => {
  let repository: GitRepository;
  let made: string;
  let folder: string;
  /** What Node would print beside the texts of a command, such as of too many listeners. */
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);

  beforeAll(async () => {
    process.on("warning", onWarning);
    made = await mkdtemp(join(tmpdir(), "sluice-verbs-"));
    repository = await GitRepository.create();
    folder = join(repository.path, "pipelines");
    await repository.commit(
      contentOf(files, ({ before }) => before),
      "Before",
    );
    const random = new Random(first);
    const tests = files.map((one) => testsOf(one, random));
    for (const { path, after } of files) await writeFile(join(folder, path), after);
    for (const { path, text } of tests) await writeFile(join(folder, path), text);
  }, patience);

  afterAll(async () => {
    process.off("warning", onWarning);
    await rm(repository.path, { recursive: true, force: true });
    await rm(made, { recursive: true, force: true });
  });

  const formats = ["text", "json", "yaml", "github", "sarif", "junit", "gitlab", "markdown"];
  const paths = (): string[] => files.map(({ path }) => join(folder, path));
  const verbs: [string, () => string[]][] = [
    ...formats.map((format): [string, () => string[]] => [
      `validate --format ${format}`,
      () => ["validate", folder, "--format", format],
    ]),
    ["validate --base", () => ["validate", folder, "--base", "main"]],
    ["validate of files that are named", () => ["validate", ...paths()]],
    ...["text", "json", "markdown"].map((format): [string, () => string[]] => [
      `plan --format ${format}`,
      () => ["plan", folder, "--base", "main", "--skip-tests", "--format", format],
    ]),
    ["plan with tests", () => ["plan", folder, "--base", "main"]],
    ["migrate", () => ["migrate", ...paths()]],
    ["migrate --keep-behaviour", () => ["migrate", ...paths(), "--keep-behaviour", "--output", "json"]],
    ["migrate --review", () => ["migrate", ...paths(), "--review", join(made, "review.md")]],
    ["import", () => ["import", "--from", ...paths(), "--into", join(made, "imported")]],
    ["test", () => ["test", folder]],
    ["test --base", () => ["test", folder, "--base", "main", "--format", "json"]],
    ["migrate --write", () => ["migrate", ...paths(), "--write"]],
    ["validate of what migrate has written", () => ["validate", folder]],
  ];

  test.each(verbs)("%s", { timeout: patience }, async (_, argv) => {
    const { code, out, err } = await runCommand(argv(), { signal: new AbortController().signal });
    expect(faultIn(`${out}\n${err}`)).toBeUndefined();
    expect(warnings.splice(0)).toEqual([]);
    expect([0, 1, 2]).toContain(code);
    // Else it ended before it looked at the files.
    expect(err).not.toMatch(/^(sluice|error): /m);
    expect(out + err).toContain("mutant-");
  });
});

describe.each(isLongForm ? groups : [])("a Sluice that follows files from seed $first on", ({ files }) => {
  let place: Workplace;
  let daemon: Daemon;
  const lines: string[] = [];

  beforeAll(async () => {
    place = await Workplace.make();
    for (const { path, before } of files) await place.write(path, before);
    daemon = await place.start({ env: tokenEnv, onLine: (line) => void lines.push(line) });
    await turned();
  }, patience);

  afterAll(() => place.clean());

  /** Waits until the files as they are now were read and their changes were begun. */
  async function turned(): Promise<void> {
    const before = await reconciled();
    await vi.waitFor(
      async () => expect((await reconciled()).lastAttemptedRevision).not.toBe(before.lastAttemptedRevision),
      { timeout: patience, interval: 500 },
    );
  }

  async function reconciled(): Promise<Partial<Reconcile>> {
    const answer = await fetch(`${daemon.api}/api/v1/reconcile`).catch(() => undefined);
    return answer === undefined ? {} : ((await answer.json()) as Reconcile);
  }

  async function expectSound(...argv: string[]): Promise<void> {
    const { out, err } = await runCommand(argv, { env: { SLUICE_DATA_DIR: place.dataDir } });
    expect(faultIn(`${out}\n${err}`), argv.join(" ")).toBeUndefined();
  }

  test("answers every verb, before and after the mutations, and goes on", { timeout: patience }, async () => {
    for (const step of ["before", "after"]) {
      if (step === "after") {
        for (const { path, after } of files) await place.write(path, after);
        await turned();
      }
      for (const argv of [["get"], ["get", "--output", "json"], ["health"], ["history"], ["info"], ["reconcile"]])
        await expectSound(...argv);
      await expectSound("export", join(place.path, `exported-${step}`));
      await expectSound("plan", place.pipelines, "--server", daemon.api, "--skip-tests");
      const { pipelines = [] } = await reconciled();
      for (const { pipeline_id } of pipelines.slice(0, 5)) {
        for (const verb of ["get", "health", "history"]) await expectSound(verb, pipeline_id);
        await expectSound("dlq", "list", pipeline_id);
      }
    }
    expect((await reconciled()).pipelines).not.toEqual([]);
    expect(lines.flatMap((line) => faultIn(line) ?? [])).toEqual([]);
    await daemon.stop();
    expect(lines.flatMap((line) => faultIn(line) ?? [])).toEqual([]);
  });
});

function contentOf(files: readonly MutatedFile[], of: (file: MutatedFile) => string): Record<string, string> {
  return Object.fromEntries(files.map((file) => [`pipelines/${file.path}`, of(file)]));
}
