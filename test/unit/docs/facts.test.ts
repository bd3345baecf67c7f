import { existsSync, readdirSync, readFileSync } from "node:fs";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { waysOut } from "../../../engine/core/pause.ts";
import { sourceKinds } from "../../../engine/language.ts";
import { purePaths } from "../../../reconciler/api/pure/pure-route.ts";
import { readRoutes } from "../../../reconciler/api/routes.ts";
import { settings, settingsOf } from "../../../reconciler/cli/invocation/settings-table.ts";
import { pages } from "../../support/docs/pages.ts";

const textOf = (path: string): string => readFileSync(path, "utf8");

/** The cells of the rows of tables whose first cell is one text in backquotes, or several. */
function rowsOf(text: string): string[][] {
  return [...text.matchAll(/^\| `.*\|$/gm)].map(([row]) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe("sources", () => {
  test("every folder with a kind is in the registry", () => {
    const folders = readdirSync("engine/sources").filter((name) => existsSync(`engine/sources/${name}/kind.ts`));
    expect(Object.keys(sourceKinds).toSorted()).toEqual(folders.toSorted());
  });

  test.each(Object.keys(sourceKinds))(
    "%s has a page, linked from the README and from the page about pipelines",
    (name) => {
      expect(existsSync(`docs/sources/${name}.md`)).toBe(true);
      expect(textOf("README.md")).toContain(`](docs/sources/${name}.md)`);
      expect(textOf("docs/pipelines.md")).toContain(`](sources/${name}.md)`);
    },
  );
});

describe("operations", () => {
  const text = textOf("docs/operations.md");

  test("every class of a pause has a section that says why and what to do", () => {
    const sections = text.split(/^### (?=Paused)/m).slice(1);
    const named = sections.map((section) => section.slice(0, section.indexOf("\n")));
    const classes = Object.keys(waysOut).map((name) => `Paused${name.charAt(0).toUpperCase()}${name.slice(1)}`);
    expect(classes.length).toBeGreaterThan(10);
    expect(named.toSorted()).toEqual(classes.toSorted());
    for (const section of sections) {
      expect(section).toContain("**Because**");
      expect(section).toContain("**Do**");
    }
  });

  test("every alert has a line in the run-book", () => {
    const { groups } = load(textOf("examples/monitoring/alerts.yaml")) as { groups: { rules: { alert: string }[] }[] };
    const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
    const described = rowsOf(text).flatMap(([cell = ""]) => /^`(Sluice\w+)`$/.exec(cell)?.[1] ?? []);
    expect(described.toSorted()).toEqual(alerts.toSorted());
  });
});

test("the settings page has each setting of sluice run, with its variable and default", () => {
  const rows = rowsOf(textOf("docs/reference/settings.md")).map(([flag = "", variable = "", value = ""]) => [
    bare(flag),
    bare(variable),
    bare(value),
  ]);
  const expected = settingsOf("run").map(({ flag, variable, default: value = "" }) => [flag, variable, String(value)]);
  expect(rows.toSorted(byFirst)).toEqual(expected.toSorted(byFirst));
  expect(settings.length).toBeGreaterThan(expected.length);
});

function bare(cell: string): string {
  return cell.replaceAll("`", "");
}

function byFirst([one = ""]: string[], [other = ""]: string[]): number {
  return one < other ? -1 : 1;
}

test("the rights for Kafka name each setting that names a consumer group", () => {
  const named = [...textOf("schemas/pipeline-v3.schema.json").matchAll(/"(\w*group)": \{/g)].map(
    ([, name = ""]) => name,
  );
  const [, rights = ""] = textOf("docs/hardening.md").split("### Kafka\n");
  const [table = ""] = rights.split("\n### ");
  expect(named.toSorted()).toEqual(["adopt_group", "consumer_group"]);
  expect(named.filter((name) => !table.includes(name))).toEqual([]);
});

describe("metrics", () => {
  const sources = ["engine", "reconciler"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => textOf(`${folder}/${path}`)),
  );
  // The table on which bad rows are looked for is called so.
  const others = new Set(["sluice_probe"]);
  const exported = new Set(
    sources
      .flatMap((text) => [...text.matchAll(/"((?:gfm|sluice)_[a-z_]+)"/g)].map(([, name = ""]) => name))
      .filter((name) => !others.has(name)),
  );

  test("the page has each metric, and no other", () => {
    const named = rowsOf(textOf("docs/reference/metrics.md")).map(([cell = ""]) => bare(cell));
    expect(exported.size).toBeGreaterThan(60);
    expect(named.toSorted()).toEqual([...exported].toSorted());
  });

  test("metrics that any page names are there", () => {
    const named = pages()
      .filter(({ path }) => path !== "CHANGELOG.md")
      .flatMap(({ path, text }) =>
        [...text.matchAll(/`((?:gfm|sluice)_[a-z_]+)`/g)].map(([, name = ""]) => [path, name]),
      );
    expect(named.filter(([, name]) => !exported.has(name!))).toEqual([]);
  });
});

test("the API page has each path of the status API", () => {
  const text = textOf("docs/api.md");
  const paths = [...readRoutes.map(({ path }) => path), ...purePaths, "/metrics", "/healthz", "/readyz"];
  const named = rowsOf(text).flatMap(([cell = ""]) => /^`(\/.*)`$/.exec(cell)?.[1] ?? []);
  expect(named.filter((path) => path !== "/").toSorted()).toEqual(paths.toSorted());
});
