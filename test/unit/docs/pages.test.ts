import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { commands } from "../../../reconciler/cli/commands.ts";
import { settings, settingsOf } from "../../../reconciler/cli/invocation/settings-table.ts";
import { validate } from "../../../reconciler/desired/load.ts";
import { anchorsOf, blocksOf, codeSpans, pages, prose, type Page } from "../../support/docs/pages.ts";

const all = pages();
const blocks = all.flatMap(blocksOf);
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

test("the README is short: everything else is in docs/", () => {
  expect(Buffer.byteLength(readFileSync("README.md"))).toBeLessThanOrEqual(8 * 1024);
});

describe("links", () => {
  const links = all.flatMap((page) =>
    [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ page, target })),
  );

  test("of one page to another lead to a file, and to a heading of it", () => {
    const inside = links.filter(({ target }) => !/^[a-z]+:/.test(target));
    expect(inside.length).toBeGreaterThan(60);
    expect(inside.filter(({ page, target }) => !leadsSomewhere(page, target)).map(textOf)).toEqual([]);
  });

  test("to elsewhere are URLs of https", () => {
    const outside = links.filter(({ target }) => /^[a-z]+:/.test(target));
    expect(outside.filter(({ target }) => !URL.canParse(target) || !target.startsWith("https:")).map(textOf)).toEqual(
      [],
    );
  });

  test("a planted dead link is found", () => {
    const page = all.find(({ path }) => path === "docs/api.md")!;
    for (const target of ["sources/kafka.mdx", "sources/kafka.md#no-such-heading", "#nowhere"])
      expect(leadsSomewhere(page, target), target).toBe(false);
  });
});

function textOf({ page, target }: { page: Page; target: string }): string {
  return `${page.path}: ${target}`;
}

function leadsSomewhere({ path }: Page, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const to = file === "" ? path : normalize(join(dirname(path), decodeURIComponent(file)));
  if (!existsSync(to)) return false;
  const page = all.find((one) => one.path === to);
  return anchor === undefined || (page !== undefined && anchorsOf(page).has(anchor));
}

test("files of this project that a page names are there", () => {
  const named = all
    .filter(({ path }) => !path.startsWith("CHANGELOG"))
    .flatMap((page) => codeSpans(page).map((text) => ({ page: page.path, text })))
    .filter(({ text }) => /^(?:engine|reconciler|schemas|test|examples|docs)\/[\w./-]+$/.test(text));
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter(({ text }) => !existsSync(text))).toEqual([]);
});

describe("commands", () => {
  const shell = blocks.filter(({ language }) => language === "sh");
  const command = /^\s*(?:\$ )?(?:npx|npm|sluice|curl|git|docker|systemctl) /m;

  test("stand in blocks that the end-to-end test of the docs runs", () => {
    const elsewhere = blocks.filter(({ language, text }) => language !== "sh" && command.test(text));
    expect(elsewhere.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
    const indented = all.filter((page) => /^ {4,}(?:npx|npm|sluice|curl|git) /m.test(prose(page)));
    expect(indented.map(({ path }) => path)).toEqual([]);
    expect(shell.length).toBeGreaterThan(15);
  });

  test("that no test runs are few, and each says why", () => {
    const skipped = shell.flatMap(({ page, skip }) => (skip === undefined ? [] : [`${page}: ${skip}`]));
    expect(skipped).toEqual([
      "CONTRIBUTING.md: installs packages; the tests run in a checkout that is installed",
      "CONTRIBUTING.md: would run the whole suite within itself",
      "README.md: test/e2e/quickstart.test.ts runs it",
      "docs/getting-started.md: installs packages on this machine; the tests run in a checkout that is installed",
      "docs/gitops.md: needs a Git host of your own",
      "docs/hardening.md: needs systemd",
      "docs/hardening.md: needs a container runtime and an image",
      "docs/operations.md: needs Sluice as a service of the system",
      "docs/validation.md: needs servers of your own",
      "examples/config-repo/README.md: test/integration/cli/config-repo.test.ts runs it",
      "examples/config-repo/README.md: needs a Git host of your own",
    ]);
    const tests = skipped.flatMap((text) => text.match(/test\/[\w./-]+\.ts/g) ?? []);
    expect(tests.filter((file) => !existsSync(file))).toEqual([]);
  });

  const texts = [
    ...all.flatMap((page) => codeSpans(page).map((text) => ({ page: page.path, text }))),
    ...shell.flatMap(({ page, text }) => linesOf(text).map((line) => ({ page, text: line }))),
  ];

  test("of sluice are there, with their flags", () => {
    const found = texts.flatMap(({ page, text }) =>
      [...text.matchAll(/(?:^|[\s(])sluice ((?!COMMAND)[a-z-].*)$/g)].map(([, rest = ""]) => ({ page, rest })),
    );
    expect(found.length).toBeGreaterThan(50);
    expect(
      found.map(({ page, rest }) => [page, problemOf(rest)]).filter(([, problem]) => problem !== undefined),
    ).toEqual([]);
  });

  test("of npm are scripts of this project, with the names that they take", () => {
    const found = texts.flatMap(({ page, text }) =>
      [...text.matchAll(/\bnpm run ([\w:-]+)(?: -- ([\w-]+))?/g)].map(([, script = "", name]) => ({
        page,
        script,
        name,
      })),
    );
    expect(found.length).toBeGreaterThan(10);
    for (const { page, script, name = "NAME" } of found) {
      expect(Object.keys(manifest.scripts), page).toContain(script);
      const runner = `test/${script}/run.ts`;
      if (name === "NAME" || !existsSync(runner)) continue;
      expect(readFileSync(runner, "utf8"), `${page}: npm run ${script} -- ${name}`).toMatch(
        new RegExp(`^  "?${name}"?: (?:\\{|\\d)`, "m"),
      );
    }
  });

  test("flags that a page names are settings", () => {
    const flags = new Set([...settings.map(({ flag }) => flag), "--config", "--help", "--version"]);
    const named = all
      .filter(({ path }) => path.startsWith("docs/") || path === "README.md")
      .flatMap((page) =>
        codeSpans(page)
          .filter((text) => /^--[a-z-]+( |$)/.test(text))
          .map((text) => `${page.path} ${text}`),
      );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((text) => !flags.has(text.split(" ")[1]!))).toEqual([]);
  });
});

/** What is wrong with the words after `sluice`; undefined where nothing is. */
function problemOf(rest: string): string | undefined {
  if (rest.startsWith("--")) return undefined;
  const words = rest.split(/\s+/);
  const name = [words.slice(0, 2).join(" "), words[0]!].find((one) => commands.some((known) => known.name === one));
  if (name === undefined) return `no command ${rest}`;
  const flags = new Set([...settingsOf(name).map(({ flag }) => flag), "--help"]);
  const unknown = words.find((word) => /^--[a-z]/.test(word) && !flags.has(word.replace(/[^a-z-].*$/, "")));
  return unknown === undefined ? undefined : `sluice ${name} has no ${unknown}`;
}

/** The lines of a script, those that go on in one. */
function linesOf(text: string): string[] {
  return text.replaceAll(/\\\n\s*/g, " ").split("\n");
}

/** The variables of the pages. */
const staging = new Map(
  Object.entries(load(blocks.find(({ file }) => file === "environments/staging.yaml")!.text) as object).map(
    ([name, value]) => [name, String(value)],
  ),
);

test("pipelines in the pages are valid", () => {
  const documents = blocks.filter(({ language, text }) => language === "yaml" && /^version: v3$/m.test(text));
  expect(documents.length).toBeGreaterThan(0);
  for (const { page, line, text } of documents) {
    const file = { path: `${page}:${line}.yaml`, bytes: Buffer.from(text) };
    expect(validate([file], new Set(), staging)).toEqual([]);
  }
});
